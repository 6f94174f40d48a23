import { hash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { findPackageJSON, stripTypeScriptTypes } from 'node:module';
import { dirname, extname, join, posix } from 'node:path';
import { gzipSync } from 'node:zlib';
import { consolePage, type PageText } from './console-page.ts';

/** One file of the console. Its address changes with its content, so a browser may keep it for good. */
interface SiteFile {
  readonly type: string;
  readonly bytes: Uint8Array;
  readonly gzipped: Uint8Array;
}

/** Everything that the console consists of, made once. Plain data: it comes from a worker. */
export interface BuiltSite {
  readonly page: PageText;
  /** By address, from `/console/` on. */
  readonly files: ReadonlyMap<string, SiteFile>;
}

/** The packages that the browser gets, as they are installed: `imports` names the file behind each name that our modules import. */
const packages: readonly { readonly name: string; readonly imports: Readonly<Record<string, string>> }[] = [
  { name: 'preact', imports: { preact: 'dist/preact.mjs', 'preact/hooks': 'hooks/dist/hooks.mjs' } },
  { name: 'htm', imports: { htm: 'dist/htm.module.js' } },
  { name: '@preact/signals-core', imports: { '@preact/signals-core': 'dist/signals-core.module.js' } },
];

const types: Readonly<Record<string, string>> = {
  '.ts': 'text/javascript; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * Makes the console from its sources in `folder`: types are stripped, nothing is bundled, every file keeps its name. Takes some hundred milliseconds of
 * processor time, so the service does it in a worker. Throws when a source or a package is missing.
 */
export function buildSite(folder: string): BuiltSite {
  const own = globSync('**/*.{ts,css,svg}', { cwd: folder })
    .sort()
    .map((name) => [name.replaceAll('\\', '/'), readFileSync(join(folder, name))] as const);
  if (own.length === 0) throw new Error(`no sources of the console in ${folder}`);
  const build = hash('sha256', own.map(([name, bytes]) => `${name} ${hash('sha256', bytes)}`).join('\n')).slice(0, 12);
  const root = `/console/app/${build}`;
  const files = new Map<string, SiteFile>();
  for (const [name, bytes] of own) {
    const text = name.endsWith('.ts') ? stripTypeScriptTypes(bytes.toString()) : bytes;
    files.set(`${root}/${name}`, siteFile(name, Buffer.from(text)));
  }
  const imports: Record<string, string> = {};
  for (const each of packages) {
    const home = packageFolder(each.name);
    const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as { readonly version: string };
    const address = `/console/pkg/${each.name}@${version}`;
    for (const [name, file] of Object.entries(each.imports)) {
      imports[name] = `${address}/${file}`;
      for (const path of filesFrom(home, file)) files.set(`${address}/${path}`, siteFile(path, readFileSync(join(home, path))));
    }
  }
  const modules = [...files].filter(([, { type }]) => type.startsWith('text/javascript')).map(([path]) => path);
  // The base comes first: a screen may say otherwise for itself.
  const base = `${root}/styles/base.css`;
  const styles = [...files.keys()].filter((path) => path.endsWith('.css') && path !== base);
  return { page: consolePage({ root, imports, styles: [base, ...styles], modules }), files };
}

function siteFile(name: string, bytes: Buffer): SiteFile {
  const type = types[extname(name)];
  if (type === undefined) throw new Error(`the console has no content type for ${name}`);
  return { type, bytes, gzipped: gzipSync(bytes, { level: 9 }) };
}

function packageFolder(name: string): string {
  const file = findPackageJSON(name, import.meta.url);
  if (file === undefined) throw new Error(`the package ${name} is not installed`);
  return dirname(file);
}

/** A file of a package and those that it imports by a relative path. */
function filesFrom(home: string, first: string): ReadonlySet<string> {
  const found = new Set<string>([first]);
  for (const path of found) {
    const text = readFileSync(join(home, path), 'utf8');
    for (const [, relative = ''] of text.matchAll(/\b(?:from|import)\s*["'](\.{1,2}\/[^"']+)["']/g))
      found.add(posix.join(posix.dirname(path), relative));
  }
  return found;
}
