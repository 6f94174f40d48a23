import { basename } from 'node:path';
import { type BuildOptions, build } from 'esbuild';
import { packageFile } from '../../../runtime/package-file.ts';
import type { ConsoleFiles } from './build-site.ts';

/** Packages that few readers need: a screen fetches them when it is opened. */
const fetchedLater = ['uplot', 'oauth4webapi'];

/** Lines and source names are in the maps, fetched by a browser's tools alone. */
const options = {
  bundle: true,
  minify: true,
  sourcemap: true,
  write: false,
  format: 'esm',
  target: 'es2024',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  // A name has a digest of its content, so a browser may keep the file for good.
  entryNames: '[name]-[hash]',
  loader: { '.svg': 'copy' },
  logLevel: 'silent',
} satisfies BuildOptions;

/**
 * The console from its sources: one script, one style, the icon, and the packages fetched later,
 * each with its map. `demo`: with the screen of `tidemark demo`. Takes half a second. Rejects if a
 * source has a fault.
 */
export async function bundleConsole({ demo }: { readonly demo: boolean }): Promise<ConsoleFiles> {
  const shared = { ...options, absWorkingDir: packageFile('.'), outdir: packageFile('dist/console') };
  const later = await build({ ...shared, entryPoints: fetchedLater.map((name) => ({ in: name, out: name })) });
  const files = new Map(later.outputFiles.map(({ path, contents }) => [basename(path), contents]));
  const first = await build({
    ...shared,
    entryPoints: [
      { in: demo ? 'src/demo/console/main.ts' : 'src/console/main.ts', out: 'main' },
      { in: demo ? 'src/demo/console/style.css' : 'src/console/styles/all.css', out: 'style' },
      { in: 'src/console/icon.svg', out: 'icon' },
    ],
    plugins: [
      {
        name: 'fetched-later',
        setup: ({ onResolve }) =>
          onResolve({ filter: new RegExp(`^(?:${fetchedLater.join('|')})$`) }, ({ path }) => ({
            path: `./${[...files.keys()].find((name) => name.startsWith(`${path}-`) && name.endsWith('.js'))}`,
            external: true,
          })),
      },
    ],
  });
  for (const { path, contents } of first.outputFiles) files.set(basename(path), contents);
  return files;
}
