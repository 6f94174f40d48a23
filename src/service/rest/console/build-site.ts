import { hash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { basename, dirname, extname, join, posix } from 'node:path';
import { gzipSync } from 'node:zlib';
import { browserText } from './browser-text.ts';
import { consolePage, type PageText } from './console-page.ts';

/** One console file. Its address changes with its content, so a browser may keep it for good. */
interface SiteFile {
  readonly type: string;
  readonly bytes: Uint8Array;
  readonly gzipped: Uint8Array;
}

/** The whole console, made once. Plain data: it comes from a worker. */
export interface BuiltSite {
  readonly page: PageText;
  /** By address, from `/console/` on. */
  readonly files: ReadonlyMap<string, SiteFile>;
  /**
   * Runbooks by name, as they are written: plain text. The page draws it and `curl` can read it.
   */
  readonly runbooks: ReadonlyMap<string, SiteFile>;
}

interface PackageFiles {
  readonly name: string;
  /** The file behind each name that our modules import. */
  readonly imports: Readonly<Record<string, string>>;
  readonly style?: string;
}

/** The packages that the browser gets, as they are installed. */
const packages: readonly PackageFiles[] = [
  { name: 'preact', imports: { preact: 'dist/preact.mjs', 'preact/hooks': 'hooks/dist/hooks.mjs' } },
  { name: 'htm', imports: { htm: 'dist/htm.module.js' } },
  { name: '@preact/signals-core', imports: { '@preact/signals-core': 'dist/signals-core.module.js' } },
  { name: 'uplot', imports: { uplot: 'dist/uPlot.esm.js' }, style: 'dist/uPlot.min.css' },
  // Only sign-in by an issuer needs it, and fetches it then: it is as large as a third of the page.
  { name: 'oauth4webapi', imports: { oauth4webapi: 'build/index.js' } },
];

const types: Readonly<Record<string, string>> = {
  '.ts': 'text/javascript; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.md': 'text/plain; charset=utf-8',
};

interface SiteSource {
  /** The console's sources. */
  readonly console: string;
  readonly runbooks: string;
  /** Made for the demo: the page has its screen "Break it". */
  readonly demo: boolean;
}

/**
 * Makes the console from its sources: types and comments are left out, nothing is bundled, every
 * file keeps its name. Takes some hundred milliseconds of processor time, so the service does it in
 * a worker. Throws when a source or a package is missing.
 */
export function buildSite({ demo, ...folders }: SiteSource): BuiltSite {
  const own = filesIn(folders.console, '**/*.{ts,css,svg}');
  const build = hash('sha256', own.map(([name, bytes]) => `${name} ${hash('sha256', bytes)}`).join('\n')).slice(0, 12);
  const root = `/console/app/${build}`;
  const files = new Map<string, SiteFile>();
  for (const [name, bytes] of own) {
    const text = name.endsWith('.ts') ? browserText(bytes.toString()) : bytes;
    files.set(`${root}/${name}`, siteFile(name, Buffer.from(text)));
  }
  const { imports, styles } = addPackages(files);
  const isOwnStyle = (path: string) => path.startsWith(root) && path.endsWith('.css');
  // The base comes first, then packages: a screen may say otherwise for itself.
  const base = `${root}/styles/base.css`;
  const screens = [...files.keys()].filter((path) => isOwnStyle(path) && path !== base);
  const page = consolePage({
    ...{ root, imports, demo },
    styles: [base, ...styles, ...screens],
    first: modulesFrom(`${root}/main.ts`, files, imports),
    modules: modulesFrom(`${root}/open-page.ts`, files, imports),
  });
  const runbooks = filesIn(folders.runbooks, '*.md').map(
    ([name, bytes]) => [basename(name, '.md'), siteFile(name, bytes)] as const,
  );
  return { page, files, runbooks: new Map(runbooks) };
}

function filesIn(folder: string, pattern: string): (readonly [name: string, bytes: Buffer])[] {
  const names = globSync(pattern, { cwd: folder }).sort();
  if (names.length === 0) throw new Error(`${folder} has no ${pattern}`);
  return names.map((name) => [name.replaceAll('\\', '/'), readFileSync(join(folder, name))]);
}

function addPackages(files: Map<string, SiteFile>) {
  const imports: Record<string, string> = {};
  const styles: string[] = [];
  for (const { name, imports: named, style } of packages) {
    const home = packageFolder(name);
    const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as { readonly version: string };
    const address = `/console/pkg/${name}@${version}`;
    const add = (path: string) => files.set(`${address}/${path}`, siteFile(path, readFileSync(join(home, path))));
    for (const [word, file] of Object.entries(named)) {
      imports[word] = `${address}/${file}`;
      for (const path of filesFrom(home, file)) add(path);
    }
    if (style === undefined) continue;
    add(style);
    styles.push(`${address}/${style}`);
  }
  return { imports, styles };
}

/**
 * Addresses of a module and of every module needed before it can run. Later imports, by `import()`,
 * are not among them.
 */
function modulesFrom(
  first: string,
  files: ReadonlyMap<string, SiteFile>,
  imports: Readonly<Record<string, string>>,
): ReadonlySet<string> {
  const found = new Set<string>([first]);
  for (const path of found) {
    const text = Buffer.from(files.get(path)?.bytes ?? []).toString();
    for (const [, name = ''] of text.matchAll(/\b(?:from|import)\s*["']([^"']+)["']/g)) {
      const address = name.startsWith('.') ? posix.join(posix.dirname(path), name) : imports[name];
      if (address !== undefined && files.has(address)) found.add(address);
    }
  }
  return found;
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

/** A package's file and its imports by relative paths. */
function filesFrom(home: string, first: string): ReadonlySet<string> {
  const found = new Set<string>([first]);
  for (const path of found) {
    const text = readFileSync(join(home, path), 'utf8');
    for (const [, relative = ''] of text.matchAll(/\b(?:from|import)\s*["'](\.{1,2}\/[^"']+)["']/g))
      found.add(posix.join(posix.dirname(path), relative));
  }
  return found;
}
