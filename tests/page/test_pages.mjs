// Every page that the program writes, from the program itself, in headless Chromium: at the width of a screen and of a
// phone, in light and in dark, without a complaint, a body that scrolls sideways, or a cell that is cut.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { close, drawn, opened } from './browser.mjs';

const folder = mkdtempSync(join(tmpdir(), 'ep_pages_'));
const small = ['--threads', '1'];
const pages = {
  compare: [
    ['compare', '--data', 'digits', '--samples', '60', '--widths', '20,40', '--runs', '2', '--epochs', '20'],
    ['--outputs', '4', '--test-samples', '100', '--out', 'compare'],
  ],
  dynamics: [
    ['dynamics', '--data', 'moons', '--outputs', '2', '--time', '30', '--times', '1,10', '--compare'],
    ['--constraint', 'none', '--report', 'dynamics'],
  ],
  optima: [['optima', '--data', 'summation:4,400,0.2', '--starts', '30', '--report', 'optima']],
  nodes: [['optima', '--data', 'summation:4,400,0.2', '--nodes', '3', '--starts', '10', '--report', 'nodes']],
  views: [['views', '--data', 'moons', '--samples', '300', '--augment', 'noise:0.1', '--augment', 'noise:0.5', '--report', 'views']],
  learnability: [
    ['learnability', '--data', 'digits', '--samples', '80', '--trains', '10,20,40,300', '--measure', '3'],
    ['--report', 'learnability'],
  ],
  reproduce: [['reproduce', 'linear-fig1', 'tangent-nofreelunch', '--quick', '--out', 'reproduce']],
};

after(async () => {
  await close();
  rmSync(folder, { recursive: true });
});

// the page draws by itself; the drawings in files are left out, for no node is found
const run = (...words) =>
  execFileSync(process.env.EIGENPAIR, words, {
    cwd: folder,
    env: { ...process.env, PATH: '/none' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });

// Cells whose words are wider than they are, and words of figures that leave the figure.
const cut = () => [
  ...[...document.querySelectorAll('main th, main td, main dd, main h3, main p')]
    .filter((e) => getComputedStyle(e.closest('thead') || e).position !== 'absolute') // said by each cell itself
    .filter((e) => e.getClientRects().length && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline')
    .map((e) => `cell: ${e.textContent.slice(0, 60)}`),
  ...[...document.querySelectorAll('main .scroll')]
    .filter((e) => e.getClientRects().length && e.scrollWidth > e.clientWidth + 1)
    .map((e) => `table: ${e.getAttribute('aria-label')} ${e.scrollWidth} > ${e.clientWidth}`),
  ...[...document.querySelectorAll('.canvas')].flatMap((c) =>
    [...c.querySelectorAll('svg text')]
      .filter((t) => {
        const a = t.getBoundingClientRect(),
          b = c.getBoundingClientRect();
        return a.width > 0 && (a.right > b.right + 1 || a.left < b.left - 1);
      })
      .map((t) => `figure: ${t.textContent}`),
  ),
];

// Pairs of words of a figure that stand on each other; a word and its own ground are one.
const overlapping = () =>
  [...document.querySelectorAll('.canvas')].flatMap((c) => {
    const words = [...c.querySelectorAll('svg text')]
      .filter((t) => t.textContent.trim())
      .map((t) => ({ text: t.textContent, box: t.getBoundingClientRect() }));
    const over = (a, b) =>
      Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
    const own = (a, b) => a.text === b.text && Math.abs(a.box.left - b.box.left) < 1;
    return words.flatMap((a, i) =>
      words
        .slice(i + 1)
        .filter((b) => !own(a, b) && over(a.box, b.box))
        .map((b) => `${c.closest('figure').id}: ${a.text} / ${b.text}`),
    );
  });

// A page of its own for a test that changes it, and one for tests in a row that only look.
const at = (name, width) => ({ url: pathToFileURL(join(folder, name, 'report.html')).href, width, ready: drawn });
const read = (name, use, width = 1400) => opened(use, { ...at(name, width), keep: true });

// Left as it was: all that follows at the same width may read on.
const look = (name, width) =>
  read(
    name,
    async (page) => {
      const folded = page.locator('main details.folded > summary');
      for (const closed of await folded.all()) await closed.click();
      for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme });
        const [content, view] = await page.evaluate(() => [
          document.documentElement.scrollWidth,
          document.documentElement.clientWidth,
        ]);
        assert.ok(content <= view, `the body scrolls: ${content} > ${view}`);
        assert.deepEqual(await page.evaluate(cut), []);
        assert.deepEqual(await page.evaluate(overlapping), [], String(width));
        const ground = await page.evaluate(() =>
          getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number),
        );
        assert.equal(ground[0] < 128, colorScheme === 'dark');
        if (process.env.EP_SHOTS)
          await page.screenshot({ path: join(process.env.EP_SHOTS, `${name.replace('/', '-')}-${width}-${colorScheme}.png`), fullPage: true });
      }
      for (const open of await folded.all()) await open.click();
      await page.emulateMedia({ colorScheme: 'light' });
    },
    width,
  );

// The page of a command, and those beside it; last itself, at the width of a screen, for the tests below.
const looked = (name, ...beside) =>
  test(`${name}: nothing is cut, nothing complains`, async () => {
    run(...pages[name].flat(), ...small);
    for (const page of [...beside, name]) for (const width of [390, 1400]) await look(page, width);
  });

looked('compare');

test('compare: the first line, the three questions, one dot a method', () =>
  read('compare', async (page) => {
    assert.match(await page.locator('.headline p').innerText(), /^Use .*: [\d.]+ % \(training/);
    assert.match(await page.locator('#headline-command').innerText(), /^eigenpair fit --method /);
    assert.equal(await page.locator('.verdict article').count(), 3);
    const rows = await page.locator('main table').first().locator('tbody tr').count();
    await page.waitForFunction(() => document.querySelector('#figure-quality .canvas svg'));
    const names = await page.locator('#figure-quality svg text').allTextContents();
    const methods = await page.locator('main table').first().locator('tbody th').allTextContents();
    assert.equal(methods.length, rows);
    for (const m of methods) assert.ok(names.includes(m), m); // raw inputs as a rule
    assert.equal(await page.locator('#figure-quality .mark-symbol.role-mark path').count(), rows - 1);
    const astray = (all) => all.map((a) => a.getAttribute('href')).filter((to) => !document.querySelector(to));
    assert.deepEqual(await page.locator('main a.term').evaluateAll(astray), []);
    // every method is explained where it stands
    assert.equal(await page.locator('main table').first().locator('tbody th a.term').count(), rows);
    assert.match(names.join(' '), /\d %/); // the axis says percent
    // an answer is said once: by its badge
    for (const words of await page.locator('.verdict article p').allInnerTexts())
      assert.doesNotMatch(words, /(yes|no|no answer)\s+(yes|no|no answer)[:,]/i);
    const cells = await page.locator('main table').first().locator('tbody td').allInnerTexts();
    assert.ok(cells.some((c) => /^[\d.]+ MiB$/.test(c)) && cells.some((c) => /^[\d.]+ %$/.test(c)) && cells.includes('∞'), `${cells}`);
    const text = await page.locator('main').innerText();
    assert.doesNotMatch(text, /\|_F|width\^|\d+e[-+]\d|[\s(]-\d/); // signs and exponents are typeset
    assert.equal(await page.locator('#repeat dd').getByText(/GiB$/).count(), 1);
  }));

test('compare: a point that is pointed at shows its picture', () =>
  read('compare', async (page) => {
    const dot = page.locator('#figure-embedding .mark-symbol.role-mark path').first();
    await dot.scrollIntoViewIfNeeded();
    await dot.hover({ force: true });
    const inked = () => {
      const shown = '.tip:not([hidden]) canvas.thumbnail';
      if (document.querySelector(shown)?.width !== 28) return false;
      return window.pixels(shown).some((v) => [0, 8, 16].some((b) => ((v >> b) & 255) > 128));
    };
    await page.waitForFunction(inked, null, { timeout: 10000 });
    assert.doesNotMatch(await page.locator('.tip').innerText(), /picture/);
    await page.mouse.move(0, 0);
    await page.locator('.tip').waitFor({ state: 'hidden' });
  }));

test('compare: words of the theory lead to the glossary', () =>
  read('compare', async (page) => {
    const table = page.locator('.table', { has: page.getByRole('heading', { name: 'What the theory asks' }) });
    for (const term of ['frozen kernel', 'of its length', 'C(0)']) {
      const link = table.locator('a.term', { hasText: term }).first();
      const target = await link.getAttribute('href');
      assert.equal(await page.locator(`[id="${target.slice(1)}"] dt`).textContent(), term);
    }
  }));

test('compare: on a phone a cell says its unit, and says nothing where there is nothing', () =>
  read('compare', async (page) => {
    const cells = page.locator('main table').first().locator('tbody td');
    const labels = await cells.evaluateAll((all) => all.map((c) => c.dataset.label));
    assert.ok(labels.includes('time (s)'), `${labels}`);
    const nothing = await cells.evaluateAll((all) =>
      all.filter((c) => c.textContent === '–').map((c) => c.checkVisibility() && c.getBoundingClientRect().height > 0),
    );
    assert.ok(nothing.length && !nothing.includes(true), `${nothing}`);
    // what a cell is called breaks between words, not within
    assert.equal(await cells.first().evaluate((c) => getComputedStyle(c, '::before').overflowWrap), 'break-word');
  }, 390));

looked('dynamics');

test('dynamics: the first sentence answers, times are dense, a descent that diverges is said and does not spoil the axis', () =>
  read('dynamics', async (page) => {
    assert.match(await page.locator('.headline p').innerText(), /^It has settled: at time 30 .* by time [\d.]+\./);
    assert.match(await page.locator('.verdict').innerText(), /✕ no With the constraint none it diverges/);
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Numbers of Loss over time as CSV' }).click();
    const lines = readFileSync(await (await saved).path(), 'utf8').trim().split('\n').map((l) => l.split(','));
    assert.ok(lines.filter((l) => l[0] === 'equation').length > 50); // though --times says two
    const losses = lines.filter((l) => l[0] === 'descent' && l[3] !== '').map((l) => Math.abs(Number(l[3])));
    assert.ok(losses.length > 5 && Math.max(...losses) < 10, `${losses}`);
  }));

test('dynamics: a rule ends where its axis does, not among the names of lines', () =>
  read('dynamics', async (page) => {
    await page.waitForFunction(() => document.querySelector('.canvas svg .mark-rule.role-mark line'));
    const [rule, grid] = await page.evaluate(() => {
      const svg = document.querySelector('.canvas svg .mark-rule.role-mark line').closest('svg');
      const right = (of) => Math.max(...[...svg.querySelectorAll(of)].map((e) => e.getBoundingClientRect().right));
      return [right('.mark-rule.role-mark line'), right('.role-axis-grid line')];
    });
    assert.ok(rule <= grid + 1, `${rule} > ${grid}`);
  }));

looked('optima');

test('optima: no table without rows, names of few dots', () =>
  read('optima', async (page) => {
    for (const summary of await page.locator('main details.folded > summary').all()) await summary.click();
    for (const table of await page.locator('main table').all()) assert.ok(await table.locator('tbody tr').count());
    await page.waitForFunction(() => document.querySelector('#figure-gap .canvas svg'));
    const named = (await page.locator('#figure-gap svg text').allTextContents()).filter((t) => t.startsWith('optimum '));
    assert.ok(named.length > 0 && named.length <= 16, `${named}`);
    assert.match(await page.locator('.headline p').innerText(), /^\d+ optim(a|um): \d+ of 30 starts end there, and Theorem 1/);
    // the line gap = roughness; basins have their names in the map, which is as wide as high
    assert.ok((await page.locator('#figure-gap svg text').allTextContents()).includes('gap = roughness'));
    const over = await page.evaluate(() => {
      const all = [...document.querySelectorAll('#figure-gap .mark-text.role-mark text')],
        box = (e) => e.getBoundingClientRect(),
        line = box(all.find((t) => t.textContent === 'gap = roughness'));
      const touches = (a) =>
        Math.min(a.right, line.right) - Math.max(a.left, line.left) > 1 && Math.min(a.bottom, line.bottom) - Math.max(a.top, line.top) > 4;
      return all.filter((t) => t.textContent !== 'gap = roughness' && touches(box(t))).map((t) => t.textContent);
    });
    assert.deepEqual(over, []); // the name of the line is clear of those of dots
    await page.waitForFunction(() => document.querySelector('#figure-map .canvas svg'));
    const basins = await page.locator('#figure-map .mark-text.role-mark text').allTextContents();
    assert.ok(basins.some((t) => /^optimum \d/.test(t)), `${basins}`);
    const [wide, high] = await page.evaluate(() => {
      const all = [...document.querySelectorAll('#figure-map .mark-symbol.role-mark path')].map((e) => e.getBoundingClientRect());
      const range = (a, b) => Math.max(...all.map((r) => r[b])) - Math.min(...all.map((r) => r[a]));
      return [range('left', 'right'), range('top', 'bottom')];
    });
    assert.ok(Math.abs(wide / high - 1) < 0.1, `${wide} x ${high}`);
  }));

looked('nodes');
looked('views');

looked('learnability');

test('learnability: accuracy in percent, and n beyond the data where the prediction ends', () =>
  read('learnability', async (page) => {
    assert.match(await page.locator('.headline p').innerText(), /^From 40 points .* from 300 \(/);
    await page.waitForFunction(() => document.querySelector('#figure-accuracy .canvas svg'));
    assert.match((await page.locator('#figure-accuracy svg text').allTextContents()).join(' '), /\d+ %/);
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Numbers of Test error against training points as CSV' }).click();
    const lines = readFileSync(await (await saved).path(), 'utf8').trim().split('\n').map((l) => l.split(','));
    const of = (name) => lines.filter((l) => l[0] === name);
    assert.deepEqual(of('beyond the data').map((l) => Number(l[2])), [40, 300]);
    assert.equal(of('beyond the data')[0][3], of('predicted').at(-1)[3]);
  }));

looked('reproduce', 'reproduce/linear', 'reproduce/tangent');

test('reproduce: a card a claim, with its figure and a link that leads there', () =>
  read('reproduce', async (page) => {
    assert.equal(await page.locator('.claims article').count(), 2);
    // cards first, the table of numbers folded below them; in a card no legend, but names; no link that leads nowhere
    const order = await page.evaluate(() => document.querySelector('.claims').compareDocumentPosition(document.querySelector('main table')));
    assert.equal(order, 4);
    assert.ok(await page.locator('details.folded').filter({ hasText: 'Claims and what was measured' }).count());
    await page.waitForFunction(() => document.querySelectorAll('.claims svg').length === 2);
    assert.equal(await page.locator('.claims .mark-symbol.role-legend-symbol').count(), 0);
    assert.ok((await page.locator('.claims svg text').allTextContents()).includes('no constraint'));
    assert.equal(await page.locator('.claims .role-axis-title text[transform*="rotate(-90"]').count(), 0); // they were cut
    for (const href of await page.locator('main a[href*=".html"]').evaluateAll((all) => all.map((a) => a.getAttribute('href'))))
      assert.ok(existsSync(join(folder, 'reproduce', href.split('#')[0])), href);
    const link = page.locator('.claims article a').first();
    const id = await link.innerText();
    await link.click();
    await page.waitForURL(/report\.html#/);
    assert.ok(await page.locator(`#${id}`).count());
  }));

// ---- figures whose words are hard to place, in one page

const dots = () => {
  const places = { pca: [0.008, 0.631], iterate: [0.06, 0.631], infinite: [0.04, 0.702], 'PCA of inputs': [0.05, 0.722] };
  Object.assign(places, { whitened: [2.1, 0.589], grassmann: [0.1, 0.531], gd: [0.063, 0.446], kernel: [0.37, 0.439], 'kernel, analytic': [0.02, 0.433] });
  return {
    name: 'dots', kind: 'scatter', title: 'Dots', alt: 'Dots with names.',
    x: { title: 'seconds', log: true }, y: { title: 'accuracy', percent: true },
    series: Object.entries(places).map(([name, [x, y]]) => ({ name, x: [x], y: [y] })),
    rules: [{ axis: 'y', value: 0.735, text: 'raw inputs' }],
  };
};
// more names than there is room for, and ticks that are near each other
const crowd = (name, [low, high]) => ({
  name, kind: 'scatter', title: name, alt: name,
  x: { title: 'seconds', log: true }, y: { title: 'accuracy', percent: true },
  series: Array.from({ length: 14 }, (_, i) => ({ name: `kernel, analytic, ${i}`, x: [low * (high / low) ** ((i % 3) / 2)], y: [i === 13 ? 0.9 : 0.5 + 0.001 * (i % 5)] })),
});
const drift = () => {
  const x = [50, 100, 200],
    lines = { 'infinite width': [0.25, 0.2, 0.14], 'tangent kernel': [0.17, 0.09, 0.05], 'PCA of C': [0.05, 0.023, 0.008], C: [0.1, 0.04, 0.022] };
  return {
    name: 'drift', kind: 'line', title: 'Drift', alt: 'Lines with names.',
    x: { title: 'width', log: true }, y: { title: 'difference', log: true },
    series: [
      ...Object.entries(lines).map(([name, y]) => ({ name, x, y })),
      { name: 'slope -1/2', x, y: [0.25, 0.177, 0.125], dashed: true },
    ],
    rules: [{ axis: 'y', value: 0.1, text: 'tolerance' }],
  };
};
const clouds = (name, spread) => {
  const label = Array.from({ length: 90 }, (_, i) => i % 3),
    turn = label.map((k, i) => [Math.cos(2.1 * k) + spread * Math.sin(7 * i), Math.sin(2.1 * k) + spread * Math.cos(11 * i)]);
  return {
    name, kind: 'scatter', title: name, alt: name, x: { title: 'first' }, y: { title: 'second' },
    classes: ['cat', 'dog', 'eel'].map((called, k) => ({ label: k, name: called })),
    series: [{ name: 'points', x: turn.map((t) => t[0]), y: turn.map((t) => t[1]), label }],
  };
};

for (const width of [390, 1400]) {
  test(`${width} pixels: the words of a rule keep clear of the names of lines that end near it`, async () => {
    const figures = [dots(), drift(), clouds('apart', 0.2), clouds('mixed', 3)];
    figures.push(crowd('crowd', [0.01, 0.0101]), crowd('near', [0.0046, 0.0119]), crowd('far', [0.0046, 0.46]));
    writeFileSync(join(folder, 'hard.json'), JSON.stringify({ title: 'Hard', sections: [{ title: 'Hard', figures }], result: {} }));
    run('report', 'hard.json', '--out', 'hard');
    await look('hard', width);
  });

  test(`${width} pixels: of a crowd of dots as many have names as there is room for`, () =>
    read(
      'hard',
      async (page) => {
        for (const name of ['crowd', 'near', 'far']) {
          const words = await page.locator(`#figure-${name} svg text`).allTextContents();
          const named = words.filter((t) => t.startsWith('kernel, analytic')).length;
          assert.ok(named >= (width > 1000 ? 12 : 7), `${name}: ${named}`);
        }
      },
      width,
    ));

  test(`${width} pixels: names of dots touch neither dots nor names nor the rule`, () =>
    read(
      'hard',
      async (page) => {
        const touching = await page.evaluate(() => {
          const box = (e) => e.getBoundingClientRect(),
            all = (what) => [...document.querySelectorAll(`#figure-dots ${what}`)];
          const names = all('.mark-text.role-mark text').filter((t) => t.textContent !== 'raw inputs');
          const over = (a, b) =>
            Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
          return names.flatMap((n, i) =>
            [...all('.mark-symbol.role-mark path'), ...names.slice(0, i)].filter((o) => over(box(n), box(o))).map((o) => `${n.textContent} ${o.textContent || 'dot'}`),
          );
        });
        assert.deepEqual(touching, []);
      },
      width,
    ));

  test(`${width} pixels: clouds of classes have their names in them, classes that mix a legend`, () =>
    read(
      'hard',
      async (page) => {
        const words = (name, role) => page.locator(`#figure-${name} svg ${role} text`).allTextContents();
        assert.deepEqual(new Set(await words('apart', '.mark-text.role-mark')), new Set(['cat', 'dog', 'eel']));
        assert.deepEqual(await words('apart', '.role-legend'), []);
        assert.deepEqual(await words('mixed', '.mark-text.role-mark'), []);
        assert.deepEqual(await words('mixed', '.role-legend-label'), ['cat', 'dog', 'eel']);
      },
      width,
    ));
}
