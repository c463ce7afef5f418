// node --input-type=module -e THIS -- PAGE SVG PNG SVG PNG ...: every figure of a report page, drawn by the page's own
// program, into files that are there already, two a figure; PNG where rsvg-convert is there.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { runInThisContext } from 'node:vm';

const [page, ...files] = process.argv.slice(1);

// rsvg-convert draws every mark with an opacity on a canvas of its own, 40 s for a scatter plot: fill and stroke take it.
function png(svg) {
  const input = svg.replaceAll(' opacity="1"', '').replace(/ opacity="([^"]*)"/g, ' fill-opacity="$1" stroke-opacity="$1"');
  const done = spawnSync('rsvg-convert', ['--zoom=2', '--background-color=white'], { input, maxBuffer: 2 ** 28 });
  if (done.status !== 0) throw done.error || new Error(done.stderr.toString().trim());
  return done.stdout;
}

try {
  const html = readFileSync(page, 'utf8');
  const block = (id) => html.split(` id="${id}">`)[1].split('</script>')[0];
  runInThisContext(`${block('program')};globalThis.eigenpairReport = eigenpairReport`);
  const raster = !spawnSync('rsvg-convert', ['--version']).error;
  for (const figure of JSON.parse(block('document')).sections.flatMap((s) => s.figures || [])) {
    const svg = await globalThis.eigenpairReport.svg(figure);
    writeFileSync(files.shift(), svg, { flag: 'r+' });
    const to = files.shift();
    if (raster) writeFileSync(to, png(svg), { flag: 'r+' });
  }
} catch (error) {
  console.error(error.message.split('\n')[0]);
  process.exitCode = 1;
}
