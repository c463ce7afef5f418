// node build.mjs NODE_MODULES FOLDER: for each page template, style, program and the licences of what is in it -> one
// file, ready for a document in the place of @DOCUMENT@.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const PAGES = [
  {
    file: 'page.html',
    template: 'template.html',
    program: 'page.js',
    styles: ['report.css'],
    global: 'eigenpairReport',
  },
  { file: 'explore.html', template: 'explore.html', program: 'explore.js', styles: ['report.css', 'explore.css'] },
];

const [modules, folder] = process.argv.slice(2).map((path) => resolve(path));
const here = dirname(fileURLToPath(import.meta.url));
const { buildSync } = createRequire(join(modules, 'x'))('esbuild');
const read = (name) => readFileSync(join(here, name), 'utf8');

const bundle = (page) =>
  buildSync({
    entryPoints: [join(here, page.program)],
    nodePaths: [modules],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    globalName: page.global,
    target: 'es2022',
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });

// Every package that went into a program, and what its licence asks to be said. Some of vega's own packages come
// without the file; it is vega's.
function licenceOf(name) {
  const of = join(modules, name);
  const about = JSON.parse(readFileSync(join(of, 'package.json'), 'utf8'));
  const file = readdirSync(of).find((f) => /^licen[cs]e/i.test(f));
  if (!file && /vega\/vega\.git$/.test(about.repository?.url)) return { ...licenceOf('vega'), about };
  if (!file) throw new Error(`${name}: no licence found`);
  return { about, text: readFileSync(join(of, file), 'utf8').trim() };
}

function licences(built) {
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

function build(page) {
  const built = bundle(page);
  const program = built.outputFiles[0].text;
  const style = page.styles.map(read).join('\n');
  if (/<\/script|<!--/i.test(program) || /<\//.test(style)) throw new Error('text that would end its own element');
  const parts = {
    POLICY: `default-src 'none'; script-src ${hash(program)}; style-src ${hash(style)}; base-uri 'none'; form-action 'none'`,
    STYLE: style,
    LICENCES: escape(licences(built)),
    PROGRAM: program,
  };
  const text = read(page.template).replace(/@(POLICY|STYLE|LICENCES|PROGRAM)@/g, (_, name) => parts[name]);
  if (text.split('@DOCUMENT@').length !== 2) throw new Error('there must be one place for the document');
  const target = join(folder, page.file);
  writeFileSync(`${target}.tmp`, text);
  renameSync(`${target}.tmp`, target);
}
PAGES.forEach(build);
