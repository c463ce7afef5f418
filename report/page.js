// The document in the page -> what a reader sees. Text enters as text, never as HTML.
import { button, choice, copy, el, save } from './dom.js';
import { COLUMNS, csv, number, panels, rows, specOf, svg, viewOf } from './figures.js';

export { csv, svg }; // for render.mjs

const PAGE = {
  font: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
  ink: 'var(--ink)',
  soft: 'var(--soft)',
  line: 'var(--line)',
  colours: Array.from({ length: 10 }, (_, i) => `var(--c${i})`),
};
const MOST_ROWS = 500; // of a figure's numbers in the page; all of them are in the CSV

// ---- words

const GOOD = ['holds', 'pass', 'passed', 'yes'],
  BAD = ['fails', 'fail', 'failed', 'no'];
function badge(word) {
  const tone = GOOD.includes(word) ? 'good' : BAD.includes(word) ? 'bad' : 'open';
  const sign = { good: '✓', bad: '✕', open: '•' }[tone];
  return el('span', { class: `badge ${tone}` }, el('span', { 'aria-hidden': 'true' }, sign), ` ${word}`);
}

// Any value of the document as something to read.
function shown(value) {
  if (value === null) return '–';
  if (typeof value === 'number') return el('data', { value }, number(value));
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) {
    if (value.some((v) => typeof v === 'string'))
      return el(
        'ul',
        null,
        value.map((v) => el('li', null, shown(v))),
      );
    return el(
      'span',
      null,
      value.flatMap((v, i) => (i ? [', ', shown(v)] : [shown(v)])),
    );
  }
  return typeof value === 'object' ? facts(Object.entries(value)) : value === '' ? '–' : String(value);
}

const facts = (pairs) =>
  el(
    'dl',
    { class: 'facts' },
    pairs.map(([name, value]) =>
      el('div', null, el('dt', null, name.replaceAll('_', ' ')), el('dd', null, shown(value))),
    ),
  );

const slug = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');

// ---- tables

function cell(value, column, first) {
  const attributes = first ? { scope: 'row' } : {};
  if (typeof value !== 'number') return el(first ? 'th' : 'td', attributes, shown(value));
  return el(
    first ? 'th' : 'td',
    { ...attributes, class: 'number', 'data-value': value },
    number(value, column.format),
  );
}

let tables = 0;
function table({ title, columns, rows: lines }) {
  const id = `table-${(tables += 1)}`;
  const numeric = (c) => lines.some((r) => typeof r[c] === 'number');
  const head = columns.map((c, i) =>
    el(
      'th',
      { scope: 'col', class: numeric(i) ? 'number' : null },
      c.name,
      c.unit ? el('span', { class: 'unit' }, ` (${c.unit})`) : null,
    ),
  );
  const body = lines.map((r) =>
    el(
      'tr',
      null,
      columns.map((c, i) => cell(r[i], c, i === 0)),
    ),
  );
  return el(
    'div',
    { class: 'table' },
    title ? el('h3', { id }, title) : null,
    el(
      'div',
      { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': title || 'Table' },
      el(
        'table',
        { 'aria-labelledby': title ? id : null },
        el('thead', null, el('tr', null, head)),
        el('tbody', null, body),
      ),
    ),
  );
}

// ---- figures

let tipBox; // made by start
function showTip(handler, event, item, value) {
  tipBox.hidden = !value;
  if (!value) return;
  tipBox.replaceChildren(
    ...Object.entries(value).map(([k, v]) => el('div', null, el('span', null, `${k} `), el('b', null, v))),
  );
  const right = event.clientX + 16 + tipBox.offsetWidth < document.documentElement.clientWidth;
  tipBox.style.left = `${Math.max(4, right ? event.clientX + 12 : event.clientX - 12 - tipBox.offsetWidth)}px`;
  tipBox.style.top = `${Math.max(4, event.clientY - tipBox.offsetHeight - 10)}px`;
}

function numbers(figure) {
  const all = rows(figure);
  const used = COLUMNS.filter((c) => all.some((r) => r[c] !== null && r[c] !== ''));
  const few = all.slice(0, MOST_ROWS);
  return [
    few.length < all.length
      ? el('p', { class: 'note' }, `The first ${few.length} of ${number(all.length)} points; the CSV has them all.`)
      : null,
    table({
      title: `Numbers of ${figure.title}`,
      columns: used.map((name) => ({ name: figure[name]?.title || name })),
      rows: few.map((r) => used.map((c) => r[c])),
    }),
  ].filter(Boolean);
}

// Figures are drawn one after the other, so that a page with many can be read at once.
let turn = Promise.resolve();
function inTurn(draw, canvas) {
  const failed = (error) => {
    console.error(error);
    canvas.textContent = `This figure cannot be drawn (${error.message}); its numbers are below.`;
  };
  turn = turn
    .then(
      () =>
        new Promise((next) => {
          setTimeout(next);
        }),
    )
    .then(draw)
    .catch(failed);
}

function plot(figure) {
  const names = panels(figure),
    several = names.length > 1;
  const holder = el('div', null); // vega writes roles of its own there
  const canvas = el('div', { class: 'canvas', role: 'img', 'aria-label': figure.alt }, holder);
  let view,
    panel = names[0],
    width = 0;
  const draw = () => {
    width = canvas.clientWidth;
    if (!width) return null;
    const old = view;
    const height =
      figure.kind === 'scatter'
        ? Math.min(Math.max(width * 0.75, 300), 460)
        : Math.min(Math.max(width * 0.62, 280), 400);
    view = viewOf(specOf(figure, PAGE, { panel, width, height }), {
      renderer: 'svg',
      container: holder,
      hover: true,
      tooltip: showTip,
    });
    canvas.dataset.panel = panel;
    return view.runAsync().then(() => old?.finalize());
  };
  new ResizeObserver(() => {
    if (canvas.clientWidth !== width) inTurn(draw, canvas);
  }).observe(canvas);
  const details = el(
    'details',
    {
      ontoggle: () => {
        if (details.open && details.children.length < 2) details.append(...numbers(figure));
      },
    },
    el('summary', null, 'Numbers'),
  );
  return el(
    'figure',
    { id: `figure-${figure.name}`, 'aria-labelledby': `title-${figure.name}` },
    el('h3', { id: `title-${figure.name}` }, figure.title),
    several
      ? choice('Show', `panel-${figure.name}`, names, panel, (name) => {
          panel = name;
          draw();
        })
      : null,
    canvas,
    el('figcaption', null, figure.alt),
    el(
      'div',
      { class: 'tools' },
      button('CSV', `Numbers of ${figure.title} as CSV`, () => save(`${figure.name}.csv`, 'text/csv', csv(figure))),
      button('SVG', `${figure.title} as SVG`, async () =>
        save(`${figure.name}.svg`, 'image/svg+xml', await svg(figure)),
      ),
    ),
    details,
  );
}

// ---- the page

function verdict(answers) {
  return answers?.length
    ? el(
        'section',
        { class: 'verdict', 'aria-label': 'Verdict' },
        answers.map((a) =>
          el('article', null, el('h2', null, a.question), el('p', null, badge(a.answer), ' ', a.words)),
        ),
      )
    : null;
}

function section(s, id) {
  const figures = (s.figures || []).map(plot);
  const words = [
    ...(s.text || []).map((t) => el('p', null, t)),
    ...(s.facts ? [facts(s.facts)] : []),
    ...(s.tables || []).map(table),
  ];
  const beside = s.facts && figures.length;
  return el(
    'section',
    { id, class: beside ? 'beside' : null },
    el('h2', null, s.title, s.badge ? [' ', badge(s.badge)] : null),
    words.length ? el('div', null, words) : null,
    figures.length ? el('div', { class: 'plots' }, figures) : null,
  );
}

function contents(list) {
  return list.length > 2
    ? el(
        'nav',
        { 'aria-label': 'Contents' },
        el(
          'ul',
          null,
          list.map(({ id, title, badge: word }) =>
            el('li', null, el('a', { href: `#${id}` }, title), word ? [' ', badge(word)] : null),
          ),
        ),
      )
    : null;
}

function repeat(d) {
  const status = el('span', { role: 'status' });
  const about = [
    ['version', d.version],
    ['machine', d.machine],
  ].filter(([, v]) => v !== undefined);
  return el(
    'section',
    { id: 'repeat' },
    el('h2', null, 'Repeat it'),
    d.command
      ? el(
          'div',
          { class: 'command' },
          el('pre', { tabindex: 0 }, el('code', { id: 'command-line' }, d.command)),
          button('Copy', 'Copy the command', () => copy(d.command, status)),
          status,
        )
      : null,
    about.length ? facts(about) : null,
    d.result
      ? el(
          'p',
          null,
          button('Download result.json', null, () =>
            save('result.json', 'application/json', JSON.stringify(d.result, null, 2)),
          ),
        )
      : null,
  );
}

function start() {
  const d = JSON.parse(document.getElementById('document').textContent);
  document.title = d.title;
  const used = new Set(['main', 'settings', 'repeat']);
  const ids = d.sections.map((s, i) => {
    const id = used.has(slug(s.title)) || !slug(s.title) ? `section-${i + 1}` : slug(s.title);
    used.add(id);
    return id;
  });
  const last = { ...(d.settings ? { settings: 'Settings' } : {}), repeat: 'Repeat it' };
  const list = [
    ...d.sections.map((s, i) => ({ ...s, id: ids[i] })),
    ...Object.entries(last).map(([id, title]) => ({ id, title })),
  ];
  document.getElementById('theme').append(
    choice('Colours', 'theme', ['auto', 'light', 'dark'], 'auto', (name) => {
      document.documentElement.dataset.theme = name;
    }),
  );
  document
    .getElementById('main')
    .append(
      ...[
        el('h1', null, d.title),
        verdict(d.verdict),
        ...d.sections.slice(0, 1).map((s, i) => section(s, ids[i])),
        contents(list.slice(1)),
        ...d.sections.slice(1).map((s, i) => section(s, ids[i + 1])),
        d.settings
          ? el('section', { id: 'settings' }, el('h2', null, 'Settings'), facts(Object.entries(d.settings)))
          : null,
        repeat(d),
      ].filter(Boolean),
    );
  tipBox = el('div', { class: 'tip', role: 'tooltip', hidden: '' });
  document.body.append(tipBox);
}

if (typeof document !== 'undefined') start();
