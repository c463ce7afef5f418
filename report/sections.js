// What stands below the map.
import { button, copy, el, save } from './dom.js';
import { count, percent, points, short } from './words.js';

export function table(head, rows) {
  const numeric = (c) => rows.some((r) => typeof r[c] === 'number' || /^[-+−]?[\d.,]+( %)?$/.test(r[c]));
  return el(
    'div',
    { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': head.join(', ') },
    el(
      'table',
      null,
      el(
        'thead',
        null,
        el(
          'tr',
          null,
          head.map((h, c) => el('th', { scope: 'col', class: numeric(c) ? 'number' : null }, h)),
        ),
      ),
      el(
        'tbody',
        null,
        rows.map((r) =>
          el(
            'tr',
            null,
            r.map((v, c) =>
              c ? el('td', { class: numeric(c) ? 'number' : null }, v) : el('th', { scope: 'row' }, v),
            ),
          ),
        ),
      ),
    ),
  );
}

export function scores(d) {
  const s = d.result.scores,
    z = d.result.dimensions;
  const rows = [
    [
      'RankMe',
      short(s.rankme),
      `How many of the ${z} directions carry the embedding (exp of the entropy of its singular values). Low: dimensions are wasted. Compare it between embeddings of the same data.`,
    ],
    [
      'Effective rank',
      short(s.effective_rank),
      'The same for the variances about the mean: stricter, since squares count.',
    ],
    [
      'Uniformity',
      s.uniformity === null ? '–' : s.uniformity.toFixed(3).replace('-', '−'),
      'log mean exp(−2 |u − v|²) of pairs on the unit sphere: 0 is all points in one place, −4 spread evenly in many dimensions.',
    ],
    ['Dead dimensions', count(s.dead_dimensions), 'Columns that are the same for all points.'],
  ];
  if (d.result.neighbours_kept !== undefined)
    rows.push([
      'Neighbours kept',
      percent(d.result.neighbours_kept),
      'Share of the nearest in the data that are among the nearest in the embedding. A good embedding need not keep them: it may have found better ones.',
    ]);
  return el(
    'section',
    { id: 'scores' },
    el('h2', null, 'Scores without labels'),
    el('p', null, `${s.collapse[0].toUpperCase()}${s.collapse.slice(1)}.`),
    table(['score', 'value', 'what it means'], rows),
  );
}

export function probes(d) {
  const list = d.result.probes;
  if (!list.length) return null;
  const raw = list.some((p) => p.raw !== undefined);
  const rows = list.map((p) => [
    p.probe,
    percent(p.accuracy),
    ...(raw ? [percent(p.raw), points(p.accuracy - p.raw)] : []),
  ]);
  return el(
    'section',
    { id: 'probes' },
    el('h2', null, 'Probes'),
    el(
      'p',
      null,
      `Accuracy of simple classifiers made from ${count(list[0].train_points)} points, on ${count(list[0].test_points)} others, in the embedding${raw ? ' and in the data as they are; the gain is in points' : ''}.`,
    ),
    table(['probe', 'embedding', ...(raw ? ['raw data', 'gain'] : [])], rows),
  );
}

// Share of the variance in each direction, on a log axis, and how much the first Z of them hold.
export function spectrum(d) {
  const all = d.spectrum,
    sum = all.reduce((a, b) => a + b, 0),
    z = all.length;
  if (!(sum > 0)) return null;
  // as wide as it will be, so that its words keep their size on a phone
  const W = Math.min(640, Math.max(320, document.documentElement.clientWidth - 30)),
    H = 260,
    LEFT = 64,
    BOTTOM = 36;
  const share = all.map((v) => v / sum);
  const low = Math.max(-12, Math.floor(Math.log10(Math.max(Math.min(...share.filter((s) => s > 0)), 1e-12))));
  const px = (i) => LEFT + ((W - LEFT - 12) * (i - 1)) / Math.max(z - 1, 1);
  const py = (s) => 10 + ((H - BOTTOM - 10) * Math.log10(Math.max(s, 10 ** low))) / low;
  const svg = (tag, attributes, ...children) => {
    const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    e.append(...children);
    return e;
  };
  const rule = svg('line', { y1: 10, y2: H - BOTTOM, stroke: 'var(--c1)', 'stroke-width': 2 });
  const every = Math.ceil(-low / 5);
  const lines = Array.from({ length: Math.floor(-low / every) + 1 }, (_, k) => -k * every).flatMap((e) => [
    svg('line', { x1: LEFT, x2: W - 12, y1: py(10 ** e), y2: py(10 ** e), stroke: 'var(--line)' }),
    svg('text', { x: LEFT - 8, y: py(10 ** e) + 4, 'text-anchor': 'end' }, percentPower(e)),
  ]);
  const marks = share.map((s, i) =>
    svg('circle', { cx: px(i + 1), cy: py(s), r: z > 100 ? 1.5 : 3, fill: 'var(--c0)' }),
  );
  const picture = svg(
    'svg',
    {
      viewBox: `0 0 ${W} ${H}`,
      role: 'img',
      'aria-label': 'Share of the variance in each principal direction, falling',
    },
    ...lines,
    rule,
    ...marks,
    svg('text', { x: LEFT, y: H - 18, 'text-anchor': 'middle' }, '1'),
    svg('text', { x: W - 12, y: H - 18, 'text-anchor': 'end' }, String(z)),
    svg('text', { x: (LEFT + W) / 2, y: H - 4, 'text-anchor': 'middle' }, 'principal direction'),
  );
  const words = el('p', { role: 'status' });
  const slider = el('input', { type: 'range', min: 1, max: z, id: 'chosen-z', 'aria-label': 'Z: directions kept' });
  const update = () => {
    const chosen = Number(slider.value);
    const held = share.slice(0, chosen).reduce((a, b) => a + b, 0);
    for (const name of ['x1', 'x2']) rule.setAttribute(name, px(chosen));
    words.textContent = `Z = ${chosen}: the first ${chosen} of ${z} directions hold ${percent(held)} of the variance${chosen < z ? `, the next one ${percent(share[chosen])}` : ''}.`;
  };
  slider.addEventListener('input', update);
  slider.value = Math.min(z, Math.max(1, Math.ceil(d.result.scores.effective_rank)));
  update();
  return el(
    'section',
    { id: 'spectrum', class: 'spectrum' },
    el('h2', null, 'Spectrum'),
    el(
      'p',
      null,
      'Share of the variance in each principal direction. Where it breaks off, further outputs carry little; the line starts at the effective rank.',
    ),
    picture,
    slider,
    words,
  );
}
export const percentPower = (e) => (e >= -2 ? `${100 * 10 ** e} %` : `${(100 * 10 ** e).toFixed(-e - 2)} %`);

export function dense(d, explorer) {
  const { points } = explorer;
  return el(
    'section',
    { id: 'dense' },
    el('h2', null, 'Dense places'),
    el(
      'p',
      null,
      'Of each cluster the point whose neighbours are nearest, and these neighbours: what is typical here.',
    ),
    el(
      'ul',
      { class: 'cards' },
      d.dense.map((c) =>
        el(
          'li',
          null,
          el('strong', null, `Cluster ${c.cluster}`),
          ` · ${count(c.size)} points${c.label === undefined ? '' : ` · ${percent(c.share)} label ${c.label}`}`,
          explorer.item(c.row),
          points.sheet
            ? el(
                'div',
                { class: 'strip' },
                points
                  .near('near', c.row)
                  .slice(0, 6)
                  .map((i) => points.thumb(i)),
              )
            : null,
        ),
      ),
    ),
  );
}

export function doubts(d, explorer) {
  const total = d.result.doubtful_labels;
  if (total === undefined) return null;
  const FEW = 24,
    { k } = explorer.points;
  const card = (s) =>
    el(
      'li',
      null,
      explorer.item(s.row),
      el(
        'span',
        null,
        `${s.other} of ${k} nearest are `,
        el('b', { class: 'other' }, s.label),
        s.raw === undefined ? '' : `, ${s.raw} in the data`,
      ),
    );
  const list = el('ul', { class: 'cards' }, d.doubts.slice(0, FEW).map(card));
  const more = button(`Show ${count(d.doubts.length - FEW)} more`, null, () => {
    list.append(...d.doubts.slice(FEW).map(card));
    more.remove();
  });
  return el(
    'section',
    { id: 'doubts' },
    el('h2', null, 'Doubtful labels'),
    el(
      'p',
      null,
      total
        ? `${count(total)} points have a label that most of their nearest in the embedding contradict; the clearest first. The label may be wrong, or the point hard.`
        : 'No label is contradicted by most of its nearest in the embedding.',
    ),
    list,
    d.doubts.length > FEW ? el('p', null, more) : null,
  );
}

export function repeat(d) {
  const status = el('span', { role: 'status' });
  return el(
    'section',
    { id: 'repeat' },
    el('h2', null, 'Repeat it'),
    el(
      'div',
      { class: 'command' },
      el('pre', { tabindex: 0 }, el('code', { id: 'command-line' }, d.command)),
      button('Copy', 'Copy the command', () => copy(d.command, status)),
      status,
    ),
    el(
      'p',
      null,
      button('Download result.json', null, () =>
        save('result.json', 'application/json', JSON.stringify(d.result, null, 2)),
      ),
    ),
    el('p', { class: 'hint' }, `eigenpair ${d.version}`),
  );
}
