// The report page in headless Chromium, opened from its file as a reader does. EIGENPAIR: the program; EP_NODE_MODULES:
// where playwright-core is.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { close, drawn, opened as openedAt } from './browser.mjs';

const folder = mkdtempSync(join(tmpdir(), 'ep_page_'));
const here = fileURLToPath(new URL('.', import.meta.url));
const sample = JSON.parse(readFileSync(join(here, 'sample.json'), 'utf8'));
const figures = sample.sections.flatMap((s) => s.figures || []);

function report(name, document) {
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(document));
  // the page draws by itself; the drawings in files are left out, for no node is found
  execFileSync(process.env.EIGENPAIR, ['report', `${name}.json`, '--out', name], {
    cwd: folder,
    env: { ...process.env, PATH: '/none' },
  });
  return pathToFileURL(join(folder, name, 'report.html')).href;
}

before(() => {
  report('sample', sample);
});
after(async () => {
  await close();
  rmSync(folder, { recursive: true });
});

// A page of its own for a test that changes it.
const url = pathToFileURL(join(folder, 'sample/report.html')).href;
const opened = (use, options = {}) => openedAt(use, { url, width: 1200, ready: drawn, ...options });

// One page for all tests in a row that only look.
const looking = (use, options = {}) => opened(use, { ...options, keep: true });

// Points that are drawn: those of the layer of symbols.
const points = (page, name) => page.locator(`#figure-${name} .canvas svg .mark-symbol.role-mark path`).count();
const style = (locator, name) => locator.evaluate((e, n) => getComputedStyle(e)[n], name);
const savedBy = async (page, button) =>
  (
    await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: button, exact: true }).click(),
    ])
  )[0];
const textOf = async (download) => readFileSync(await download.path(), 'utf8');

// Rows below the head: series, panel, numbers; null where nothing stands.
function readCsv(text) {
  const cells = (line) =>
    [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
      ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain,
    );
  const [head, ...lines] = text.trimEnd().split('\n');
  assert.equal(head, 'series,panel,x,y,low,high,label');
  return lines
    .map(cells)
    .map(([series, panel, ...n]) => [series, panel, ...n.map((v) => (v === '' ? null : Number(v)))]);
}

// ---- colours

const channels = (css) =>
  css
    .match(/[\d.]+/g)
    .slice(0, 3)
    .map((v) => v / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
const luminance = (css) => channels(css).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}
const times = (m, v) => m.map((row) => row.reduce((sum, x, i) => sum + x * v[i], 0));
// linear RGB as the colour-blind see it (Machado, Oliveira, Fernandes 2009, severity 1)
const SEEN = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
function lab(rgb) {
  const xyz = times(
    [
      [0.4124, 0.3576, 0.1805],
      [0.2126, 0.7152, 0.0722],
      [0.0193, 0.1192, 0.9505],
    ],
    rgb.map((c) => Math.min(Math.max(c, 0), 1)),
  );
  const [x, y, z] = xyz
    .map((v, i) => v / [0.9505, 1, 1.089][i])
    .map((v) => (v > 0.008856 ? Math.cbrt(v) : 7.787 * v + 16 / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

// ---- what is shown

test('everything of the document is there, and nothing is asked of a network', () =>
  looking(async (page) => {
    assert.equal(await page.title(), sample.title);
    assert.equal(await page.locator('h1').innerText(), sample.title);
    assert.equal(await page.locator('html').getAttribute('lang'), 'en');
    for (const a of sample.verdict) {
      const card = page.locator('.verdict article', { hasText: a.question });
      assert.ok((await card.innerText()).includes(a.words));
      assert.match(await card.locator('.badge').innerText(), new RegExp(a.answer));
    }
    for (const s of sample.sections) assert.ok(await page.locator('main h2', { hasText: s.title }).count());
    const words = await page.locator('main').innerText();
    for (const [name, value] of Object.entries(sample.settings)) {
      assert.ok(words.includes(name), name);
      if (typeof value === 'string') assert.ok(words.includes(value), value);
    }
    assert.equal(await page.locator('#command-line').innerText(), sample.command);
    assert.ok(words.includes('<script>alert(1)</script> is text & stays text.'));
  }));

test('the verdict and the methods are on the first screen', () =>
  looking(async (page) => {
    for (const selector of ['.verdict', 'main table']) {
      const box = await page.locator(selector).first().boundingBox();
      assert.ok(box.y + box.height < 900, `${selector} ends at ${box.y + box.height}`);
    }
  }));

test('numbers of the table are those of result.json', () =>
  looking(async (page) => {
    const result = JSON.parse(readFileSync(join(folder, 'sample/result.json'), 'utf8'));
    const rows = await page
      .locator('main table')
      .first()
      .locator('tbody tr')
      .evaluateAll((all) =>
        all.map((r) => [...r.children].map((c) => ({ text: c.innerText, value: c.dataset.value }))),
      );
    assert.equal(rows.length, result.methods.length);
    result.methods.forEach((m, i) => {
      assert.equal(rows[i][0].text, m.name);
      assert.deepEqual(
        rows[i].slice(1, 4).map((c) => Number(c.value)),
        [m.accuracy, m.seconds, m.bytes],
      );
      assert.ok(Math.abs(parseFloat(rows[i][1].text) / 100 - m.accuracy) <= 0.0005 + 1e-12, rows[i][1].text); // .1%
      assert.ok(Math.abs(Number(rows[i][2].text) / m.seconds - 1) <= 0.005, rows[i][2].text); // .3~r
      assert.equal(rows[i][3].text, `${(m.bytes / 1048576).toFixed(1)} MiB`);
    });
  }));

test('every figure is drawn: a symbol a point, axes, dashes, bars, rules', () =>
  looking(async (page) => {
    for (const f of figures) {
      const first = f.series[0].panel;
      const solid = f.series.filter((s) => s.panel === first && !s.dashed);
      const shown = solid.flatMap((s) => s.y.filter((y) => y !== null && (!f.y.log || y > 0))).length;
      assert.equal(await points(page, f.name), shown, f.name);
      const words = await page.locator(`#figure-${f.name} svg text`).allTextContents();
      for (const t of [f.x.title, f.y.title, ...f.rules.map((r) => r.text)])
        assert.ok(words.includes(t), `${f.name}: ${t}`);
    }
    const drift = page.locator('#figure-drift svg');
    assert.ok(await drift.locator('.mark-line path[stroke-dasharray]').count());
    const bars = await drift.locator('.mark-rule.role-mark line:not([stroke-dasharray])').count();
    assert.equal(bars, 10); // two series of five
    const ticks = await drift.locator('.role-axis-label text').allTextContents();
    assert.deepEqual(ticks.slice(0, 3), ['100', '1,000', '10,000']);
  }));

test('places on a log axis are right', () =>
  looking(async (page) => {
    const f = figures.find((g) => g.name === 'drift');
    const at = await page.locator('#figure-drift svg .mark-symbol.role-mark path').evaluateAll((all) =>
      all.map((e) => {
        const [, x, y] = /translate\(([-\d.]+),\s*([-\d.]+)\)/.exec(e.getAttribute('transform'));
        return [Number(x), Number(y)];
      }),
    );
    // place = a log(value) + b through the first and the last point; all others must lie on it
    const value = f.series
      .filter((s) => !s.dashed)
      .flatMap((s) => s.y.map((y, i) => [Math.log(s.x[i]), Math.log(y)]));
    for (const axis of [0, 1]) {
      const last = value.length - 1;
      const slope = (at[last][axis] - at[0][axis]) / (value[last][axis] - value[0][axis]);
      value.forEach((v, i) =>
        assert.ok(Math.abs(at[0][axis] + slope * (v[axis] - value[0][axis]) - at[i][axis]) < 0.01),
      );
      assert.ok(axis ? slope < 0 : slope > 0);
    }
  }));

test('every figure has its words, every heading its level', () =>
  looking(async (page) => {
    for (const f of figures) {
      const figure = page.locator(`#figure-${f.name}`);
      assert.equal(await figure.getByRole('img').first().getAttribute('aria-label'), f.alt);
      assert.equal(await figure.locator('figcaption').innerText(), f.alt);
    }
    const levels = await page.locator('h1, h2, h3').evaluateAll((all) => all.map((h) => Number(h.tagName[1])));
    assert.equal(levels.filter((l) => l === 1).length, 1);
    levels.forEach((l, i) => assert.ok(i === 0 ? l === 1 : l <= levels[i - 1] + 1));
    const ids = await page.locator('[id]').evaluateAll((all) => all.map((e) => e.id));
    assert.equal(new Set(ids).size, ids.length);
    for (const link of await page.locator('nav a').evaluateAll((all) => all.map((a) => a.hash)))
      assert.ok(ids.includes(decodeURIComponent(link.slice(1))), link);
  }));

test('the policy forbids what the page does not need', () =>
  looking(async (page) => {
    const policy = await page.locator('meta[http-equiv]').getAttribute('content');
    assert.match(policy, /default-src 'none'/);
    assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  }));

for (const scheme of ['light', 'dark']) {
  test(`${scheme}: words and colours can be told apart`, () =>
    looking(
      async (page) => {
        const ground = await style(page.locator('body'), 'backgroundColor');
        assert.equal(luminance(ground) < 0.2, scheme === 'dark');
        const words = ['h1', '.verdict p', '.badge.good', '.badge.bad', 'thead th', 'figcaption', 'nav a', '.facts dt', 'button'];
        const inks = await page.evaluate(
          (selectors) =>
            selectors.map((selector) => {
              const e = document.querySelector(selector);
              let x = e;
              while (/, 0\)$/.test(getComputedStyle(x).backgroundColor)) x = x.parentElement;
              return [selector, getComputedStyle(e).color, getComputedStyle(x).backgroundColor];
            }),
          [...words, 'footer p'],
        );
        for (const [selector, ink, own] of inks) {
          const ratio = contrast(ink, own);
          assert.ok(ratio >= 4.5, `${selector}: ${ratio.toFixed(2)}`);
        }
        const card = await style(page.locator('figure').first(), 'backgroundColor');
        const label = await style(page.locator('#figure-drift .role-axis-label text').first(), 'fill');
        assert.ok(contrast(label, card) >= 4.5);
        const palette = await page.evaluate(() =>
          Array.from({ length: 10 }, (_, i) => {
            const e = document.body.appendChild(document.createElement('i'));
            e.style.color = `var(--c${i})`;
            const c = getComputedStyle(e).color;
            e.remove();
            return c;
          }),
        );
        for (const c of palette) assert.ok(contrast(c, card) >= 2.2, c);
        for (const [who, matrix] of Object.entries(SEEN)) {
          const seen = palette.map((c) => lab(times(matrix, channels(c))));
          seen.forEach((a, i) =>
            seen
              .slice(0, i)
              .forEach((b, j) =>
                assert.ok(Math.hypot(...a.map((v, k) => v - b[k])) > 8, `${who}: colours ${i} and ${j}`),
              ),
          );
        }
      },
      { colorScheme: scheme },
    ));
}

test('on paper: light, without controls, with all words', () =>
  opened(
    async (page) => {
      await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
      assert.equal(luminance(await style(page.locator('body'), 'backgroundColor')), 1);
      for (const selector of ['button', 'nav', '#theme', '.tools', 'figure details'])
        assert.equal(await page.locator(selector).first().isVisible(), false, selector);
      assert.ok(await page.locator('figcaption').first().isVisible());
      assert.ok(await page.locator('#figure-embedding .choice').getByText('gd', { exact: true }).isVisible());
      assert.equal(
        await page.locator('#figure-embedding .choice').getByText('pca', { exact: true }).isVisible(),
        false,
      );
      const pdf = await page.pdf({ format: 'A4' });
      assert.ok(pdf.length > 20000);
    },
    { colorScheme: 'dark', keep: 'last' },
  ));

// ---- what can be done

test('CSV has the numbers of the figure', () =>
  looking(async (page) => {
    for (const f of figures) {
      const download = await savedBy(page, `Numbers of ${f.title} as CSV`);
      assert.equal(download.suggestedFilename(), `${f.name}.csv`);
      const want = f.series.flatMap((s) =>
        s.x.map((x, i) => [s.name, s.panel, x, ...['y', 'low', 'high', 'label'].map((c) => s[c]?.[i] ?? null)]),
      );
      assert.deepEqual(readCsv(await textOf(download)), want);
      assert.deepEqual(readCsv(readFileSync(join(folder, `sample/figures/${f.name}.csv`), 'utf8')), want); // the file, from C
    }
  }));

test('SVG stands alone, result.json is exact', () =>
  looking(async (page) => {
    const text = await textOf(await savedBy(page, `${figures[0].title} as SVG`));
    assert.ok(text.startsWith('<svg') && !text.includes('var(') && text.includes('tolerance'));
    assert.deepEqual(JSON.parse(await textOf(await savedBy(page, 'Download result.json'))), sample.result);
  }));

test('pointing at a point says its numbers', () =>
  looking(async (page) => {
    await page.locator('#figure-drift .mark-symbol.role-mark path').first().hover();
    const tip = page.locator('.tip');
    await tip.waitFor({ state: 'visible' });
    const s = figures[0].series[0],
      words = await tip.innerText();
    assert.ok(words.includes('tangent kernel') && words.includes(`width M ${s.x[0]}`));
    assert.ok(words.includes(s.y[0].toPrecision(4)), words);
    await page.mouse.move(2, 2);
    await tip.waitFor({ state: 'hidden' });
  }));

test('the command is copied', () =>
  looking(async (page) => {
    const context = page.context();
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy the command' }).click();
    await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), sample.command);
    await context.clearPermissions();
  }));

test('the panel switch works by mouse and by keyboard', () =>
  opened(async (page) => {
    const figure = page.locator('#figure-embedding'),
      canvas = figure.locator('.canvas');
    const drawing = () => canvas.locator('svg').innerHTML();
    const seen = new Set([await drawing()]);
    assert.equal(await canvas.getAttribute('data-panel'), 'gd');
    await figure.getByRole('radio', { name: 'kernel' }).click();
    await page.waitForFunction(
      () => document.querySelector('#figure-embedding .canvas').dataset.panel === 'kernel',
    );
    const another = async () => {
      while (seen.has(await drawing()) || (await points(page, 'embedding')) !== 300); // or the test's time is over
    };
    await another();
    seen.add(await drawing());
    await page.keyboard.press('ArrowRight');
    await another();
    assert.equal(await canvas.getAttribute('data-panel'), 'pca');
    assert.equal(await figure.locator('input:checked').getAttribute('value'), 'pca');
    seen.add(await drawing());
    assert.equal(seen.size, 3);
    assert.equal(await points(page, 'embedding'), 300);
    assert.equal(await canvas.locator('svg').count(), 1);
  }));

test('all controls are reached by the tab key, the skip link first, and show it', () =>
  opened(async (page) => {
    const reached = [];
    for (let i = 0; i < 60; i += 1) {
      await page.keyboard.press('Tab');
      const now = await page.evaluate(() => {
        const e = document.activeElement,
          s = getComputedStyle(e.type === 'radio' ? e.nextElementSibling : e);
        return e === document.body
          ? null
          : {
              what: e.getAttribute('aria-label') || e.innerText || `${e.name} ${e.value}`,
              outline: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2,
            };
      });
      if (!now) break;
      reached.push(now);
    }
    assert.equal(reached[0].what, 'Skip to the content');
    assert.deepEqual(
      reached.filter((r) => !r.outline),
      [],
    );
    const names = reached.map((r) => r.what);
    for (const f of figures) {
      for (const want of [`Numbers of ${f.title} as CSV`, `${f.title} as SVG`])
        assert.ok(names.includes(want), want);
    }
    for (const want of ['theme auto', 'panel-embedding gd', 'Copy the command', 'Download result.json'])
      assert.ok(names.includes(want), want);
  }));

test('numbers of a figure can be read in the page', () =>
  opened(async (page) => {
    const details = page.locator('#figure-embedding details');
    await details.locator('summary').click();
    await details.locator('table').waitFor();
    assert.equal(await details.locator('tbody tr').count(), 500);
    assert.match(await details.innerText(), /first 500 of 900/);
  }));

test('the reader chooses light or dark', () =>
  opened(async (page) => {
    const ground = () => style(page.locator('body'), 'backgroundColor').then(luminance);
    const line = () => style(page.locator('#figure-drift .mark-line path').first(), 'stroke');
    const before = await line();
    assert.ok((await ground()) > 0.8);
    await page.getByRole('radio', { name: 'dark' }).click();
    assert.ok((await ground()) < 0.1);
    assert.notEqual(await line(), before);
    await page.keyboard.press('ArrowLeft');
    assert.ok((await ground()) > 0.8);
  }));

// ---- everywhere

for (const width of [320, 375, 768, 1600]) {
  test(`nothing overflows at ${width} pixels`, () =>
    opened(
      async (page) => {
        const [content, view] = await page.evaluate(() => [
          document.documentElement.scrollWidth,
          document.documentElement.clientWidth,
        ]);
        assert.ok(content <= view, `${content} > ${view}`);
        const wide = await page.evaluate(
          (w) =>
            [...document.querySelectorAll('main *')]
              .filter((e) => !e.closest('.scroll, svg, pre') && e.getBoundingClientRect().right > w + 0.5)
              .map((e) => e.outerHTML.slice(0, 80)),
          view,
        );
        assert.deepEqual(wide, []);
        const cut = await page.evaluate(() =>
          [...document.querySelectorAll('.canvas')].flatMap((c) =>
            [...c.querySelectorAll('svg text')]
              .filter((t) => {
                const a = t.getBoundingClientRect(),
                  b = c.getBoundingClientRect();
                return a.width > 0 && (a.right > b.right + 1 || a.left < b.left - 1);
              })
              .map((t) => t.textContent),
          ),
        );
        assert.deepEqual(cut, []);
      },
      { width, height: 800 },
    ));
}

test('a figure follows the width of the window', () =>
  opened(async (page) => {
    await page.setViewportSize({ width: 400, height: 800 });
    await page.waitForFunction(() => {
      const [svg, canvas] = ['svg', ''].map((s) => document.querySelector(`#figure-drift .canvas ${s}`).getBoundingClientRect().width);
      return canvas < 400 && Math.abs(svg - canvas) <= 2;
    });
  }));

test('a document with next to nothing in it is a page too', () => {
  const little = report('little', {
    title: 'Little',
    sections: [{ title: '设置 !' }, { title: 'Settings' }, { title: 'Settings' }],
    result: {},
  });
  return opened(
    async (page) => {
      assert.equal(await page.locator('h1').innerText(), 'Little');
      assert.equal(await page.locator('main h2').count(), 4);
    },
    { url: little },
  );
});
