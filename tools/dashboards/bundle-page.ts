import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensurePackages } from '../packages.ts';

export interface PageBundle {
  /** Defines `dashboardPage` with its function `draw`. */
  readonly script: string;
  readonly style: string;
}

const folder = import.meta.dirname;
const bundled = join(folder, '.cache/page.js');

/**
 * The page with Grafana's library and fonts in it, so that it needs nothing from elsewhere.
 * Installs the library where it is not there.
 */
export function bundlePage(): PageBundle {
  ensurePackages(folder);
  const { status, stderr } = spawnSync(
    join(folder, 'node_modules/.bin/esbuild'),
    [
      join(folder, 'page/draw.tsx'),
      '--bundle',
      '--minify',
      '--jsx=automatic',
      '--global-name=dashboardPage',
      '--define:process.env.NODE_ENV="production"',
      '--loader:.ttf=empty',
      // The library's build in modules lacks exports that it imports itself (12.1.1); its CommonJS
      // is whole. Both packages, so that they share their theme.
      ...['@grafana/ui', '@grafana/data'].map(
        (name) => `--alias:${name}=${join(folder, 'node_modules', name, 'dist/cjs/index.cjs')}`,
      ),
      '--log-level=error',
      `--outfile=${bundled}`,
    ],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`The page could not be bundled:\n${stderr}`);
  return { script: readFileSync(bundled, 'utf8'), style: readFileSync(bundled.replace(/js$/, 'css'), 'utf8') };
}
