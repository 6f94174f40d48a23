interface PageParts {
  /** Addresses of the one script, the one style and the icon. */
  readonly script: string;
  readonly style: string;
  readonly icon: string;
}

/** The console's one HTML page, without a script or style of its own. */
export function consolePage({ script, style, icon }: PageParts): string {
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
