// The map, its controls and what is beside it.
import { classColour, pixel, ramp, range, rgb } from './colours.js';
import { button, choice, el, save } from './dom.js';
import { said } from './points.js';
import { Scatter } from './scatter.js';
import { count, percent } from './words.js';

export class Explorer {
  constructor(points) {
    this.points = points;
    this.selected = null; // rows, or null: all
    this.only = null; // a class of the colour's column, or null
    this.map = points.d.maps[points.d.maps.length - 1].name;
    this.column = points.columns[0];
    this.canvas = el('canvas', {
      class: 'field-of-points',
      tabindex: 0,
      role: 'application',
      'aria-label': `Map of ${count(points.n)} points. Arrow keys move it, plus and minus zoom, 0 shows all, Enter chooses the point in the middle.`,
    });
    this.side = el('aside', { class: 'side', 'aria-label': 'The chosen point' });
    this.legend = el('div', { class: 'legend', role: 'group', 'aria-label': 'Legend' });
    this.hint = el('p', { class: 'hint', role: 'status' });
    this.note = el('p', { class: 'hint' });
    this.tip = el('div', { class: 'tip', role: 'tooltip', hidden: '' });
    this.scatter = new Scatter(this.canvas, {
      hover: (i, x, y) => this.hover(i, x, y),
      choose: (i) => this.choose(i, false),
      lasso: (rows) => this.selectInside(rows),
    });
  }

  places(name) {
    this.kept ||= {};
    this.kept[name] ||= Float32Array.from(this.points.numbers[name], (v) => (v - 32768) / 32767);
    return this.kept[name];
  }

  // ---- drawing

  look() {
    const { column } = this,
      { n } = this.points;
    const colours = new Int32Array(n);
    if (column.kind === 'class') {
      const table = column.names.map((_, c) => pixel(rgb(classColour(c))));
      for (let i = 0; i < n; i += 1) colours[i] = table[column.values[i]];
    } else {
      const [low, high] = range(column.values);
      const table = ramp().map(pixel);
      const factor = high > low ? 255 / (high - low) : 0;
      const none = pixel(rgb('var(--missing)'));
      for (let i = 0; i < n; i += 1) {
        const at = Math.min(255, Math.max(0, Math.round((column.values[i] - low) * factor)));
        colours[i] = Number.isNaN(at) ? none : table[at];
      }
    }
    const [ground, ink] = [rgb('var(--card)'), rgb('var(--ink)')];
    return {
      colours,
      ground: pixel(ground),
      dim: pixel(rgb('var(--line)')),
      inkText: `rgb(${ink})`,
      groundText: `rgb(${ground})`,
    };
  }

  lit() {
    const lit = new Uint8Array(this.points.n).fill(this.selected ? 0 : 1);
    for (const i of this.selected || []) lit[i] = 1;
    if (this.only !== null) this.column.values.forEach((c, i) => (c === this.only ? null : (lit[i] = 0)));
    return lit;
  }

  refresh() {
    this.scatter.show({ places: this.places(this.map), look: this.look(), lit: this.lit() });
    const { n } = this.points;
    this.note.textContent = `${this.map}: ${this.points.d.maps.find((m) => m.name === this.map).note}. Colour: ${this.column.note}.`;
    this.hint.textContent = this.selected
      ? `${count(this.selected.length)} of ${count(n)} points are selected.`
      : 'Drag to move, wheel or pinch to zoom, click a point for its neighbours; Shift and drag, or Lasso, to select.';
    for (const b of [this.export, this.clear]) b.disabled = !this.selected;
  }

  drawLegend() {
    const { column } = this;
    if (column.kind === 'class') {
      const MOST = 40;
      const sizes = new Array(column.names.length).fill(0);
      for (const c of column.values) sizes[c] += 1;
      const items = column.names.slice(0, MOST).map((name, c) => {
        const dot = el('i');
        dot.style.background = classColour(c);
        const b = el(
          'button',
          {
            type: 'button',
            'aria-pressed': this.only === c,
            'aria-label': `Only ${column.title} ${name}, ${count(sizes[c])} points`,
            onclick: () => {
              this.only = this.only === c ? null : c;
              for (const x of this.legend.querySelectorAll('button'))
                x.setAttribute('aria-pressed', x === b && this.only !== null);
              this.refresh();
            },
          },
          dot,
          name,
        );
        return b;
      });
      this.legend.replaceChildren(
        ...items,
        column.names.length > MOST ? `and ${count(column.names.length - MOST)} more` : '',
      );
      return;
    }
    const [low, high] = range(column.values);
    const bar = el('canvas', { width: 256, height: 1, 'aria-hidden': 'true' }),
      context = bar.getContext('2d');
    ramp().forEach((colour, s) => {
      context.fillStyle = `rgb(${colour})`;
      context.fillRect(s, 0, 1, 1);
    });
    const gone = column.values.filter(Number.isNaN).length,
      dot = el('i', { class: 'missing' });
    this.legend.replaceChildren(
      ...(gone < this.points.n ? [el('span', null, said(this.column, low)), bar, el('span', null, said(this.column, high))] : []),
      gone ? el('span', { class: 'gone' }, dot, `${count(gone)} missing`) : '',
    );
  }

  // ---- doing

  hover(i, x, y) {
    this.tip.hidden = i < 0;
    this.canvas.style.cursor = i < 0 ? '' : 'pointer';
    if (i < 0) return;
    if (this.tipOf !== i)
      this.tip.replaceChildren(...[this.points.thumb(i), el('div', null, this.points.words(i))].filter(Boolean));
    this.tipOf = i;
    const right = x + 20 + this.tip.offsetWidth < document.documentElement.clientWidth;
    this.tip.style.left = `${Math.max(4, right ? x + 14 : x - 14 - this.tip.offsetWidth)}px`;
    this.tip.style.top = `${Math.max(4, y - this.tip.offsetHeight - 12)}px`;
  }

  choose(i, reveal = true) {
    if (i < 0) return;
    this.chosen = i;
    this.scatter.chosen = i;
    this.scatter.marked = this.points.near('near', i);
    if (reveal) this.scatter.reveal(i);
    else this.scatter.later();
    this.drawSide();
    if (this.side.offsetTop > this.canvas.offsetTop + 100)
      this.hint.textContent = `Row ${i} and its neighbours are below.`;
  }

  select(rows) {
    this.selected = rows && rows.length ? rows : null;
    this.refresh();
  }

  // What is inside a lasso: what it consists of, and the first of it.
  selectInside(rows) {
    this.select(rows);
    if (this.selected) this.drawFound(`${count(rows.length)} selected`, rows);
  }

  // shares of the classes of the column that is shown, or its mean against all
  made(rows) {
    const { column } = this;
    if (column.kind !== 'class') {
      const there = (list) => list.filter((v) => !Number.isNaN(v)),
        mean = (list) => list.reduce((sum, v) => sum + v, 0) / list.length;
      const inside = there(rows.map((i) => column.values[i])),
        gone = rows.length - inside.length ? ` ${count(rows.length - inside.length)} missing.` : '';
      if (!inside.length) return `${column.title}:${gone}`;
      return `Mean ${column.title}: ${said(column, mean(inside))}, of all points ${said(column, mean(there([...column.values])))}.${gone}`;
    }
    const times = new Map();
    for (const i of rows) times.set(column.values[i], (times.get(column.values[i]) || 0) + 1);
    const most = [...times].sort((a, b) => b[1] - a[1]);
    const shares = most.slice(0, 4).map(([c, k]) => `${percent(k / rows.length)} ${column.names[c]}`);
    return `By ${column.title}: ${shares.join(', ')}${most.length > 4 ? ` and ${count(most.length - 4)} more` : ''}.`;
  }

  drawFound(title, rows) {
    this.side.replaceChildren(
      el('h2', null, title),
      rows.length ? el('p', { class: 'made' }, this.made(rows)) : '',
      el(
        'ul',
        { class: 'near' },
        rows.slice(0, 30).map((i) => el('li', null, this.item(i))),
      ),
      rows.length > 30 ? el('p', { class: 'hint' }, 'These are the first 30; all are lit on the map.') : '',
    );
  }

  item(i, extra = '', words = this.points.words(i)) {
    return el(
      'button',
      { type: 'button', class: extra, 'data-row': i, onclick: () => this.choose(i) },
      this.points.thumb(i),
      el('span', null, words),
    );
  }

  list(title, rows, other) {
    const own = this.points.labelOf(this.chosen);
    return el(
      'div',
      null,
      el('h3', null, title),
      el(
        'ol',
        { class: 'near' },
        rows.map((i) => {
          const b = this.item(i, other?.includes(i) ? 'both' : '', this.points.brief(i));
          if (own !== null && this.points.labelOf(i) !== own) b.querySelector('span').className = 'other';
          return el('li', null, b);
        }),
      ),
    );
  }

  drawSide() {
    const { points, chosen } = this;
    const near = points.near('near', chosen),
      raw = points.near('raw', chosen);
    const note = [raw ? '✓: in both lists.' : null, points.label ? 'Orange: another label.' : null].filter(Boolean);
    this.side.replaceChildren(
      el('h2', null, `Row ${chosen}`),
      el(
        'div',
        { class: 'point' },
        points.thumb(chosen),
        el(
          'dl',
          null,
          points.columns.map((c) => [el('dt', null, c.title), el('dd', null, points.shown(c, chosen))]),
        ),
      ),
      points.d.text ? el('p', null, points.d.text[chosen]) : '',
      el('h2', null, 'Nearest'),
      el(
        'div',
        { class: raw ? 'pair' : 'pair alone' },
        raw ? this.list('In the data', raw, near) : null,
        this.list('In the embedding', near, raw),
      ),
      note.length ? el('p', { class: 'hint' }, note.join(' ')) : '',
    );
  }

  // The row of this number, then rows of this label, then rows with this in their text.
  search(words) {
    const { points } = this,
      wanted = words.trim().toLowerCase(),
      found = [[], [], []];
    for (let i = 0; wanted && i < points.n; i += 1) {
      if (String(i) === wanted) found[0].push(i);
      else if (points.labelOf(i)?.toLowerCase() === wanted) found[1].push(i);
      else if (points.d.text?.[i].toLowerCase().includes(wanted)) found[2].push(i);
    }
    return found.flat();
  }

  showFound(words) {
    const rows = this.search(words);
    if (!words.trim()) return this.select(null);
    if (rows.length === 1) {
      this.select(null);
      return this.choose(rows[0]);
    }
    this.select(rows);
    this.drawFound(`${count(rows.length)} found`, rows);
    if (!rows.length) this.hint.textContent = `Nothing is called “${words.trim()}”.`;
    return null;
  }

  // ---- controls

  controls() {
    const maps = choice(
      'Map',
      'map',
      this.points.d.maps.map((m) => m.name),
      this.map,
      (name) => {
        this.map = name;
        this.refresh();
        this.scatter.fit();
      },
    );
    const colours = el(
      'select',
      {
        id: 'colour',
        onchange: () => {
          this.column = this.points.columns[colours.selectedIndex];
          this.only = null;
          this.drawLegend();
          this.refresh();
        },
      },
      this.points.columns.map((c) => el('option', null, c.title)),
    );
    let timer;
    const search = el('input', {
      type: 'search',
      id: 'search',
      placeholder: this.points.d.text ? 'row, label or text' : 'row or label',
      oninput: () => {
        clearTimeout(timer);
        timer = setTimeout(() => this.showFound(search.value), 150);
      },
      onkeydown: (e) => {
        const [first] = e.key === 'Enter' ? this.search(search.value) : [];
        if (first !== undefined) this.choose(first);
      },
    });
    const lasso = button('Lasso', 'Lasso: draw around points to select them', () => {
      this.scatter.lassoing = !this.scatter.lassoing;
      lasso.setAttribute('aria-pressed', this.scatter.lassoing);
    });
    lasso.setAttribute('aria-pressed', false);
    this.export = button('Selection as CSV', null, () =>
      save('selection.csv', 'text/csv', this.points.csv(this.selected, this.map, this.places(this.map))),
    );
    this.clear = button('Clear', 'Clear the selection', () => {
      search.value = '';
      this.select(null);
    });
    return el(
      'div',
      { class: 'bar' },
      maps,
      el('label', { class: 'field' }, 'Colour by', colours),
      el('label', { class: 'field' }, 'Search', search),
      el(
        'div',
        { class: 'group' },
        button('+', 'Zoom in', () => this.scatter.zoom(1.4)),
        button('−', 'Zoom out', () => this.scatter.zoom(1 / 1.4)),
        button('All', 'Show all points', () => this.scatter.fit()),
        lasso,
        this.export,
        this.clear,
      ),
    );
  }

  section() {
    const bar = this.controls();
    this.side.append(
      el('h2', null, 'No point chosen'),
      el('p', null, 'Click a point, or search for its row, to see it and its nearest neighbours.'),
    );
    document.body.append(this.tip);
    return el(
      'section',
      { id: 'map', 'aria-label': 'Map' },
      bar,
      el(
        'div',
        { class: 'stage' },
        el('div', { class: 'board' }, this.canvas, this.hint, this.legend, this.note),
        this.side,
      ),
    );
  }

  // after the colours of the page have changed
  recolour() {
    this.drawLegend();
    this.refresh();
  }

  start() {
    this.recolour();
    this.scatter.resize();
    this.scatter.fit();
    const { doubts, dense } = this.points.d;
    const first = (doubts && doubts[0]) || (dense && dense[0]); // where there is room, a point to begin with
    if (first && matchMedia('(min-width: 62rem)').matches) this.choose(first.row, false);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.recolour());
  }
}
