// Many points on a canvas, drawn by the processor into the pixels themselves: 100,000 of them in a few milliseconds,
// the same everywhere, with no graphics card to ask for. What it looks like and what is chosen is the caller's business.

const LEAST = 0.4,
  MOST = 200; // zoom

// A round mark of radius r (pixels) as offsets and how much each pixel is covered (0 to 256).
function stamp(r, width, opacity) {
  const reach = Math.ceil(r + 0.5),
    offset = [],
    cover = [];
  for (let y = -reach; y <= reach; y += 1)
    for (let x = -reach; x <= reach; x += 1) {
      const c = Math.round(256 * opacity * Math.min(1, Math.max(0, r + 0.5 - Math.hypot(x, y))));
      if (c > 0) {
        offset.push(y * width + x);
        cover.push(c);
      }
    }
  return { reach, offset: Int32Array.from(offset), cover: Int32Array.from(cover) };
}

// Is (x, y) inside the polygon (x0, y0, x1, y1, ..)? A ray to the right crosses its edges an odd number of times.
export function inside(polygon, x, y) {
  let odd = false;
  for (let i = 0, j = polygon.length - 2; i < polygon.length; j = i, i += 2) {
    const [xi, yi, xj, yj] = [polygon[i], polygon[i + 1], polygon[j], polygon[j + 1]];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) odd = !odd;
  }
  return odd;
}

export class Scatter {
  // places: x0, y0, x1, y1, .. in [-1, 1]; look: {ground, dim, ink, colours: Int32Array of a pixel a point}; lit[i]: not dimmed
  constructor(canvas, act) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d', { alpha: false });
    this.act = act; // hover(i or -1, x, y), choose(i or -1), lasso(list)
    this.view = { x: 0, y: 0, zoom: 1 };
    this.lassoing = false;
    this.chosen = -1;
    this.marked = [];
    this.pointers = new Map();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  show({ places, look, lit }) {
    Object.assign(this, { places, look, lit });
    this.later();
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    if (!clientWidth || !clientHeight) return;
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.canvas.width = Math.round(clientWidth * this.ratio);
    this.canvas.height = Math.round(clientHeight * this.ratio);
    this.image = this.context.createImageData(this.canvas.width, this.canvas.height);
    this.pixels = new Int32Array(this.image.data.buffer);
    this.draw();
  }

  later() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.draw();
    });
  }

  // ---- places

  get scale() {
    return (0.47 * Math.min(this.canvas.width, this.canvas.height) * this.view.zoom) / 1;
  }

  toScreen(i) {
    return [
      (this.places[2 * i] - this.view.x) * this.scale + this.canvas.width / 2,
      (this.view.y - this.places[2 * i + 1]) * this.scale + this.canvas.height / 2,
    ];
  }

  // The middle 99 % of the points fill the canvas.
  fit() {
    const { canvas, places } = this;
    const at = (c, share) => {
      const all = new Float32Array(places.length / 2).map((_, i) => places[2 * i + c]).sort();
      return all[Math.round(share * (all.length - 1))];
    };
    const [l, r, b, t] = [at(0, 0.005), at(0, 0.995), at(1, 0.005), at(1, 0.995)];
    const side = Math.min(canvas.width, canvas.height) || 1;
    const wide = Math.max((r - l) / ((canvas.width || 1) / side), (t - b) / ((canvas.height || 1) / side), 1e-3);
    this.view = { x: (l + r) / 2, y: (b + t) / 2, zoom: Math.min(MOST, 1.8 / wide) };
    this.later();
  }

  zoom(factor, x = this.canvas.width / 2, y = this.canvas.height / 2) {
    const before = this.scale,
      { view, canvas } = this;
    view.zoom = Math.min(MOST, Math.max(LEAST, view.zoom * factor));
    const [dx, dy] = [x - canvas.width / 2, y - canvas.height / 2];
    view.x += dx / before - dx / this.scale;
    view.y -= dy / before - dy / this.scale;
    this.later();
  }

  move(dx, dy) {
    this.view.x -= dx / this.scale;
    this.view.y += dy / this.scale;
    this.later();
  }

  // Brings point i into view where it is not.
  reveal(i) {
    const [x, y] = this.toScreen(i),
      { width, height } = this.canvas;
    if (x < 0.05 * width || x > 0.95 * width || y < 0.05 * height || y > 0.95 * height) {
      this.view.x = this.places[2 * i];
      this.view.y = this.places[2 * i + 1];
    }
    this.later();
  }

  nearest(x, y, reach) {
    const { places, lit, view, scale, canvas } = this;
    let best = -1,
      least = reach * reach;
    for (let i = 0; i < lit.length; i += 1) {
      if (!lit[i]) continue;
      const dx = (places[2 * i] - view.x) * scale + canvas.width / 2 - x;
      const dy = (view.y - places[2 * i + 1]) * scale + canvas.height / 2 - y;
      const d = dx * dx + dy * dy;
      if (d < least) [best, least] = [i, d];
    }
    return best;
  }

  // ---- drawing

  points(wanted, mark) {
    const { places, lit, look, pixels, view, scale } = this;
    const { width, height } = this.canvas;
    const { reach, offset, cover } = mark;
    for (let i = 0; i < lit.length; i += 1) {
      if (lit[i] !== wanted) continue;
      const x = Math.round((places[2 * i] - view.x) * scale + width / 2),
        y = Math.round((view.y - places[2 * i + 1]) * scale + height / 2);
      if (x < reach || y < reach || x >= width - reach || y >= height - reach) continue;
      const colour = wanted ? look.colours[i] : look.dim;
      const at = y * width + x,
        redBlue = colour & 0xff00ff,
        green = colour & 0xff00;
      for (let s = 0; s < offset.length; s += 1) {
        const p = at + offset[s],
          c = cover[s],
          under = pixels[p];
        const rb = under & 0xff00ff,
          g = under & 0xff00;
        pixels[p] =
          -16777216 |
          ((rb + (Math.imul(redBlue - rb, c) >>> 8)) & 0xff00ff) |
          ((g + (Math.imul(green - g, c) >>> 8)) & 0xff00);
      }
    }
  }

  ring(i, radius, width) {
    const [x, y] = this.toScreen(i),
      { context, ratio, look } = this;
    for (const [line, style] of [
      [width + 2, look.groundText],
      [width, look.inkText],
    ]) {
      context.beginPath();
      context.arc(x, y, radius * ratio, 0, 2 * Math.PI);
      context.lineWidth = line * ratio;
      context.strokeStyle = style;
      context.stroke();
    }
  }

  draw() {
    if (!this.places || !this.image) return;
    const { context, canvas, ratio, look } = this;
    const n = this.lit.length;
    const radius = ratio * Math.min(5, Math.max(1.3, (160 / Math.sqrt(n)) * Math.min(2, this.view.zoom ** 0.4)));
    const started = performance.now();
    this.pixels.fill(look.ground);
    this.points(0, stamp(radius, canvas.width, 0.9));
    this.points(1, stamp(radius, canvas.width, n > 3000 ? 0.8 : 0.9));
    context.putImageData(this.image, 0, 0);
    for (const i of this.marked) this.ring(i, radius / ratio + 3, 1.5);
    if (this.chosen >= 0) this.ring(this.chosen, radius / ratio + 5, 2.5);
    this.path();
    canvas.dataset.milliseconds = (performance.now() - started).toFixed(1);
  }

  path() {
    const { context, line, ratio, look, canvas } = this;
    context.strokeStyle = look.inkText;
    if (line) {
      context.beginPath();
      for (let i = 0; i < line.length; i += 2) context.lineTo(line[i], line[i + 1]);
      context.setLineDash([6 * ratio, 4 * ratio]);
      context.lineWidth = 1.5 * ratio;
      context.stroke();
      context.setLineDash([]);
    }
    if (this.cross) {
      const [x, y, r] = [canvas.width / 2, canvas.height / 2, 9 * ratio];
      context.beginPath();
      context.moveTo(x - r, y);
      context.lineTo(x + r, y);
      context.moveTo(x, y - r);
      context.lineTo(x, y + r);
      context.lineWidth = 1.5 * ratio;
      context.stroke();
    }
  }

  // ---- mouse, touch, keys

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [(event.clientX - box.left) * this.ratio, (event.clientY - box.top) * this.ratio];
  }

  listen() {
    const on = (name, act, options) => this.canvas.addEventListener(name, act, options);
    on('pointerdown', (e) => this.down(e));
    on('pointermove', (e) => this.moved(e));
    for (const name of ['pointerup', 'pointercancel']) on(name, (e) => this.up(e));
    on('pointerleave', () => this.act.hover(-1));
    on(
      'wheel',
      (e) => {
        e.preventDefault();
        this.zoom(Math.exp(-0.0015 * e.deltaY * (e.deltaMode ? 20 : 1)), ...this.place(e));
      },
      { passive: false },
    );
    on('keydown', (e) => this.key(e));
    on('focus', () => {
      this.cross = this.canvas.matches(':focus-visible');
      this.later();
    });
    on('blur', () => {
      this.cross = false;
      this.later();
    });
  }

  down(event) {
    if (event.button > 0) return;
    try {
      this.canvas.setPointerCapture(event.pointerId);
    } catch {
      // the pointer is gone already
    }
    const [x, y] = this.place(event);
    this.pointers.set(event.pointerId, [x, y]);
    this.from = [x, y];
    this.far = false;
    if (this.pointers.size === 1 && (this.lassoing || event.shiftKey)) this.line = [x, y];
    this.act.hover(-1);
  }

  moved(event) {
    const [x, y] = this.place(event);
    const last = this.pointers.get(event.pointerId);
    if (!last) {
      this.act.hover(this.nearest(x, y, 14 * this.ratio), event.clientX, event.clientY);
      return;
    }
    if (Math.hypot(x - this.from[0], y - this.from[1]) > 4 * this.ratio) this.far = true;
    if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
      this.line = null;
      this.zoom(apart([x, y]) / Math.max(apart(last), 1), ...other);
    } else if (this.line) {
      this.line.push(x, y);
      this.later();
    } else if (this.far) this.move(x - last[0], y - last[1]);
    this.pointers.set(event.pointerId, [x, y]);
  }

  up(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    const { line } = this;
    this.line = null;
    if (event.type === 'pointercancel') this.later();
    else if (line && this.far) this.act.lasso(this.within(line));
    else if (!this.far && !this.pointers.size) this.act.choose(this.nearest(...this.place(event), 16 * this.ratio));
    this.later();
  }

  within(line) {
    const found = [];
    for (let i = 0; i < this.lit.length; i += 1) if (inside(line, ...this.toScreen(i))) found.push(i);
    return found;
  }

  key(event) {
    const step = 0.1 * Math.min(this.canvas.width, this.canvas.height);
    const acts = {
      ArrowLeft: () => this.move(step, 0),
      ArrowRight: () => this.move(-step, 0),
      ArrowUp: () => this.move(0, step),
      ArrowDown: () => this.move(0, -step),
      '+': () => this.zoom(1.4),
      '=': () => this.zoom(1.4),
      '-': () => this.zoom(1 / 1.4),
      0: () => this.fit(),
      Enter: () => this.act.choose(this.nearest(this.canvas.width / 2, this.canvas.height / 2, Infinity)),
    };
    if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.cross = true;
    acts[event.key]();
  }
}
