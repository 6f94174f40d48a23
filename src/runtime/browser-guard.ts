import type { IncomingMessage } from 'node:http';
import { bareHost, isLoopbackHost, urlHost } from './url-host.ts';

// A browser on this machine or in its network can reach our ports, but foreign pages in it must not
// use them. Two headers identify such pages: the browser writes them itself, and no page can change
// them. Other programs send neither an origin nor a site, and their `Host` is the name they were
// given.

const withPort = /^(.*?)(?::\d{1,5})?$/;

/**
 * Whether a request's `Host` names this machine, the address its connection came to, or one of
 * `names` (in lower case). With DNS rebinding a foreign page's name resolves to our address. Its
 * browser then treats the page as our own origin and lets it read our answers, but `Host` has its
 * name.
 */
export function namesThisHost({ headers, socket }: IncomingMessage, names: ReadonlySet<string>): boolean {
  const host = (withPort.exec(headers.host ?? '')?.[1] ?? '').toLowerCase();
  if (isLoopbackHost(host) || names.has(host) || names.has(bareHost(host))) return true;
  // A socket listening on IPv6 shows an IPv4 address as `::ffff:10.0.0.7`; in `Host` an IPv6
  // address stands in brackets.
  const reached = socket.localAddress?.toLowerCase().replace(/^::ffff:/, '');
  return reached !== undefined && host === urlHost(reached);
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Whether a page from another site, or from another port on this machine, asks for a change. A
 * browser sends a simple request (a POST without a JSON body) for any page and only hides the
 * answer from it. A page from one of `origins` is not foreign. Otherwise `Sec-Fetch-Site` decides
 * if it is there (W3C Fetch Metadata), and `Origin` in an older browser.
 */
export function isChangeByForeignPage(
  { method = '', headers }: IncomingMessage,
  origins: ReadonlySet<string>,
): boolean {
  if (safeMethods.has(method)) return false;
  const { origin, host } = headers;
  if (origin !== undefined && origins.has(origin)) return false;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  return origin !== undefined && URL.parse(origin)?.host !== host?.toLowerCase();
}

const none: ReadonlySet<string> = new Set();

/**
 * Whether a web page asks, for a port that serves no page itself and has no sign-in: any page is
 * foreign there. A change has an `Origin` in every browser, even under a name made to resolve here.
 * `byName`: the port is on loopback alone, so any other name in `Host` is such a name, and a read
 * is refused too.
 */
export function isByPage(request: IncomingMessage, byName: boolean): boolean {
  const { origin, 'sec-fetch-site': site } = request.headers;
  if (byName && !namesThisHost(request, none)) return true;
  return !safeMethods.has(request.method ?? '') && (origin !== undefined || (site !== undefined && site !== 'none'));
}

/**
 * Sent with every answer. Without a CORS header (cross-origin.ts) no page from another origin can
 * read anything here. TLS and HSTS belong to the TLS terminator in front.
 */
export const securityHeaders = Object.freeze({
  'cache-control': 'private, no-cache',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
});
