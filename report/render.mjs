// node --input-type=module -e THIS -- PAGE FOLDER: every figure of a report page, drawn by the page's own program, as
// FOLDER/NAME.svg, and as NAME.png where rsvg-convert is there.
import { spawnSync } from 'node:child_process';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { runInThisContext } from 'node:vm';

const [page, folder] = process.argv.slice(1);

// The file is there whole or not at all.
function whole(path, write) {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    write(temporary);
    renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}

// rsvg-convert draws every mark with an opacity on a canvas of its own, 40 s for a scatter plot: fill and stroke take it.
function png(svg, to) {
  const input = svg.replace(/ opacity="([^"]*)"/g, ' fill-opacity="$1" stroke-opacity="$1"');
  const done = spawnSync('rsvg-convert', ['--zoom=2', '--background-color=white', '--output', to], {
    encoding: 'utf8',
    input,
  });
  if (done.status !== 0) throw done.error || new Error(done.stderr.trim());
}

try {
  const html = readFileSync(page, 'utf8');
  const block = (id) => html.split(` id="${id}">`)[1].split('</script>')[0];
  runInThisContext(`${block('program')};globalThis.eigenpairReport = eigenpairReport`);
  const raster = !spawnSync('rsvg-convert', ['--version']).error;
  for (const figure of JSON.parse(block('document')).sections.flatMap((s) => s.figures || [])) {
    const svg = await globalThis.eigenpairReport.svg(figure);
    whole(`${folder}/${figure.name}.svg`, (to) => writeFileSync(to, svg));
    if (raster) whole(`${folder}/${figure.name}.png`, (to) => png(svg, to));
  }
} catch (error) {
  console.error(error.message.split('\n')[0]);
  process.exitCode = 1;
}
