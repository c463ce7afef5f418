// The page of `eigenpair explore` in headless Chromium, opened from its file as a reader does. EIGENPAIR: the program;
// EP_NODE_MODULES: where playwright-core is.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { inflateSync } from 'node:zlib';
import { close, opened as openedAt } from './browser.mjs';

const folder = mkdtempSync(join(tmpdir(), 'ep_explore_'));
const N = 300,
  K = 10;
const run = (...args) =>
  execFileSync(process.env.EIGENPAIR, args, { cwd: folder, env: { ...process.env, OMP_WAIT_POLICY: 'passive' } });
let doc, near, raw;

// The document in a page, and one of its arrays of whole numbers.
const documentOf = (name) =>
  JSON.parse(readFileSync(join(folder, name), 'utf8').split(' id="document">')[1].split('</script>')[0]);
function arrayOf(d, name) {
  const { at, count } = d.numbers.arrays[name],
    bytes = inflateSync(Buffer.from(d.numbers.bytes, 'base64'));
  return Array.from({ length: count }, (_, i) => bytes.readUInt32LE(at + 4 * i));
}

before(() => {
  const draw = ['--data', 'digits', '--samples', String(N)];
  const words = Array.from({ length: N }, (_, i) => `<b>word ${i}</b>${i % 7 ? '' : ' seven'}`);
  writeFileSync(join(folder, 'words.txt'), `${words.join('\n')}\n`);
  writeFileSync(
    join(folder, 'plain.csv'),
    Array.from({ length: 40 }, (_, i) => `${Math.sin(i)},${Math.cos(3 * i)}\n`).join(''),
  );
  run('fit', ...draw, '--method', 'pca', '--width', '200', '--outputs', '12', '--out', 'm.npz');
  run('embed', ...draw, '--model', 'm.npz', '--out', 'e.npy');
  run('explore', '--embedding', 'e.npy', ...draw, '--images', '--text', 'words.txt', '--out', 'full.html');
  run('explore', '--embedding', 'plain.csv', '--out', 'plain.html');
  const ages = Array.from({ length: 40 }, (_, i) => `${i % 4 ? 98 + (i % 4) : ''},${i},2024-03-1${i % 10}`); // 99, 100, 101 and none
  writeFileSync(join(folder, 'holes.csv'), `age,row,born\n${ages.join('\n')}\n`);
  run('explore', '--embedding', 'plain.csv', '--colour', 'holes.csv', '--out', 'holes.html');
  doc = documentOf('full.html');
  near = arrayOf(doc, 'near');
  raw = arrayOf(doc, 'raw');
});
after(async () => {
  await close();
  rmSync(folder, { recursive: true });
});

// A page of its own that must not complain, nor ask for anything.
const opened = (use, options = {}, name = 'full.html') =>
  openedAt(
    async (page) => {
      await settled(page);
      await use(page);
    },
    {
      url: pathToFileURL(join(folder, name)).href,
      width: 1400,
      ready: () => document.body.dataset.ready,
      ...options,
    },
  );
// One page for tests in a row that only look.
const looking = (use) => opened(use, { keep: true });

// After the next drawing.
const settled = (page) =>
  page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
const MAP = '.field-of-points';
// The map's size and a sum of its pixels, to compare, and how many are not ground.
const picture = (page) =>
  page.evaluate((s) => {
    const p = window.pixels(s),
      sums = [0x811c9dc5, 0x1000193].map((start) => p.reduce((sum, v) => Math.imul(sum ^ v, 0x1000193) ^ (sum >>> 15), start));
    return [document.querySelector(s).width, ...sums].join(' ');
  }, MAP);
const painted = (page) => page.evaluate((s) => window.pixels(s).filter((v, _, p) => v !== p[0]).length, MAP);
const rowsIn = (locator) =>
  locator.locator('[data-row]').evaluateAll((all) => all.map((e) => Number(e.dataset.row)));
// The page looks 150 ms after the last letter; a timer of its own that ends later has it done, however busy the machine is.
async function find(page, words) {
  await page.getByLabel('Search').fill(words);
  await page.evaluate(() => new Promise((r) => setTimeout(r, 200)));
  await settled(page);
}
const drag = async (page, shares) => {
  const box = await page.locator(MAP).boundingBox();
  const at = ([x, y]) => [box.x + x * box.width, box.y + y * box.height];
  await page.mouse.move(...at(shares[0]));
  await page.mouse.down();
  for (const s of shares.slice(1)) await page.mouse.move(...at(s), { steps: 4 });
  await page.mouse.up();
  await settled(page);
};
const ROUND = [
  [0.01, 0.01],
  [0.99, 0.01],
  [0.99, 0.99],
  [0.01, 0.99],
  [0.01, 0.02],
];

test('everything is there', () =>
  looking(async (page) => {
    assert.equal(await page.locator('h1').innerText(), 'e.npy');
    const titles = await page.locator('h2').allInnerTexts();
    for (const t of ['Scores without labels', 'Spectrum', 'Probes', 'Dense places', 'Doubtful labels', 'Repeat it'])
      assert.ok(titles.includes(t), t);
    const scores = await page.locator('#scores').innerText();
    assert.ok(scores.includes(Number(doc.result.scores.rankme.toPrecision(4)).toString()));
    const probes = await page.locator('#probes tbody tr').allInnerTexts();
    doc.result.probes.forEach((p, i) => {
      assert.ok(
        probes[i].includes(`${(100 * p.accuracy).toFixed(1)} %`) &&
          probes[i].includes(`${(100 * p.raw).toFixed(1)} %`),
      );
    });
    assert.deepEqual(
      await rowsIn(page.locator('#dense')),
      doc.dense.map((c) => c.row),
    );
    assert.deepEqual(
      await rowsIn(page.locator('#doubts')),
      doc.doubts.slice(0, 24).map((s) => s.row),
    );
    assert.ok((await painted(page)) > 2000);
    const best = doc.result.probes.reduce((a, p) => (p.accuracy > a.accuracy ? p : a));
    const lead = await page.locator('.lead').innerText();
    assert.match(lead, /^(A linear probe gets|Its nearest neighbours get) /);
    assert.ok(lead.includes(`${(100 * best.accuracy).toFixed(1)} % of the labels right`), lead);
    assert.match(lead, /in the raw data|It has not collapsed/);
    assert.equal(await page.locator('.side h2').first().innerText(), `Row ${doc.doubts[0].row}`); // a point to begin with
  }));

test('the policy forbids what the page does not need', () =>
  looking(async (page) => {
    const policy = await page.locator('meta[http-equiv]').getAttribute('content');
    assert.match(policy, /default-src 'none'/);
    assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  }));

test('maps and colours can be switched, by mouse and by key', () =>
  opened(async (page) => {
    const seen = new Set([await picture(page)]);
    for (const name of ['PCA', 'spectral']) {
      await page.getByRole('radio', { name }).click();
      await settled(page);
      seen.add(await picture(page));
    }
    await page.keyboard.press('ArrowRight');
    await settled(page);
    assert.equal(await page.locator('input[name=map]:checked').getAttribute('value'), 'neighbours');
    assert.ok(seen.has(await picture(page)) && seen.size === 3);
    for (const name of ['cluster', 'agreement', 'length']) {
      await page.getByLabel('Colour by').selectOption(name);
      await settled(page);
      seen.add(await picture(page));
    }
    assert.equal(seen.size, 6);
    assert.equal(await page.locator('.legend canvas').count(), 1);
  }));

test('missing numbers are grey, counted and left out of means', () =>
  opened(
    async (page) => {
      await page.getByLabel('Colour by').selectOption('age');
      await settled(page);
      assert.match(await page.locator('.legend').innerText(), /10 missing/);
      // light greys: nothing of the ramp, and of rings and edges only a few
      const grey = () =>
        page.evaluate((s) => {
          const shade = (v) => [v & 255, (v >> 8) & 255, (v >> 16) & 255];
          const light = (c) => Math.max(...c) - Math.min(...c) < 20 && Math.max(...c) > 150 && Math.max(...c) < 240;
          return window.pixels(s).filter((v) => light(shade(v))).length;
        }, MAP);
      const holes = await grey();
      await page.getByLabel('Colour by').selectOption('row');
      await settled(page);
      const none = await grey();
      assert.ok(holes > none + 300, `${holes} and ${none} grey pixels`); // ten dots of nearly a hundred pixels each
      await page.getByLabel('Colour by').selectOption('age');
      await find(page, '4');
      assert.ok((await page.locator('.side').innerText()).includes('missing'));
      await find(page, '');
      await page.getByRole('button', { name: /^Lasso/ }).click();
      await drag(page, ROUND);
      assert.match(await page.locator('.made').innerText(), /^Mean age: 100, of all points 100\. 10 missing\.$/);
      await page.getByLabel('Colour by').selectOption('born'); // dates as they are written
      await settled(page);
      assert.match(await page.locator('.legend').innerText(), /2024-03-10\s+2024-03-19/);
      await find(page, '4');
      assert.ok((await page.locator('.side').innerText()).includes('2024-03-14'));
    },
    {},
    'holes.html',
  ));

test('a point shows its neighbours in the data and in the embedding', () =>
  opened(async (page) => {
    await find(page, '123');
    await page.getByLabel('Search').press('Enter');
    const side = page.locator('.side');
    assert.equal(await side.locator('h2').first().innerText(), 'Row 123');
    const lists = side.locator('.near');
    assert.deepEqual(await rowsIn(lists.nth(0)), raw.slice(123 * K, 124 * K));
    assert.deepEqual(await rowsIn(lists.nth(1)), near.slice(123 * K, 124 * K));
    assert.ok((await side.innerText()).includes('<b>word 123</b>'));
    const drawn = await side
      .locator('.thumb')
      .first()
      .evaluate((c) =>
        c
          .getContext('2d')
          .getImageData(0, 0, c.width, c.height)
          .data.some((v, i) => i % 4 < 3 && v > 100),
      );
    assert.ok(drawn);
    await lists.nth(1).locator('button').first().click();
    assert.equal(await side.locator('h2').first().innerText(), `Row ${near[123 * K]}`);
  }));

test('pointing at a point and clicking it', () =>
  opened(async (page) => {
    const box = await page.locator(MAP).boundingBox();
    const spot = await page.evaluate((s) => {
      const { width: w, height: h } = document.querySelector(s),
        p = window.pixels(s);
      const at = p.findIndex((v) => v !== p[0]);
      return [(at % w) / w, Math.floor(at / w) / h];
    }, MAP);
    const place = [box.x + spot[0] * box.width, box.y + spot[1] * box.height + 2];
    await page.mouse.move(...place);
    await page.locator('.tip').waitFor({ state: 'visible' });
    const [, row] = /row\s(\d+)/.exec(await page.locator('.tip').innerText());
    assert.equal(await page.locator('.tip .thumb').count(), 1);
    await page.mouse.click(...place);
    assert.equal(await page.locator('.side h2').first().innerText(), `Row ${row}`);
    await page.mouse.move(box.x + 3, box.y + 3);
    await page.locator('.tip').waitFor({ state: 'hidden' });
  }));

test('search finds rows, labels and words, and lights them', () =>
  opened(async (page) => {
    const all = await picture(page);
    await find(page, 'SEVEN');
    assert.equal(await page.locator('.side h2').innerText(), '43 found');
    assert.match(await page.locator('.hint').first().innerText(), /^43 of 300/);
    assert.notEqual(await picture(page), all);
    const label = doc.columns[0].names[3];
    await find(page, label);
    const own = arrayOf(doc, doc.columns[0].array).map((c, i) => (c === 3 ? i : -1));
    const numbered = Number(label);
    const first = [numbered, ...own.filter((i) => i >= 0 && i !== numbered)].slice(0, 30);
    assert.deepEqual((await rowsIn(page.locator('.side'))).slice(0, first.length), first);
    const withText = doc.text.filter((t, i) => t.includes(label) && own[i] < 0 && i !== numbered).length;
    assert.equal(
      await page.locator('.side h2').innerText(),
      `${own.filter((i) => i >= 0 && i !== numbered).length + 1 + withText} found`,
    );
    await find(page, 'nothing like it');
    assert.match(await page.locator('.hint').first().innerText(), /Nothing is called/);
    await find(page, '');
    assert.equal(await picture(page), all);
  }));

test('lasso, legend and selection as CSV', () =>
  opened(async (page) => {
    const save = page.getByRole('button', { name: 'Selection as CSV' });
    assert.ok(await save.isDisabled());
    await page.getByRole('radio', { name: 'PCA' }).click();
    await page.getByRole('button', { name: 'Zoom out' }).click();
    await page.getByRole('button', { name: /^Lasso/ }).click();
    await drag(page, ROUND);
    assert.match(await page.locator('.hint').first().innerText(), /^300 of 300/);
    const [download] = await Promise.all([page.waitForEvent('download'), save.click()]);
    const lines = readFileSync(await download.path(), 'utf8')
      .trimEnd()
      .split('\n');
    assert.equal(lines.length, N + 1);
    assert.equal(lines[0], 'row,label,cluster,agreement,neighbours kept,distance,length,PCA x,PCA y,text');
    const labels = arrayOf(doc, doc.columns[0].array);
    lines.slice(1).forEach((l, i) => assert.ok(l.startsWith(`${i},${doc.columns[0].names[labels[i]]},`), l));
    await drag(page, [
      [0.01, 0.01],
      [0.5, 0.01],
      [0.5, 0.99],
      [0.01, 0.99],
    ]);
    const [, some] = /^(\d+) of 300/.exec(await page.locator('.hint').first().innerText());
    assert.ok(Number(some) > 0 && Number(some) < N);
    assert.equal(await page.locator('.side h2').first().innerText(), `${some} selected`);
    assert.match(await page.locator('.side .made').innerText(), /^By label: [\d.]+ % \d/); // what is inside
    await page.getByRole('button', { name: 'Clear the selection' }).click();
    await settled(page);
    const whole = await painted(page);
    const legend = page.getByRole('button', { name: /^Only label 0/ });
    const before = await picture(page);
    await legend.click();
    await settled(page);
    assert.equal(await legend.getAttribute('aria-pressed'), 'true');
    assert.notEqual(await picture(page), before);
    await legend.click();
    await settled(page);
    assert.equal(await painted(page), whole);
  }));

test('keys move, zoom and choose; dragging and the wheel too', () =>
  opened(async (page) => {
    await page.locator(MAP).focus();
    await page.keyboard.press('0');
    await settled(page);
    const home = await picture(page);
    for (const key of ['ArrowLeft', 'ArrowUp', '+', '-']) {
      const was = await picture(page);
      await page.keyboard.press(key);
      await settled(page);
      assert.notEqual(await picture(page), was, key);
    }
    await page.keyboard.press('0');
    await settled(page);
    assert.equal(await picture(page), home);
    await page.keyboard.press('Enter');
    assert.match(await page.locator('.side h2').first().innerText(), /^Row \d+$/);
    const was = await picture(page);
    await drag(page, [
      [0.5, 0.5],
      [0.6, 0.6],
    ]);
    const dragged = await picture(page);
    assert.notEqual(dragged, was);
    await page.mouse.wheel(0, -300);
    while ((await picture(page)) === dragged) await settled(page); // or the test's time is over
  }));

test('all controls are reached by the tab key and show it', () =>
  opened(async (page) => {
    const reached = [];
    for (let i = 0; i < 64; i += 1) {
      await page.keyboard.press('Tab');
      reached.push(
        await page.evaluate(() => {
          const e = document.activeElement,
            s = getComputedStyle(e.type === 'radio' ? e.nextElementSibling : e);
          return [
            e.getAttribute('aria-label') || e.id || e.value || e.innerText,
            s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2,
          ];
        }),
      );
    }
    assert.deepEqual(
      reached.filter(([, shown]) => !shown),
      [],
    );
    const names = reached.map(([n]) => n);
    for (const want of [
      'auto',
      'neighbours',
      'colour',
      'search',
      'Zoom in',
      'Show all points',
      'Lasso: draw around points to select them',
      'chosen-z',
    ])
      assert.ok(
        names.includes(want) || (want === 'chosen-z' && names.includes('Z: directions kept')),
        `${want}: ${names}`,
      );
    assert.ok(
      names.some((n) => n.startsWith('Map of 300 points')) && names.some((n) => n.startsWith('Only label')),
    );
  }));

test('the spectrum says what Z directions hold', () =>
  opened(async (page) => {
    const sum = doc.spectrum.reduce((a, b) => a + b, 0);
    const slider = page.getByLabel('Z: directions kept');
    await slider.focus();
    await page.keyboard.press('Home');
    const words = page.locator('#spectrum [role=status]');
    assert.ok(
      (await words.innerText()).includes(`${((100 * doc.spectrum[0]) / sum).toFixed(1)} % of the variance`),
    );
    await page.keyboard.press('End');
    assert.ok((await words.innerText()).includes('100.0 %'));
    assert.equal(await page.locator('#spectrum circle').count(), 12);
  }));

const luminance = (css) =>
  css
    .match(/[\d.]+/g)
    .slice(0, 3)
    .map((v) => v / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

for (const scheme of ['light', 'dark'])
  for (const width of [320, 390, 1400]) {
    test(`${scheme}, ${width} pixels: nothing overflows, words can be read`, () =>
      opened(
        async (page) => {
          await find(page, '7');
          await page.getByLabel('Search').press('Enter');
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
          const cut = () => [...document.querySelectorAll('main .scroll')].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.ariaLabel);
          if (width > 320) assert.deepEqual(await page.evaluate(cut), []);
          const letters = await page.locator('.spectrum svg text').first().boundingBox();
          assert.ok(letters.height > 10, `letters of ${letters.height} pixels`);
          const words = ['h1', '.lead', '.hint', '.side dt', '.other', '.legend button', 'thead th', '.cards li', 'footer p'];
          const inks = await page.evaluate(
            (selectors) =>
              selectors.map((selector) => {
                const e = document.querySelector(selector),
                  s = getComputedStyle(e);
                let x = e;
                while (/, 0\)$/.test(getComputedStyle(x).backgroundColor)) x = x.parentElement;
                return [selector, e.tagName === 'text' ? s.fill : s.color, getComputedStyle(x).backgroundColor];
              }),
            [...words, '.spectrum svg text'],
          );
          for (const [selector, ink, ground] of inks)
            assert.ok(contrast(ink, ground) >= 4.5, `${selector}: ${contrast(ink, ground).toFixed(2)}`);
          assert.equal(
            luminance(await page.locator('body').evaluate((e) => getComputedStyle(e).backgroundColor)) < 0.2,
            scheme === 'dark',
          );
        },
        { colorScheme: scheme, width, height: 800 },
      ));
  }

test('the map follows the choice of light or dark, and the width of the window', () =>
  opened(async (page) => {
    const corner = () =>
      page.evaluate(
        (s) => [0, 8, 16].map((b) => (window.pixels(s)[document.querySelector(s).width + 1] >> b) & 255),
        MAP,
      );
    const light = await corner();
    await page.getByRole('radio', { name: 'dark' }).click();
    await settled(page);
    assert.ok(luminance(String(light)) > 0.8 && luminance(String(await corner())) < 0.1);
    await page.setViewportSize({ width: 600, height: 800 });
    await page.waitForFunction((s) => {
      const map = document.querySelector(s);
      return map.width < 600 && map.clientWidth === map.width;
    }, MAP);
    assert.ok((await painted(page)) > 1000);
  }));

test('touch: two fingers zoom, one moves', () =>
  opened(
    async (page) => {
      const client = await page.context().newCDPSession(page);
      await client.send('Emulation.setTouchEmulationEnabled', { enabled: true });
      const box = await page.locator(MAP).boundingBox();
      const at = (x, y) => ({ x: box.x + x * box.width, y: box.y + y * box.height });
      const touch = (type, ...touchPoints) => client.send('Input.dispatchTouchEvent', { type, touchPoints });
      const was = await picture(page);
      await touch('touchStart', at(0.4, 0.5), at(0.6, 0.5));
      await touch('touchMove', at(0.2, 0.5), at(0.8, 0.5));
      await touch('touchEnd');
      await settled(page);
      const zoomed = await picture(page);
      assert.notEqual(zoomed, was);
      await touch('touchStart', at(0.5, 0.5));
      await touch('touchMove', at(0.6, 0.6));
      await touch('touchEnd');
      await settled(page);
      assert.notEqual(await picture(page), zoomed);
      await client.detach(); // and with it the touch screen
    },
    { width: 390, height: 800 },
  ));

test('vectors alone, without labels, data or words', () =>
  opened(
    async (page) => {
      assert.equal(await page.locator('h1').innerText(), 'plain.csv');
      assert.ok((await painted(page)) > 300);
      await page.locator(MAP).focus();
      await page.keyboard.press('Enter');
      assert.equal(await page.locator('.side .near').count(), 1);
      assert.equal(await page.locator('#probes, #doubts').count(), 0);
    },
    {},
    'plain.html',
  ));
