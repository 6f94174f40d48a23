/** On every answer. No CORS header is among them: no page of another origin reads anything here. TLS and HSTS are of the terminator in front. */
export const securityHeaders = Object.freeze({
  'cache-control': 'private, no-cache',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
});
