// A figure as data (src/private/eigenpair/figure.h) -> rows, CSV, Vega-Lite specification, drawing. The same functions
// draw in the page and, run by Node, the files for papers.
import { Error as onlyErrors, View, defaultLocale, parse } from 'vega';
import { expressionInterpreter } from 'vega-interpreter';
import { compile } from 'vega-lite';
import { clouds, middles } from './regions.js';

const { format } = defaultLocale(); // d3's number formats
const SHAPES = ['circle', 'square', 'triangle-up', 'diamond', 'cross', 'triangle-down', 'triangle-left'];
const DASHES = [
  [5, 3],
  [2, 2],
  [8, 3, 2, 3],
  [1, 4],
];
const FEW = 40; // points of a line that are marked one by one

// Colours that stay apart for the colour-blind; the page has its own of the same meaning for light and dark.
export const PAPER = {
  font: "Helvetica, Arial, 'DejaVu Sans', sans-serif",
  paper: '#ffffff', // a drawing may stand on a dark page
  ground: '#ffffff',
  ink: '#1d2329',
  soft: '#565f68',
  line: '#dde1e5',
  colours: [
    '#0072b2',
    '#d55e00',
    '#009e73',
    '#cc79a7',
    '#e69f00',
    '#56b4e9',
    '#882255',
    '#8c8c2e',
    '#332288',
    '#6f6f6f',
  ],
};

// ---- the numbers

export const COLUMNS = ['series', 'panel', 'x', 'y', 'low', 'high', 'label'];

// One row a point.
export function rows(figure) {
  return figure.series.flatMap((s) =>
    s.x.map((x, i) => ({
      series: s.name,
      panel: s.panel || '',
      x,
      y: s.y[i],
      low: s.low ? s.low[i] : null,
      high: s.high ? s.high[i] : null,
      label: s.label ? s.label[i] : null,
      index: i,
      dashed: !!s.dashed,
    })),
  );
}

export function csv(figure) {
  const cell = (v) => (v === null ? '' : /[",\r\n]/.test(v) ? `"${v.replaceAll('"', '""')}"` : String(v));
  return [COLUMNS, ...rows(figure).map((r) => COLUMNS.map((c) => r[c]))]
    .map((r) => `${r.map(cell).join(',')}\n`)
    .join('');
}

export function panels(figure) {
  const names = [...new Set(figure.series.map((s) => s.panel || ''))];
  return names.length ? names : [''];
}

// 12,000 and 0.0123; far from 1, 1.23·10⁻⁷
export function number(x, how) {
  if (how) return format(how)(x).replace(/%$/, ' %');
  if (Number.isInteger(x) && Math.abs(x) < 1e15) return format(',d')(x);
  return powered(format(x !== 0 && (Math.abs(x) < 1e-4 || Math.abs(x) >= 1e6) ? '.3~e' : '.4~g')(x));
}

const raised = (e) => String(e).replace(/[-−\d]/g, (c) => '⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻'['0123456789-−'.indexOf(c)]);
// 1.2e-07 -> 1.2·10⁻⁷
export const powered = (text) =>
  text.replace(/(?<![\w.])([-−]?[\d.]+)e([-−+]?)0*(\d+)(?![\w.])/g, (_, m, sign, e) => `${m}·10${raised(sign.replace('+', '') + e)}`);
// Signs as they are printed: a minus before a number or between two words, indices and powers of ten.
export const signs = (text) =>
  powered(text)
    .replaceAll('<=', '≤')
    .replaceAll('>=', '≥')
    .replace(/\^(-?\d+)(?![\d./])/g, (_, e) => raised(e))
    .replace(/(?<=^|[\s(])-(?=\.?\d)|(?<=\s)-(?=\s)/g, '−')
    .replace(/(?<=\b\p{L}|\|)_(\d+|i)(?!\w|\.\w)/gu, (_, i) => (i === 'i' ? 'ᵢ' : [...i].map((c) => '₀₁₂₃₄₅₆₇₈₉'[c]).join('')));

// ---- axes

const rulesOf = (figure) => figure.rules || [];
const shown = (v, axis) => v !== null && (!axis.log || v > 0); // a log axis has no place for 0

// Decades; below two of them 1, 2, 5. null: too narrow for either.
export function logTicks([lo, hi]) {
  const from = Math.floor(Math.log10(lo)),
    to = Math.ceil(Math.log10(hi));
  const all = (multiples) =>
    Array.from({ length: to - from + 1 }, (_, i) => from + i)
      .flatMap((e) => multiples.map((m) => [m, e]))
      .filter(([m, e]) => Number(`${m}e${e}`) >= lo && Number(`${m}e${e}`) <= hi);
  let ticks = all([1]);
  if (ticks.length < 3) ticks = all([1, 2, 5]);
  if (ticks.length < 2) return null;
  const step = Math.ceil(ticks.length / 8);
  ticks = ticks.filter(([, e]) => ticks.length <= 8 || (e - from) % step === 0);
  const plain = ticks.every(([, e]) => e >= -3 && e <= 5);
  const text = ([m, e]) => (plain ? format(',~r')(Number(`${m}e${e}`)) : `${m > 1 ? `${m}·` : ''}10${raised(e)}`);
  return { values: ticks.map(([m, e]) => Number(`${m}e${e}`)), labels: ticks.map(text) };
}

// An axis of a panel: everything that is drawn along it has a place, with a little room at both ends.
function axisOf(figure, name, drawn) {
  const axis = figure[name];
  const values = drawn
    .flatMap((r) => (name === 'x' ? [r.x] : [r.y, r.low, r.high]))
    .concat(
      rulesOf(figure)
        .filter((r) => r.axis === name)
        .map((r) => r.value),
    )
    .filter((v) => shown(v, axis));
  const channel = { type: 'quantitative', title: signs(axis.title), scale: { zero: false }, axis: { tickCount: 6, labelSeparation: 4 } };
  const far = Math.max(...values.map(Math.abs), 0);
  if (axis.percent) channel.axis.labelExpr = "format(100 * datum.value, ',~r') + ' %'";
  else if (far >= 1e6 || (far > 0 && far < 1e-3))
    channel.axis.labelExpr = `format(datum.value / 1e${Math.floor(Math.log10(far))}, '.3~r') + (datum.value ? '·10${raised(Math.floor(Math.log10(far)))}' : '')`;
  if (!axis.log && values.length && dots(figure)) {
    const [low, high] = [Math.min(...values), Math.max(...values)],
      spare = 0.06 * (high - low || Math.abs(high) || 1);
    channel.scale = { zero: false, nice: false, domain: [low - spare, high + spare] };
  }
  if (!axis.log || !values.length) return channel;
  const [least, most] = values
    .map(Math.log10)
    .reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  const room = Math.max(0.04 * (most - least), 0.04);
  const domain = [
    Math.max(10 ** (least - room), Number.MIN_VALUE),
    Math.min(10 ** (most + room), Number.MAX_VALUE),
  ];
  channel.scale = { type: 'log', domain, nice: false };
  const ticks = logTicks(domain);
  if (ticks) {
    channel.axis = {
      values: ticks.values,
      labelOverlap: 'greedy',
      labelSeparation: 4,
      labelExpr: `${JSON.stringify(ticks.labels)}[indexof(${JSON.stringify(ticks.values)}, datum.value)]`,
    };
  }
  return channel;
}

// ---- layers

const layer = (values, mark, encoding) => (values.length ? [{ data: { values }, mark, encoding }] : []);

// What a point says when it is pointed at: {name: text}.
function tip(r, figure) {
  const says = (v) => (figure.y.percent ? number(v, '.1%') : number(v));
  const range = r.low !== null && r.high !== null ? ` (${says(r.low)} to ${says(r.high)})` : '';
  return {
    ...(r.series ? { series: signs(r.series) } : {}),
    ...(r.label !== null ? { label: nameOf(figure, r.label) } : {}),
    [figure.x.title || 'x']: number(r.x),
    [figure.y.title || 'y']: says(r.y) + range,
    ...(figure.pictures ? { picture: r.index } : {}),
  };
}

// The name of a class, where the figure has names for them.
const nameOf = (figure, label) => figure.classes?.find((c) => c.label === Number(label))?.name ?? String(label);
const className = (figure, domain) =>
  figure.classes
    ? {
        labelExpr: `${JSON.stringify(domain.map((d) => nameOf(figure, d)))}[indexof(${JSON.stringify(domain)}, datum.label)]`,
      }
    : {};

const tooltip = { field: 'tip' },
  colour = (field, domain, theme, legend) => ({
    field,
    type: 'nominal',
    scale: { domain, range: theme.colours },
    legend,
  });
const shape = (field, domain, legend) => ({ field, type: 'nominal', scale: { domain, range: SHAPES }, legend });

// The widths that words of a legend take, by and large.
const legendWidths = (words) => words.map((w) => 7 * w.length + 40);

const dots = (figure) =>
  figure.kind === 'scatter' &&
  figure.series.length > 1 &&
  figure.series.every((s) => s.dashed || (s.x.length === 1 && !s.label));

const MOST_DOTS = 16,
  FEW_DOTS = 5;

// Names of dots stand beside them where they touch no other dot, name or rule; of more dots than can be read the first have names,
// and one that would stand on another or leave the figure has none (the table has all).
function apart(figure, all, x, y, width, height) {
  const letter = width < 400 ? 5.6 : 6.4,
    [wide, high] = [width - 28, (height || 330) - 50];
  const place = (v, axis, domain, length) => {
    const [a, b, c] = [v, ...domain].map((u) => (axis.log ? Math.log(u) : u));
    return c > b ? (length * (a - b)) / (c - b) : length / 2;
  };
  const at = (r) => [
    14 + place(r.x, figure.x, x.scale.domain, wide),
    high - place(r.y, figure.y, y.scale.domain, high),
  ];
  const taken = all.map((r) => at(r)).map(([px, py]) => [px - 8, py - 6, px + 8, py + 6]);
  for (const r of rulesOf(figure).filter((k) => k.axis === 'y' && shown(k.value, figure.y))) {
    const [, py] = at({ x: x.scale.domain[1], y: r.value });
    taken.push([0, py - 2, width, py + 2], [width - letter * r.text.length, py - 14, width, py]);
  }
  for (const s of figure.series.filter((k) => k.dashed)) // points of a line, near each other
    for (let k = 0; k <= 60; k += 1) {
      const [p, q] = [at({ x: s.x[0], y: s.y[0] }), at({ x: s.x.at(-1), y: s.y.at(-1) })].map(([u, v]) => [u, v]);
      const [px, py] = [p[0] + ((q[0] - p[0]) * k) / 60, p[1] + ((q[1] - p[1]) * k) / 60];
      taken.push([px - 3, py - 3, px + 3, py + 3]);
      if (k === 60) taken.push([px - 10 - letter * s.name.length, py - 14, px - 10, py + 2]); // its name: endName
    }
  const overlap = (a, b) =>
    Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0])) * Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
  const named = [];
  return (all.length > MOST_DOTS ? all.slice(0, FEW_DOTS) : all).flatMap((r, own) => {
    const [px, py] = at(r),
      long = letter * r.series.length;
    const spots = [0, -9, 9, -16, 16, -30, 30, -44, 44, -58, 58, -72, 72, -86, 86].flatMap((dy) => [
      { align: 'left', dx: 9, dy },
      { align: 'right', dx: -9, dy },
      ...(Math.abs(dy) > 10 ? [{ align: 'center', dx: 0, dy }] : []),
    ]);
    const cost = (s) => {
      const left = px + s.dx - (s.align === 'left' ? 0 : s.align === 'right' ? long : long / 2);
      const box = [left - 2, py + s.dy - 7, left + long + 2, py + s.dy + 7];
      const out = Math.max(0, -box[0]) + Math.max(0, box[2] - width) + Math.max(0, -box[1]) + Math.max(0, box[3] - high);
      const dots = taken.reduce((sum, t, i) => sum + (i === own ? 0 : overlap(box, t)), 0),
        names = named.reduce((sum, t) => sum + overlap(box, t), 0);
      return { box, out, names, bad: dots + 100 * names + 50 * out + 0.2 * Math.abs(s.dy) };
    };
    const best = spots.map((s) => ({ ...s, ...cost(s) })).reduce((a, b) => (b.bad < a.bad ? b : a));
    if (best.out > 4 || best.names) return [];
    named.push(best.box);
    return { ...r, beside: { align: best.align, dx: best.dx, dy: best.dy } };
  });
}

// ---- names at the ends of lines, in the place of a legend

const NAMED = 9, // lines that can still be told apart by names at their ends
  LINE = 15; // pixels between two names
const nameWidth = (names) => 6.6 * Math.max(...names.map((n) => n.length)) + 14;

// Is there room for names beside the lines? A small drawing can do with less.
function direct(figure, mine, size) {
  const names = [...new Set(mine.map((r) => r.series))];
  const room = size.small ? 130 : 260;
  return figure.kind === 'line' && names.length > 1 && names.length <= NAMED && size.width - nameWidth(names) > room;
}

// Pixels by which each name moves from the height of its line's end so that no two touch.
function dodge(heights, room) {
  const order = heights.map((h, i) => [h, i]).sort((a, b) => a[0] - b[0]);
  const place = order.map(([h]) => h);
  for (let k = 1; k < place.length; k += 1) place[k] = Math.max(place[k], place[k - 1] + LINE);
  const over = Math.max(0, place[place.length - 1] - room);
  for (let k = place.length - 1; over && k >= 0; k -= 1)
    place[k] = Math.min(place[k], k + 1 < place.length ? place[k + 1] - LINE : room);
  const moved = [];
  order.forEach(([h, i], k) => {
    moved[i] = place[k] - h;
  });
  return moved;
}

function nameLayers(figure, drawn, x, y, theme, size) {
  const at = (v) => (figure.y.log ? Math.log(v) : v);
  const ends = [...new Set(drawn.map((r) => r.series))]
    .map((name) => drawn.filter((r) => r.series === name && r.y !== null).at(-1))
    .filter(Boolean);
  const all = drawn.filter((r) => r.y !== null).map((r) => at(r.y));
  const [low, high] = [Math.min(...all), Math.max(...all)],
    room = size.height - 70;
  const heights = ends.map((r) => (high > low ? (room * (high - at(r.y))) / (high - low) : room / 2));
  const measured = [...new Set(figure.series.filter((s) => !s.dashed).map((s) => s.name))];
  const ink = (r) => (r.dashed ? theme.soft : theme.colours[measured.indexOf(r.series) % theme.colours.length]);
  const along = (v) => (figure.x.log ? Math.log(v) : v);
  const xs = drawn.map((r) => along(r.x)),
    [first, last] = [Math.min(...xs), Math.max(...xs)];
  const far = Math.max(...drawn.map((r) => r.x));
  const early = (r) => along(r.x) < first + 0.75 * (last - first); // this line ends long before the others: its name stands there
  const moved = new Map();
  for (const group of [ends.filter(early), ends.filter((r) => !early(r))])
    if (group.length)
      dodge(
        group.map((r) => heights[ends.indexOf(r)]),
        room,
      ).forEach((dy, i) => moved.set(group[i], dy));
  return ends.map((r) => ({
    data: { values: [early(r) ? r : { ...r, x: far }] },
    mark: { type: 'text', text: signs(r.series), align: 'left', baseline: 'middle', dx: 8, dy: moved.get(r), color: ink(r) },
    encoding: { x: { field: 'x', ...x }, y: { field: 'y', ...y } },
  }));
}

function lineLayers(figure, drawn, x, y, theme, width, named, small) {
  const names = (dashed) => [...new Set(figure.series.filter((s) => !!s.dashed === dashed).map((s) => s.name))];
  const measured = names(false),
    theory = names(true);
  const many = new Set(figure.series.filter((s) => s.x.length > (small ? FEW / 4 : FEW)).map((s) => s.name));
  const [solid, dashed] = [false, true].map((d) => drawn.filter((r) => r.dashed === d));
  const place = { x: { field: 'x', ...x }, y: { field: 'y', ...y } },
    order = { field: 'order', type: 'quantitative' };
  const fit = (words) => Math.max(1, Math.floor(width / Math.max(...legendWidths(words))));
  const several = measured.length + theory.length > 1 && !named && !small;
  const legend = several ? { title: null, columns: fit(measured), padding: theory.length ? 3 : 0 } : null; // as high as the dashes
  const color = colour('series', measured, theme, legend);
  const floor = (r) => (shown(r.low, figure.y) ? r.low : y.scale.domain[0]); // a bar that leaves a log axis below
  const bars = solid.filter((r) => r.low !== null && shown(r.high, figure.y)).map((r) => ({ ...r, low: floor(r) }));
  const few = bars.filter((r) => !many.has(r.series)),
    band = bars.filter((r) => many.has(r.series)); // a bar a point would be a wall
  return [
    ...layer(
      band,
      { type: 'area', opacity: 0.25 },
      { x: place.x, y: { field: 'low', ...y }, y2: { field: 'high' }, color },
    ),
    ...layer(
      solid,
      { type: 'line', strokeWidth: 2, invalid: 'break-paths-filter-domains' },
      { ...place, order, color },
    ),
    ...layer(
      dashed,
      { type: 'line', color: theme.soft, strokeWidth: 1.5, invalid: 'break-paths-filter-domains' },
      {
        ...place,
        order,
        strokeDash: {
          field: 'series',
          type: 'nominal',
          scale: { domain: theory, range: DASHES },
          legend: legend && { title: null, columns: fit(theory), symbolType: 'stroke', symbolSize: 300 },
        },
      },
    ),
    ...layer(
      few,
      { type: 'errorbar', opacity: 1, ticks: { size: 8 }, thickness: 1.5 },
      {
        x: place.x,
        y: { field: 'low', ...y },
        y2: { field: 'high' },
        color,
      },
    ),
    ...layer(
      solid.filter((r) => r.y !== null).map((r) => ({ ...r, many: many.has(r.series) })),
      { type: 'point', filled: true, size: 55, opacity: 1 },
      {
        ...place,
        color,
        shape: shape('series', measured, legend),
        tooltip,
        opacity: { condition: { test: 'datum.many', value: 0 }, value: 1 },
      },
    ),
  ];
}

const endName = (r, x, y, theme) => ({
  data: { values: [r] },
  mark: { type: 'text', text: r.series, align: 'right', dx: -10, dy: -6, color: theme.soft, fontStyle: 'italic' },
  encoding: { x: { field: 'x', ...x }, y: { field: 'y', ...y } },
});

// One dot a series, with its name beside it, on the side where there is room.
function dotLayers(drawn, named, x, y, theme, width) {
  const place = { x: { field: 'x', ...x }, y: { field: 'y', ...y } };
  return [
    ...layer(drawn, { type: 'point', filled: true, size: 80, opacity: 1, color: theme.colours[0] }, { ...place, tooltip }),
    ...named.map((r) => ({
      data: { values: [r] },
      mark: {
        type: 'text',
        text: signs(r.series),
        ...r.beside,
        baseline: 'middle',
        fontSize: width < 400 ? 10.5 : 12,
        color: theme.ink,
      },
      encoding: place,
    })),
  ];
}

function scatterLayers(figure, drawn, x, y, theme, width, height, small) {
  if (dots(figure)) {
    const lines = drawn.filter((r) => r.dashed),
      own = drawn.filter((r) => !r.dashed && r.y !== null);
    return [
      ...layer(
        lines,
        { type: 'line', color: theme.soft, strokeWidth: 1.5, strokeDash: DASHES[0] },
        { x: { field: 'x', ...x }, y: { field: 'y', ...y }, detail: { field: 'series' } },
      ),
      ...(lines.length ? [endName(lines.at(-1), x, y, theme)] : []),
      ...dotLayers(own, apart(figure, own, x, y, width, height), x, y, theme, width),
    ];
  }
  const all = rows(figure),
    labelled = all.some((r) => r.label !== null);
  const kind = (r) => (labelled ? r.label : r.series);
  const domain = [...new Set(all.map(kind))]
    .filter((v) => v !== null)
    .sort((a, b) => (labelled ? a - b : 0))
    .map(String);
  const lines = Math.ceil((Math.max(...legendWidths(domain.map((d) => nameOf(figure, d)))) * domain.length) / width),
    fitting = Math.max(1, Math.floor(width / Math.max(...legendWidths(domain.map((d) => nameOf(figure, d)))))),
    columns = Math.min(fitting, Math.ceil(domain.length / lines));
  const legend =
    domain.length > 1
      ? { title: labelled && !figure.classes ? 'label' : null, columns, ...className(figure, domain) }
      : null;
  const points = drawn.filter((r) => r.y !== null).map((r) => ({ ...r, kind: String(kind(r)) }));
  const long = (k) => 7.5 * nameOf(figure, k).length;
  const regions = figure.named
    ? middles(points)
    : labelled && domain.length > 1 && !small
      ? clouds(points, long, width, (height || 330) - 60)
      : [];
  const shownLegend = legend && regions.length < new Set(points.map((r) => r.kind)).size && !small ? legend : null;
  return [
    ...layer(
      points,
      { type: 'point', filled: true, size: points.length > 500 ? 22 : 40, opacity: 0.8 },
      {
        x: { field: 'x', ...x },
        y: { field: 'y', ...y },
        tooltip,
        color: colour('kind', domain, theme, shownLegend),
        shape: shape('kind', domain, shownLegend),
      },
    ),
    ...regions.flatMap((r) =>
      [
        { color: theme.ground, stroke: theme.ground, strokeWidth: 5 }, // a ground to be read on
        { color: theme.ink },
      ].map((look) => ({
        data: { values: [r] },
        mark: { type: 'text', text: signs(nameOf(figure, r.kind)), fontWeight: 600, baseline: 'middle', ...look },
        encoding: { x: { field: 'x', ...x }, y: { field: 'y', ...y } },
      })),
    ),
  ];
}

// How near the points of one end of the panel come to the height of a rule.
function nearness(figure, drawn, value, sign) {
  const at = (v, axis) => (axis.log ? Math.log(v) : v);
  const end = Math.max(...drawn.map((r) => sign * at(r.x, figure.x)));
  const distance = (r) => Math.abs(at(r.y, figure.y) - at(value, figure.y));
  return Math.min(...drawn.filter((r) => r.y !== null && sign * at(r.x, figure.x) === end).map(distance));
}

// Lines across the panel, with their words where there is room for them.
function ruleLayers(figure, drawn, x, y, theme, end, named) {
  const far = Math.max(...drawn.map((r) => r.x)); // names of lines begin behind it
  return rulesOf(figure)
    .filter((r) => shown(r.value, figure[r.axis]))
    .flatMap((r) => {
      const left = r.axis === 'y' && nearness(figure, drawn, r.value, -1) > nearness(figure, drawn, r.value, 1);
      const at = r.axis === 'x' ? { x: { field: 'value', ...x } } : { y: { field: 'value', ...y } };
      const place =
        r.axis === 'x'
          ? { align: 'left', dx: 5, y: 8 }
          : { dy: -8, ...(left ? { align: 'left', x: 4 } : { align: 'right', ...(named ? { dx: -10 } : { x: end, dx: -4 }) }) };
      const before = r.axis === 'y' && !left && named ? { x: { datum: far, ...x } } : {};
      const part = (mark, more) => ({
        data: { values: [r] },
        mark: { color: theme.soft, ...mark },
        encoding: { ...at, ...more },
      });
      return [
        part({ type: 'rule', strokeDash: [3, 3], strokeWidth: 1.2, ...(r.axis === 'y' ? { x: 0, x2: end } : {}) }),
        ...[{ stroke: theme.ground, strokeWidth: 4, color: theme.ground }, {}].map((look) =>
          part({ type: 'text', fontStyle: 'italic', ...place, ...look }, { ...before, text: { field: 'text' } }),
        ),
      ];
    });
}

function panelSpec(figure, panel, theme, size) {
  const mine = rows(figure).filter((r) => r.panel === panel);
  const drawn = mine
    .map((r, order) => ({
      ...r,
      order,
      tip: r.y === null ? null : tip(r, figure),
      y: shown(r.y, figure.y) ? r.y : null,
    }))
    .filter((r) => shown(r.x, figure.x));
  const x = axisOf(figure, 'x', drawn),
    y = axisOf(figure, 'y', drawn);
  if (size.small) // above its axis: a small drawing is not high enough for words on their side
    y.axis = { ...y.axis, titleAngle: 0, titleAlign: 'left', titleAnchor: 'end', titleBaseline: 'bottom', titleX: -26, titleY: -7, titleLimit: size.width - 20 };
  const named = direct(figure, drawn, size);
  const end = named ? { expr: `width - ${nameWidth(drawn.map((r) => r.series))}` } : { expr: 'width' };
  if (dots(figure)) x.scale.range = [14, { expr: 'width - 14' }];
  if (figure.named) {
    // a map: both axes on one scale
    x.scale.range = ['-', '+'].map((s) => ({ expr: `(width ${s} min(width, height)) / 2` }));
    y.scale.range = ['+', '-'].map((s) => ({ expr: `(height ${s} min(width, height)) / 2` }));
  }
  if (named) x.scale.range = [0, end];
  const layers =
    figure.kind === 'scatter'
      ? scatterLayers(figure, drawn, x, y, theme, size.width - 60, size.height, size.small)
      : lineLayers(figure, drawn, x, y, theme, size.width - 60, named, size.small);
  if (named && layers.length) layers.push(...nameLayers(figure, drawn, x, y, theme, size));
  const nothing = { data: { values: [{}] }, mark: { type: 'text', text: 'no numbers to show', color: theme.soft } };
  const { width, height } = size;
  return { width, height, layer: [...(layers.length ? layers : [nothing]), ...ruleLayers(figure, drawn, x, y, theme, end, named)] };
}

// Legends stand side by side where there is room, else one above the other.
function configOf(theme, figure, width) {
  const needed = legendWidths([...new Set(figure.series.map((s) => s.name))]).reduce((a, b) => a + b, 0);
  const words = {
    labelColor: theme.soft,
    titleColor: theme.ink,
    labelFontSize: 12,
    titleFontSize: 13,
    titleFontWeight: 500,
  };
  return {
    font: theme.font,
    background: theme.paper || null,
    aria: false,
    view: { stroke: null },
    text: { fontSize: 12 },
    title: { color: theme.ink, fontSize: 13, fontWeight: 600 },
    axis: {
      ...words,
      labelFlush: false,
      gridColor: theme.line,
      domainColor: theme.soft,
      tickColor: theme.soft,
      titlePadding: 10,
      domain: false,
      ticks: false,
      labelPadding: 6,
    },
    legend: {
      ...words,
      orient: 'top',
      direction: 'horizontal',
      symbolSize: 90,
      labelLimit: 260,
      symbolStrokeWidth: 2,
      columnPadding: 16,
      layout: { top: { anchor: 'start', direction: needed > width - 60 ? 'vertical' : 'horizontal', margin: 4 } },
    },
  };
}

// One panel of a given size, or with `panel` undefined all of them side by side.
export function specOf(figure, theme, { panel, width, height, small }) {
  const names = panels(figure),
    one = panel !== undefined || names.length === 1;
  const base = { description: figure.alt, config: configOf(theme, figure, width) };
  if (one) {
    return {
      ...base,
      autosize: { type: 'fit', contains: 'padding' },
      ...panelSpec(figure, panel ?? names[0], theme, { width, height, small }),
    };
  }
  const size = { width: Math.min(width, 320), height };
  return {
    ...base,
    columns: 3,
    concat: names.map((name) => ({ title: name, ...panelSpec(figure, name, theme, size) })),
  };
}

// The expressions of the specification are interpreted, never compiled: the page forbids eval.
export function viewOf(spec, options = {}) {
  const runtime = parse(compile(spec, { logger: quiet }).spec, null, { ast: true });
  return new View(runtime, { expr: expressionInterpreter, renderer: 'none', logLevel: onlyErrors, ...options });
}
const quiet = {
  level() {
    return this;
  },
  error(...words) {
    console.error(...words);
    return this;
  },
  warn() {
    return this;
  },
  info() {
    return this;
  },
  debug() {
    return this;
  },
};

// A drawing that stands alone, in the colours of paper.
export function svg(figure) {
  return viewOf(specOf(figure, PAPER, { width: 520, height: figure.kind === 'scatter' ? 340 : 330 })).toSVG();
}
