// The document of `eigenpair explore` in the page -> maps, neighbours, scores. Text enters as text, never as HTML.
import { probe } from './colours.js';
import { choice, el } from './dom.js';
import { Explorer } from './explorer.js';
import { Points, bytesOf, unpack } from './points.js';
import { dense, doubts, probes, repeat, scores, spectrum } from './sections.js';
import { count, percent, short } from './words.js';

// What the embedding is worth, in a sentence; then its size.
function lead(r) {
  const best = r.probes.reduce((a, p) => (!a || p.accuracy > a.accuracy ? p : a), null);
  const low = r.scores.effective_rank < 0.1 * r.dimensions;
  const how = best && { linear: 'A linear probe', knn: 'Its nearest neighbours', svm: 'A linear SVM' }[best.probe];
  const words = [];
  if (best) {
    const gain = best.raw === undefined ? null : 100 * (best.accuracy - best.raw);
    const than =
      gain === null
        ? ''
        : Math.abs(gain) < 1
          ? `, no more than in the raw data (${percent(best.raw)})`
          : `, ${Math.abs(gain).toFixed(1)} points ${gain > 0 ? 'more' : 'less'} than in the raw data (${percent(best.raw)})`;
    words.push(`${how || `The probe ${best.probe}`} get${best.probe === 'knn' ? '' : 's'} ${percent(best.accuracy)} of the labels right${than}.`);
  }
  words.push(
    low
      ? `It has nearly collapsed: the points differ in ${short(r.scores.effective_rank)} of ${count(r.dimensions)} directions.`
      : `It has not collapsed: the points differ in ${short(r.scores.effective_rank)} of ${count(r.dimensions)} directions.`,
  );
  if (r.doubtful_labels)
    words.push(`${count(r.doubtful_labels)} of ${count(r.points)} labels are contradicted by most of their neighbours.`);
  return words.join(' ');
}

async function start() {
  const d = JSON.parse(document.getElementById('document').textContent);
  document.body.append(probe);
  const sheet = d.pictures
    ? await createImageBitmap(new Blob([bytesOf(d.pictures.png)], { type: 'image/png' }))
    : null;
  const explorer = new Explorer(new Points(d, await unpack(d.numbers), sheet));
  const r = d.result;
  document.title = `${r.embedding} – eigenpair`;
  document.getElementById('theme').append(
    choice('Colours', 'theme', ['auto', 'light', 'dark'], 'auto', (name) => {
      document.documentElement.dataset.theme = name;
      explorer.recolour();
    }),
  );
  document
    .getElementById('main')
    .append(
      ...[
        el('h1', null, r.embedding),
        el('p', { class: 'lead' }, lead(r)),
        el('p', { class: 'size' }, `${count(r.points)} points in ${count(r.dimensions)} dimensions.`),
        explorer.section(),
        el('div', { class: 'two' }, ...[scores(d), el('div', null, ...[spectrum(d), probes(d)].filter(Boolean))]),
        dense(d, explorer),
        doubts(d, explorer),
        repeat(d),
      ].filter(Boolean),
    );
  explorer.start();
  document.body.dataset.ready = 'true';
}

start();
