// What the style says, as pixels; classes and numbers as colours.
import { el } from './dom.js';

// viridis, its ends kept clear of a white and of a dark ground
const RAMPS = {
  light: ['#440154', '#414487', '#2a788e', '#22a884', '#7ad151', '#d6cf1b'],
  dark: ['#8a63e0', '#5a7fe0', '#35a5b5', '#35c98f', '#8fe05a', '#fde725'],
};

export const probe = el('i', { hidden: '' });
export function rgb(css) {
  probe.style.color = css;
  return getComputedStyle(probe)
    .color.match(/[\d.]+/g)
    .slice(0, 3)
    .map(Number);
}
export const pixel = ([r, g, b]) => -16777216 | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r);
export const classColour = (c) =>
  c < 10 ? `var(--c${c})` : `hsl(${Math.round(c * 137.508) % 360} 65% ${c % 2 ? 42 : 62}%)`;

// 256 colours from low to high, for the ground they stand on
export function ramp() {
  const [r, g, b] = rgb('var(--card)'),
    stops = RAMPS[r + g + b > 384 ? 'light' : 'dark'];
  const channel = (k, c) => parseInt(stops[k].slice(1 + 2 * c, 3 + 2 * c), 16);
  return Array.from({ length: 256 }, (_, s) => {
    const at = (s / 255) * (stops.length - 1),
      i = Math.min(Math.floor(at), stops.length - 2);
    return [0, 1, 2].map((c) => Math.round(channel(i, c) + (at - i) * (channel(i + 1, c) - channel(i, c))));
  });
}

// The middle 98 % of the numbers that are there take the ramp.
export function range(values) {
  const all = Float32Array.from(values.filter((v) => !Number.isNaN(v))).sort();
  if (!all.length) return [0, 0];
  const at = (share) => all[Math.round(share * (all.length - 1))];
  return at(0.01) < at(0.99) ? [at(0.01), at(0.99)] : [all[0], all[all.length - 1]];
}
