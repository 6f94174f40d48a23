// `npm pack` runs it (`prepack`): makes dist/, or the folder that is named, of the sources.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { build } from 'esbuild';
import { makeChart } from '../../kubernetes/make-chart.ts';
import { bundleConsole } from '../../src/service/rest/console/bundle-console.ts';

const root = resolve(import.meta.dirname, '../..');
const dist = resolve(process.argv[2] ?? join(root, 'dist'));
rmSync(dist, { recursive: true, force: true });

await build({
  absWorkingDir: root,
  outdir: dist,
  entryPoints: { tidemark: 'src/main.ts', 'platform-client': 'src/venue/platform/platform-client.ts' },
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  // npm installs the packages beside it, so that a fix of one of them needs no release of ours.
  packages: 'external',
  // A command loads its own part alone, as in a checkout: decision 067 has the figures.
  splitting: true,
  // Stack traces name the lines of src/; the texts stay in the checkout.
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
});
// Beside the code that reads them, as in src/.
for (const file of ['devstack/pom.xml', 'lost-answer/place-once.py'])
  copyFileSync(join(root, 'src/demo', file), join(dist, basename(file)));

for (const [folder, demo] of [
  ['console', false],
  ['demo-console', true],
] as const) {
  mkdirSync(join(dist, folder));
  for (const [name, bytes] of await bundleConsole({ demo })) writeFileSync(join(dist, folder, name), bytes);
}

makeChart(join(dist, 'chart'));
