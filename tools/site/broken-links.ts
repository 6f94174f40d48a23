import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Links, pictures and scripts of built pages that lead to no file,
 * or to no heading of it: `page: address`.
 */
export function brokenLinks(site: string): string[] {
  const anchors = new Map<string, ReadonlySet<string>>();
  const anchorsOf = (file: string) => {
    const known =
      anchors.get(file) ?? new Set([...readFileSync(file, 'utf8').matchAll(/ id="([^"]*)"/g)].map(([, id = '']) => id));
    anchors.set(file, known);
    return known;
  };
  return globSync('**/*.html', { cwd: site }).flatMap((page) => {
    const html = readFileSync(join(site, page), 'utf8');
    const addresses = [...html.matchAll(/ (?:href|src|srcset)="([^"]+)"/g)].map(([, address = '']) => address);
    const broken = [...new Set(addresses)].filter((address) => {
      if (/^(?:https?|mailto|data):/.test(address)) return false;
      const [path = '', anchor = ''] = address.split('#', 2);
      let file = join(site, path === '' ? page : path.startsWith('/') ? path : join(dirname(page), path));
      if (existsSync(file) && statSync(file).isDirectory()) file = join(file, 'index.html');
      if (!existsSync(file)) return true;
      return anchor !== '' && !anchorsOf(file).has(decodeURIComponent(anchor));
    });
    return broken.map((address) => `${page}: ${address}`);
  });
}
