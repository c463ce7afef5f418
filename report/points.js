// The document of `eigenpair explore` -> all there is to know of a point.
import { el } from './dom.js';
import { short } from './words.js';

// ---- numbers: base64 -> inflate -> typed arrays

export const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

export async function unpack({ arrays, bytes }) {
  const stream = new Blob([bytesOf(bytes)]).stream().pipeThrough(new DecompressionStream('deflate'));
  const buffer = await new Response(stream).arrayBuffer();
  const kinds = { u16: Uint16Array, u32: Uint32Array, f32: Float32Array };
  return Object.fromEntries(
    Object.entries(arrays).map(([name, a]) => [name, new kinds[a.type](buffer, a.at, a.count)]),
  );
}

// ---- all there is to know of a point

// a number of a column; dates are days since 1970
export const said = (column, x) =>
  column.kind === 'date' ? new Date(Math.round(864e5 * x)).toISOString().slice(0, 10) : short(x);

export class Points {
  constructor(d, numbers, sheet) {
    Object.assign(this, { d, numbers, sheet });
    this.n = d.result.points;
    this.k = numbers.near.length / this.n;
    this.columns = d.columns.map((c) => ({ ...c, values: numbers[c.array] }));
    this.label = this.columns.find((c) => c.title === 'label' && c.kind === 'class');
  }

  labelOf(i) {
    return this.label ? this.label.names[this.label.values[i]] : null;
  }

  near(space, i) {
    const all = this.numbers[space];
    return all ? [...all.subarray(i * this.k, (i + 1) * this.k)] : null;
  }

  shown(column, i) {
    const value = column.values[i];
    if (column.kind === 'class') return column.names[value];
    return Number.isNaN(value) ? 'missing' : said(column, value);
  }

  thumb(i) {
    if (!this.sheet) return null;
    const { columns, width, height } = this.d.pictures;
    const canvas = el('canvas', {
      class: 'thumb',
      width,
      height,
      role: 'img',
      'aria-label': `picture of row ${i}`,
    });
    const x = (i % columns) * width,
      y = Math.floor(i / columns) * height;
    canvas.getContext('2d').drawImage(this.sheet, x, y, width, height, 0, 0, width, height);
    return canvas;
  }

  // what a point is called, after its number
  brief(i, before = '') {
    const label = this.labelOf(i);
    return [this.d.text?.[i], `${before}${i}${label === null ? '' : ` · ${label}`}`].filter(Boolean).join(' — ');
  }

  words(i) {
    return this.brief(i, 'row\u00a0');
  }

  csv(rows, map, places) {
    const cell = (v) => (/[",\r\n]/.test(v) ? `"${String(v).replaceAll('"', '""')}"` : String(v));
    const head = ['row', ...this.columns.map((c) => c.title), `${map} x`, `${map} y`];
    if (this.d.text) head.push('text');
    const line = (i) => [
      i,
      ...this.columns.map((c) =>
        Number.isNaN(c.values[i]) ? '' : c.kind === 'number' ? c.values[i] : this.shown(c, i),
      ),
      places[2 * i].toFixed(5),
      places[2 * i + 1].toFixed(5),
      ...(this.d.text ? [this.d.text[i]] : []),
    ];
    return [head, ...rows.map(line)].map((r) => `${r.map(cell).join(',')}\n`).join('');
  }
}
