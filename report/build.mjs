// node build.mjs NODE_MODULES PAGE: template, style, program and the licences of what is in it -> one file, ready for a
// document in the place of @DOCUMENT@.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const [modules, target] = process.argv.slice(2).map((path) => resolve(path));
const here = dirname(fileURLToPath(import.meta.url));
const { buildSync } = createRequire(join(modules, 'x'))('esbuild');
const read = (name) => readFileSync(join(here, name), 'utf8');

const built = buildSync({
  entryPoints: [join(here, 'page.js')],
  nodePaths: [modules],
  bundle: true,
  minify: true,
  write: false,
  format: 'iife',
  globalName: 'eigenpairReport',
  target: 'es2022',
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
});
const program = built.outputFiles[0].text;
const style = read('report.css');
if (/<\/script|<!--/i.test(program) || /<\//.test(style)) throw new Error('text that would end its own element');

// Every package that went into the program, and what its licence asks to be said. Some of vega's own packages come
// without the file; it is vega's.
function licenceOf(name) {
  const folder = join(modules, name);
  const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((f) => /^licen[cs]e/i.test(f));
  if (!file && /vega\/vega\.git$/.test(about.repository?.url)) return { ...licenceOf('vega'), about };
  if (!file) throw new Error(`${name}: no licence found`);
  return { about, text: readFileSync(join(folder, file), 'utf8').trim() };
}

function licences() {
  const inside = Object.keys(built.metafile.inputs).map(
    (f) => /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(f)?.[1],
  );
  const texts = new Map();
  for (const name of [...new Set(inside.filter(Boolean))].sort()) {
    const { about, text } = licenceOf(name);
    texts.set(text, [...(texts.get(text) || []), `${name} ${about.version}`]);
  }
  return [...texts].map(([text, names]) => `${names.join(', ')}\n\n${text}`).join('\n\n\n');
}

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const escape = (text) => text.replace(/[&<>]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c]);
const parts = {
  POLICY: `default-src 'none'; script-src ${hash(program)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`,
  STYLE: style,
  LICENCES: escape(licences()),
  PROGRAM: program,
};
const page = read('template.html').replace(/@(POLICY|STYLE|LICENCES|PROGRAM)@/g, (_, name) => parts[name]);
if (page.split('@DOCUMENT@').length !== 2) throw new Error('there must be one place for the document');
writeFileSync(`${target}.tmp`, page);
renameSync(`${target}.tmp`, target);
