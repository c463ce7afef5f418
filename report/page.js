// The document in the page -> what a reader sees. Text enters as text, never as HTML.
import { button, choice, copy, el, save } from './dom.js';
import { COLUMNS, csv, number, panels, rows, signs, specOf, svg, viewOf } from './figures.js';
import { bytesOf } from './points.js';

export { csv, svg }; // for render.mjs

const PAGE = {
  font: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
  ink: 'var(--ink)',
  soft: 'var(--soft)',
  line: 'var(--line)',
  ground: 'var(--card)',
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

// Words of the glossary, longest first: {term, means, id}.
let glossary = [];
const explainedOnPage = new Set();

// Text with exponents raised (width^-0.5) and the first use of a word of the glossary explained.
const PAGE_BESIDE = /((?<![\w./:-])[\w-][\w./-]*\.html)/;
const EXPONENT = /(\^-?\d+(?:\.\d+)?(?:\/\d+)?|_F\b)/; // width^-0.5, |C|_F
const raisedParts = (text) =>
  text
    .split(EXPONENT)
    .map((part, i) =>
      i % 2 ? el(part[0] === '^' ? 'sup' : 'sub', null, part.slice(1).replace('-', '−')) : signs(part),
    );
// `used`: words that are explained already, on the page or in a table of its own; null: none is to be.
function typeset(text, used = explainedOnPage) {
  const out = String(text)
    .split(PAGE_BESIDE)
    .flatMap((part, i) => (i % 2 ? [link(part)] : raisedParts(part)));
  return used ? out.flatMap((part) => (typeof part === 'string' ? explained(part, used) : [part])) : out;
}
function explained(text, used) {
  for (const word of glossary) {
    const at = used.has(word.term) || word.cell ? -1 : text.indexOf(word.term);
    if (at >= 0 && !/[\p{L}\p{N}]/u.test(text[at + word.term.length] || '') && !/\p{L}/u.test(text[at - 1] || '')) {
      used.add(word.term);
      return [
        ...explained(text.slice(0, at), used),
        el('a', { class: 'term', href: `#${word.id}`, title: word.means }, word.term),
        ...explained(text.slice(at + word.term.length), used),
      ];
    }
  }
  return text ? [text] : [];
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
  if (typeof value === 'object') return facts(Object.entries(value));
  return value === '' ? '–' : typeset(value, null);
}

// A page beside this one is a link.
const link = (value) => el('a', { href: value }, value);

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

const ANSWERS = [...GOOD, ...BAD, 'no answer', 'answered', 'error'];
// A cell that is a word of the glossary leads there.
function termed(value) {
  const word = glossary.find((g) => g.term === value);
  return word ? el('a', { class: 'term', href: `#${word.id}`, title: word.means }, value) : shown(value);
}

const MIB = 1048576;
const bytes = (x) => (x >= 1024 * MIB ? `${number(x / MIB / 1024, '.1f')} GiB` : `${number(x / MIB, '.1f')} MiB`);
const unitOf = (c) => (c.unit && c.unit !== 'bytes' ? c.unit : '');

// An answer has its badge; what follows does not say it again.
const answered = (words, answer) => {
  const rest = words.toLowerCase().startsWith(answer.toLowerCase()) ? words.slice(answer.length).match(/^[:,] +(.)(.*)/s) : null;
  return rest ? rest[1].toUpperCase() + rest[2] : words;
};

// `used`: what a table of questions and answers has explained of their words.
function cell(value, column, first, numeric, before, used) {
  const unit = unitOf(column);
  const attributes = {
    ...(first ? { scope: 'row' } : { 'data-label': column.name + (unit ? ` (${unit})` : '') }),
    class: numeric ? 'number' : value === null || value === '' ? 'none' : null,
  };
  const tag = first ? 'th' : 'td';
  if (numeric && typeof value !== 'number') attributes.class = 'number none';
  if (typeof value === 'string' && column.answers) return el(tag, attributes, badge(value));
  if (typeof value === 'string') return el(tag, attributes, before ? typeset(answered(value, before), used) : used ? typeset(value, used) : termed(value));
  if (typeof value !== 'number') return el(tag, attributes, shown(value));
  const text = column.unit === 'bytes' ? bytes(value) : number(value, column.format);
  return el(tag, { ...attributes, 'data-value': value }, text);
}

let tables = 0;
function table({ title, columns, rows: lines, folded }) {
  const id = `table-${(tables += 1)}`;
  const numeric = columns.map((c, i) => lines.some((r) => typeof r[i] === 'number'));
  const kinds = columns.map((c, i) => ({
    ...c,
    answers: i > 0 && lines.length > 0 && lines.every((r) => ANSWERS.includes(r[i])),
  }));
  const head = columns.map((c, i) =>
    el(
      'th',
      { scope: 'col', class: numeric[i] ? 'number' : null },
      typeset(c.name),
      unitOf(c) ? el('span', { class: 'unit' }, ` (${c.unit})`) : null,
    ),
  );
  const sentences = columns.length === 3 && kinds[1].answers && !numeric[2]; // question, answer, words
  const used = sentences ? new Set() : null;
  const body = lines.map((r) =>
    el(
      'tr',
      r.some((v) => v === 'best') ? { class: 'best' } : null,
      kinds.map((c, i) => cell(r[i], c, i === 0, numeric[i], i > 0 && kinds[i - 1].answers ? r[i - 1] : null, used)),
    ),
  );
  const content = el(
    'div',
    { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': title || 'Table' },
    el(
      'table',
      { 'aria-labelledby': title && !folded ? id : null, class: columns.length > 3 ? 'cards' : null },
      el('thead', null, el('tr', null, head)),
      el('tbody', null, body),
    ),
  );
  if (folded)
    return el('details', { class: 'folded' }, el('summary', null, `${title} (${lines.length} rows)`), content);
  return el('div', { class: 'table' }, title ? el('h3', { id }, title) : null, content);
}

// ---- figures

let tipBox; // made by start
// The i-th picture of a figure's sheet, drawn as soon as the sheet is unpacked.
function picture(figure, i) {
  const { png, columns, width, height } = figure.pictures;
  const canvas = el('canvas', { width, height, class: 'thumbnail' });
  figure.sheet ||= createImageBitmap(new Blob([bytesOf(png)], { type: 'image/png' }));
  figure.sheet.then((sheet) =>
    canvas
      .getContext('2d')
      .drawImage(sheet, (i % columns) * width, Math.floor(i / columns) * height, width, height, 0, 0, width, height),
  );
  return canvas;
}

function showTip(figure, event, value) {
  tipBox.hidden = !value;
  if (!value) return;
  const { picture: i, ...words } = value;
  tipBox.replaceChildren(
    ...(i === undefined ? [] : [picture(figure, i)]),
    ...Object.entries(words).map(([k, v]) => el('div', null, el('span', null, `${k} `), el('b', null, v))),
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
      tooltip: (handler, event, item, value) => showTip(figure, event, value),
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
    el('figcaption', null, typeset(figure.alt, null)),
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

// The first answer may be a sentence of its own: what to do, and the command for it.
function headline(h) {
  if (!h) return null;
  const status = el('span', { role: 'status' });
  return el(
    'section',
    { class: 'headline', 'aria-label': 'What to use' },
    el('p', null, typeset(h.words)),
    h.command
      ? el(
          'div',
          { class: 'command' },
          el('pre', { tabindex: 0 }, el('code', { id: 'headline-command' }, h.command)),
          button('Copy', 'Copy the proposed command', () => copy(h.command, status, 'headline-command')),
          status,
        )
      : null,
  );
}

function verdict(answers) {
  return answers?.length
    ? el(
        'section',
        { class: 'verdict', 'aria-label': 'Verdict' },
        answers.map((a) =>
          el(
            'article',
            null,
            el('h2', null, a.question),
            el('p', null, badge(a.answer), ' ', typeset(answered(a.words, a.answer))),
          ),
        ),
      )
    : null;
}

function section(s, id) {
  const figures = (s.figures || []).map(plot);
  const words = [
    ...(s.text || []).map((t) => el('p', null, typeset(t))),
    ...(s.facts ? [facts(s.facts)] : []),
    ...(s.tables || []).map(table),
  ];
  const beside = s.facts && figures.length;
  const short = slug(s.title.split(': ')[0]); // what pages beside this one know it by
  return el(
    'section',
    { id, class: beside ? 'beside' : null },
    short !== id && s.title.includes(': ') && !document.getElementById(short) ? el('span', { id: short }) : null,
    el('h2', null, typeset(s.title, null), s.badge ? [' ', badge(s.badge)] : null),
    s.cards ? el('div', { class: 'claims' }, s.cards.map(card)) : null,
    words.length ? el('div', null, words) : null,
    figures.length ? el('div', { class: 'plots' }, figures) : null,
  );
}

// A claim: its figure, small; what it says; how it came out.
function card(c) {
  const canvas = el('div', { class: 'canvas small', role: 'img', 'aria-label': c.figure ? c.figure.alt : '' }, el('div', null));
  if (c.figure)
    inTurn(
      () =>
        viewOf(specOf(c.figure, PAGE, { panel: panels(c.figure)[0], width: canvas.clientWidth || 300, height: 190, small: true }), {
          renderer: 'svg',
          container: canvas.firstChild,
        }).runAsync(),
      canvas,
    );
  return el(
    'article',
    null,
    el('h3', null, c.link ? el('a', { href: c.link }, c.title) : c.title, c.badge ? [' ', badge(c.badge)] : null),
    c.figure ? canvas : null,
    el('p', null, typeset(c.text, null)),
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

// What was set otherwise than by default; the rest folded.
function settings(d) {
  const all = Object.entries(d.settings),
    changed = d.changed ? all.filter(([name]) => d.changed.includes(name)) : all,
    rest = all.filter((s) => !changed.includes(s));
  return el(
    'section',
    { id: 'settings' },
    el('h2', null, 'Settings'),
    changed.length ? facts(changed) : el('p', null, 'Everything as it is by default.'),
    rest.length
      ? el('details', null, el('summary', null, `${rest.length} settings as they are by default`), facts(rest))
      : null,
  );
}

function words(list) {
  return el(
    'section',
    { id: 'glossary' },
    el('h2', null, 'Glossary'),
    el(
      'dl',
      { class: 'facts' },
      [...list]
        .sort((a, b) => a.term.localeCompare(b.term))
        .map((w) => el('div', { id: w.id }, el('dt', null, w.term), el('dd', null, typeset(w.means, null)))),
    ),
  );
}

function repeat(d) {
  const status = el('span', { role: 'status' });
  const about = [
    ['version', d.version],
    ['machine', d.machine && { ...d.machine, ...(d.machine.memory > MIB ? { memory: bytes(d.machine.memory) } : {}) }],
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
  const used = new Set(['main', 'settings', 'glossary', 'repeat']);
  const ids = d.sections.map((s, i) => {
    const id = used.has(slug(s.title)) || !slug(s.title) ? `section-${i + 1}` : slug(s.title);
    used.add(id);
    return id;
  });
  glossary = (d.glossary || []).map((g) => ({ ...g, id: `word-${slug(g.term)}` }));
  glossary.sort((a, b) => b.term.length - a.term.length);
  const last = {
    ...(d.settings ? { settings: 'Settings' } : {}),
    ...(glossary.length ? { glossary: 'Glossary' } : {}),
    repeat: 'Repeat it',
  };
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
        headline(d.headline),
        verdict(d.verdict),
        ...d.sections.slice(0, 1).map((s, i) => section(s, ids[i])),
        contents(list.slice(1)),
        ...d.sections.slice(1).map((s, i) => section(s, ids[i + 1])),
        d.settings ? settings(d) : null,
        glossary.length ? words(glossary) : null,
        repeat(d),
      ].filter(Boolean),
    );
  tipBox = el('div', { class: 'tip', role: 'tooltip', hidden: '' });
  document.body.append(tipBox);
}

if (typeof document !== 'undefined') start();
