// Headless Chromium for the tests of pages: one browser and one tab a file of tests. A tab that is made anew costs three
// times a page that is loaded anew in a tab that is warm; the document, its scripts and its focus are new either way.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const { chromium } = createRequire(join(process.env.EP_NODE_MODULES, 'x'))('playwright-core');
let browser, page, now;
const bad = []; // complaints since the page was loaded

async function start() {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  page = await (await browser.newContext()).newPage();
  page.on('console', (m) => bad.push(`${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => bad.push(e.message));
  page.on('dialog', (d) => {
    bad.push(`dialog: ${d.message()}`);
    d.dismiss();
  });
  page.on('request', (r) => {
    if (!/^(file|blob|data):/.test(r.url())) bad.push(`asks for ${r.url()}`);
  });
  await page.addInitScript(() => {
    window.violations = [];
    window.pixels = (selector) => {
      // of a copy: a page's canvas is not made for reading
      const from = document.querySelector(selector),
        to = new OffscreenCanvas(from.width, from.height).getContext('2d', { willReadFrequently: true });
      to.drawImage(from, 0, 0);
      return new Int32Array(to.getImageData(0, 0, from.width, from.height).data.buffer);
    };
    document.addEventListener('securitypolicyviolation', (e) =>
      window.violations.push(`${e.violatedDirective} ${e.blockedURI}`),
    );
  });
}

// A page that must not complain, ask for anything, or pop anything up: loaded anew; with `keep` as the last use left it, if
// that was of the same page and kept it too. 'last' takes it like that and does not leave it to others.
export async function opened(use, { url, width, height = 900, colorScheme = 'light', ready, keep = false }) {
  if (!browser) await start();
  const what = JSON.stringify([url, width, height, colorScheme]);
  if (!keep || now !== what || page.url() !== url) {
    await page.goto('about:blank'); // nothing is drawn anew for what comes next
    await page.mouse.move(0, 0);
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ media: null, colorScheme });
    await page.goto(url);
    await page.waitForFunction(ready);
  }
  now = null; // a page that a test has failed on is not kept
  try {
    await use(page);
    bad.push(...(await page.evaluate(() => window.violations)));
    assert.deepEqual(bad, []);
  } finally {
    bad.length = 0;
  }
  if (keep === true) now = what;
}

// All figures of a report are drawn.
export const drawn = () =>
  document.querySelectorAll('.canvas').length === document.querySelectorAll('.canvas svg').length;

export async function close() {
  await browser?.close();
}
