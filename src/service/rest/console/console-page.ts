import { hash } from 'node:crypto';

/** The console's one HTML page. */
export interface PageText {
  readonly html: string;
  /** SHA-256 of the one inline script, in base64. */
  readonly inlineHash: string;
}

interface PageParts {
  /** Address of the folder with our own modules. */
  readonly root: string;
  /** The packages' addresses by the names that modules import. */
  readonly imports: Readonly<Record<string, string>>;
  /** The style sheets' addresses, in the order in which they hold. */
  readonly styles: readonly string[];
  /**
   * Addresses of the page's first module and its imports. They come before all others: what it
   * loads, it can load again.
   */
  readonly first: ReadonlySet<string>;
  /**
   * Addresses of the modules for the first view: fetched side by side, instead of one after another
   * as each names the next.
   */
  readonly modules: ReadonlySet<string>;
  /** Served by the demo: the page has its screen "Break it". */
  readonly demo: boolean;
}

/**
 * The page has no script and no style of its own, except the import map: browsers take no import
 * map from an address. So it stands inline, and the policy allows exactly this text by its hash.
 * The alternative, rewriting the names in modules and packages, would serve other code than the
 * checked code.
 */
export function consolePage({ root, imports, styles, first, modules, demo }: PageParts): PageText {
  const map = JSON.stringify({ imports });
  const html = [
    `<!doctype html><html lang="en"${demo ? ' data-demo' : ''}><head><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">',
    `<title>Tidemark</title><link rel="icon" href="${root}/icon.svg">`,
    `<script type="importmap">${map}</script>`,
    `<script type="module" src="${root}/main.ts"></script>`,
    ...preloads(first),
    ...styles.map((path) => `<link rel="stylesheet" href="${path}">`),
    ...preloads(modules),
    '</head><body><noscript>The console needs JavaScript. <a href="/docs">REST is described here.</a></noscript>',
    '<div id="console"><p class="alone" role="status">Loading … If nothing more appears, load the page again.</p></div></body></html>',
  ].join('\n');
  return { html, inlineHash: hash('sha256', map, 'base64') };
}

function preloads(addresses: ReadonlySet<string>): string[] {
  return [...addresses].map((path) => `<link rel="modulepreload" href="${path}">`);
}

/**
 * No inline script or style but the map, no eval, no frame, no form that leaves the page, no text
 * that becomes markup (trusted types). `askable`: the origins that the page may ask beside this
 * service.
 */
export function policyOf({ inlineHash }: PageText, askable: readonly string[]): string {
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${inlineHash}'`,
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
