// Every page that the program writes, from the program itself, in headless Chromium: at the width of a screen and of a
// phone, in light and in dark, without a complaint, a body that scrolls sideways, or a cell that is cut.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';

const { chromium } = createRequire(join(process.env.EP_NODE_MODULES, 'x'))('playwright-core');
const folder = mkdtempSync(join(tmpdir(), 'ep_pages_'));
const small = ['--threads', '1'];
const pages = {
  compare: [
    ['compare', '--data', 'digits', '--samples', '60', '--widths', '20,40', '--runs', '2', '--epochs', '20'],
    ['--outputs', '4', '--test-samples', '100', '--out', 'compare'],
  ],
  dynamics: [['dynamics', '--data', 'moons', '--outputs', '2', '--time', '30', '--compare', '--report', 'dynamics']],
  optima: [['optima', '--data', 'digits', '--samples', '60', '--starts', '30', '--report', 'optima']],
  learnability: [
    ['learnability', '--data', 'digits', '--samples', '80', '--trains', '10,20,40', '--measure', '3'],
    ['--report', 'learnability'],
  ],
  reproduce: [['reproduce', 'linear-fig1', 'tangent-nofreelunch', '--quick', '--out', 'reproduce']],
};
// pages that lie beside those
const more = { reproduce: ['reproduce/linear', 'reproduce/tangent'] };
let browser;

before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
  });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
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

async function look(name, width, colorScheme) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  const page = await context.newPage();
  const bad = [];
  page.on('console', (m) => bad.push(`${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => bad.push(e.message));
  await page.goto(pathToFileURL(join(folder, name, 'report.html')).href);
  await page.waitForFunction(
    () => document.querySelectorAll('.canvas').length === document.querySelectorAll('.canvas svg').length,
  );
  for (const closed of await page.locator('main details.folded > summary').all()) await closed.click();
  const [content, view] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ]);
  assert.ok(content <= view, `the body scrolls: ${content} > ${view}`);
  assert.deepEqual(await page.evaluate(cut), []);
  if (process.env.EP_SHOTS)
    await page.screenshot({ path: join(process.env.EP_SHOTS, `${name.replace('/', '-')}-${width}-${colorScheme}.png`), fullPage: true });
  await context.close();
  assert.deepEqual(bad, []);
}

for (const [name, command] of Object.entries(pages))
  test(`${name}: nothing is cut, nothing complains`, async () => {
    // the page draws by itself; the drawings in files are left out, for no node is found
    const env = { ...process.env, PATH: '/none' };
    execFileSync(process.env.EIGENPAIR, [...command.flat(), ...small], { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] });
    for (const page of [name, ...(more[name] || [])])
      for (const [width, scheme] of [[1400, 'light'], [390, 'dark']]) await look(page, width, scheme);
  });

test('compare: the first line, the three questions, one dot a method', async () => {
  const page = await browser.newPage();
  await page.goto(pathToFileURL(join(folder, 'compare/report.html')).href);
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
  const term = page.locator('main a.term').first();
  assert.ok(await page.locator(await term.getAttribute('href')).count());
  await page.close();
});

test('compare: a point that is pointed at shows its picture', async () => {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  await page.goto(pathToFileURL(join(folder, 'compare/report.html')).href);
  const dot = page.locator('#figure-embedding .mark-symbol.role-mark path').first();
  await dot.scrollIntoViewIfNeeded();
  await dot.hover({ force: true });
  const inked = () => {
    const c = document.querySelector('.tip:not([hidden]) canvas.thumbnail');
    return c && c.width === 28 && c.getContext('2d').getImageData(0, 0, 28, 28).data.some((v, i) => i % 4 < 3 && v > 128);
  };
  await page.waitForFunction(inked, null, { timeout: 10000 });
  assert.doesNotMatch(await page.locator('.tip').innerText(), /picture/);
  await page.close();
});

test('dynamics: a rule ends where its axis does, not among the names of lines', async () => {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  await page.goto(pathToFileURL(join(folder, 'dynamics/report.html')).href);
  await page.waitForFunction(() => document.querySelector('.canvas svg .mark-rule.role-mark line'));
  const [rule, grid] = await page.evaluate(() => {
    const svg = document.querySelector('.canvas svg .mark-rule.role-mark line').closest('svg');
    const right = (of) => Math.max(...[...svg.querySelectorAll(of)].map((e) => e.getBoundingClientRect().right));
    return [right('.mark-rule.role-mark line'), right('.role-axis-grid line')];
  });
  assert.ok(rule <= grid + 1, `${rule} > ${grid}`);
  await page.close();
});

test('optima: no table without rows, names of few dots', async () => {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  await page.goto(pathToFileURL(join(folder, 'optima/report.html')).href);
  for (const summary of await page.locator('main details.folded > summary').all()) await summary.click();
  for (const table of await page.locator('main table').all()) assert.ok(await table.locator('tbody tr').count());
  await page.waitForFunction(() => document.querySelector('#figure-gap .canvas svg'));
  const named = (await page.locator('#figure-gap svg text').allTextContents()).filter((t) => t.startsWith('optimum '));
  assert.ok(named.length > 0 && named.length <= 10, `${named}`);
  await page.close();
});

test('reproduce: a card a claim, with its figure and a link that leads there', async () => {
  const page = await browser.newPage();
  await page.goto(pathToFileURL(join(folder, 'reproduce/report.html')).href);
  assert.equal(await page.locator('.claims article').count(), 2);
  const link = page.locator('.claims article a').first();
  const id = await link.innerText();
  await link.click();
  await page.waitForURL(/report\.html#/);
  assert.ok(await page.locator(`#${id}`).count());
  await page.close();
});
