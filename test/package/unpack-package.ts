import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The folder of a stranger's program, empty but for the packed package in its `node_modules`
 * (`home`). Without scripts: a build would write into this checkout. The caller removes `folder`.
 */
export function unpackPackage(): { folder: string; home: string } {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-stranger-'));
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  const packed = spawnSync('npm', args, { encoding: 'utf8', timeout: 60_000 });
  const [{ filename }] = JSON.parse(packed.stdout);
  const home = join(folder, 'node_modules/tidemark');
  mkdirSync(home, { recursive: true });
  spawnSync('tar', ['-xzf', join(folder, filename), '-C', home, '--strip-components=1']);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  return { folder, home };
}
