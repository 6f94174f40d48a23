import { readdir, readFile } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** What a browser fetches, by name. A name has a digest of the content. */
export type ConsoleFiles = ReadonlyMap<string, Uint8Array>;

export interface SiteFile {
  readonly type: string;
  readonly bytes: Uint8Array;
  readonly gzipped: Uint8Array;
}

/** The whole console, made once. */
export interface BuiltSite {
  /** The one HTML page. */
  readonly page: string;
  /** By address, from `/console/` on. */
  readonly files: ReadonlyMap<string, SiteFile>;
  /** Runbooks by name, as they are written: plain text for the page and for `curl`. */
  readonly runbooks: ReadonlyMap<string, SiteFile>;
}

interface SiteSource {
  readonly files: ConsoleFiles;
  readonly runbooks: ConsoleFiles;
}

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.md': 'text/plain; charset=utf-8',
};

const root = '/console/app';
const compress = promisify(gzip);

/**
 * The page around these files, and all files compressed, outside the thread for batches. Rejects if
 * script, style or icon is missing.
 */
export async function buildSite({ files, runbooks }: SiteSource): Promise<BuiltSite> {
  const named = (pattern: RegExp) => {
    const name = [...files.keys()].find((candidate) => pattern.test(candidate));
    if (name === undefined) throw new Error(`the console has no ${pattern.source}`);
    return `${root}/${name}`;
  };
  const page = consolePage({
    script: named(/^main-\w+\.js$/),
    style: named(/^style-\w+\.css$/),
    icon: named(/^icon-\w+\.svg$/),
  });
  return {
    page,
    files: await siteFiles(files, (name) => `${root}/${name}`),
    runbooks: await siteFiles(runbooks, (name) => basename(name, '.md')),
  };
}

/** A folder's files, by name. */
export async function filesIn(folder: string): Promise<ConsoleFiles> {
  const files = new Map<string, Uint8Array>();
  for (const name of await readdir(folder)) files.set(name, await readFile(join(folder, name)));
  return files;
}

async function siteFiles(files: ConsoleFiles, addressOf: (name: string) => string): Promise<Map<string, SiteFile>> {
  const made = new Map<string, SiteFile>();
  for (const [name, bytes] of files) {
    const type = types[extname(name)];
    if (type === undefined) throw new Error(`the console has no content type for ${name}`);
    made.set(addressOf(name), { type, bytes, gzipped: await compress(bytes, { level: 9 }) });
  }
  return made;
}

/** The console's one HTML page, without a script or style of its own. The parts are addresses. */
function consolePage({ script, style, icon }: Readonly<Record<'script' | 'style' | 'icon', string>>): string {
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">',
    `<title>Tidemark</title><link rel="icon" href="${icon}">`,
    `<script type="module" src="${script}"></script>`,
    `<link rel="stylesheet" href="${style}">`,
    '</head><body><noscript>The console needs JavaScript. <a href="/docs">REST is described here.</a></noscript>',
    '<div id="console"><p class="alone" role="status">Loading … If nothing more appears, load the page again.</p></div></body></html>',
  ].join('\n');
}

/**
 * No inline script or style, no eval, no frame, no form to another site, no text turned into markup
 * (trusted types). `askable`: the origins the page may ask beside this service.
 */
export function policyOf(askable: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    ["connect-src 'self'", ...askable].join(' '),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}
