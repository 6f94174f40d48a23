import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Installs the packages of a folder of tools/ where its lock file changed since. They are apart
 * from those of the project, so that `npm ci` brings only what runs and tests it. No package runs a
 * script of its own here. Throws with npm's words where the registry is out of reach.
 */
export function ensurePackages(folder: string): void {
  const lock = join(folder, 'package-lock.json');
  const installed = join(folder, 'node_modules/.installed-lock.json');
  if (existsSync(installed) && readFileSync(installed).equals(readFileSync(lock))) return;
  const { status, stderr } = spawnSync(
    'npm',
    ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'],
    {
      cwd: folder,
      encoding: 'utf8',
    },
  );
  if (status !== 0)
    throw new Error(
      `The packages of ${folder} could not be installed. Is the package registry in reach? npm says:\n${stderr}`,
    );
  copyFileSync(lock, installed);
}
