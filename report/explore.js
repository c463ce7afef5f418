// The document of `eigenpair explore` in the page -> maps, neighbours, scores. Text enters as text, never as HTML.
import { probe } from './colours.js';
import { choice, el } from './dom.js';
import { Explorer } from './explorer.js';
import { Points, bytesOf, unpack } from './points.js';
import { dense, doubts, probes, repeat, scores, spectrum } from './sections.js';
import { count, percent, short } from './words.js';

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
  const best = r.probes.find((p) => p.probe === 'knn') || r.probes[0];
  document
    .getElementById('main')
    .append(
      ...[
        el('h1', null, r.embedding),
        el(
          'p',
          { class: 'lead' },
          `${count(r.points)} points in ${count(r.dimensions)} dimensions, effective rank ${short(r.scores.effective_rank)}${best ? `, ${best.probe} probe ${percent(best.accuracy)}${best.raw === undefined ? '' : ` (raw data ${percent(best.raw)})`}` : ''}${r.doubtful_labels ? `, ${count(r.doubtful_labels)} doubtful labels` : ''}.`,
        ),
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
