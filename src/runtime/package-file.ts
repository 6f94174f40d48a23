import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

const folder = packageFolder(import.meta.dirname);

/**
 * A file that comes with the program, by its path in the checkout or the package: a bundle lies at
 * another depth than its sources, so no path beside a source holds in both.
 */
export function packageFile(path: string): string {
  return join(folder, path);
}

function packageFolder(from: string): string {
  if (existsSync(join(from, 'package.json')) || dirname(from) === from) return from;
  return packageFolder(dirname(from));
}
