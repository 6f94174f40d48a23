import type { IncomingMessage } from 'node:http';

export const mostHeaders = 64;
export const longestUrl = 2048;

/** Where two would be two meanings: node keeps the first of some and joins others, a proxy in front of us may choose otherwise. */
const once = new Map(
  [
    'host',
    'authorization',
    'content-type',
    'content-length',
    'content-encoding',
    'transfer-encoding',
    'idempotency-key',
    'if-match',
    'if-none-match',
    'last-event-id',
    'x-request-id',
  ].map((name, i) => [name, 1 << i] as const),
);

export interface HeaderFault {
  readonly status: 400 | 414 | 415 | 431;
  readonly code: string;
  readonly detail: string;
}

/** The rules for request line and headers that node's parser does not hold by itself. */
export function headerFault(request: IncomingMessage): HeaderFault | undefined {
  if ((request.url ?? '').length > longestUrl)
    return { status: 414, code: 'URL_TOO_LONG', detail: `the URL has more than ${longestUrl} characters` };
  const { rawHeaders, headers } = request;
  // node's own maxHeadersCount drops the rest in silence, and with it an If-Match that the caller relies on.
  if (rawHeaders.length > mostHeaders * 2)
    return { status: 431, code: 'TOO_MANY_HEADERS', detail: `the request has more than ${mostHeaders} header fields` };
  if (hasRepeated(rawHeaders))
    return { status: 400, code: 'REPEATED_HEADER', detail: 'a header that may stand once stands twice' };
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    return { status: 415, code: 'CONTENT_ENCODING', detail: 'a body is read without content encoding only' };
  return undefined;
}

/** On every request: a bit for each name that was seen, nothing is allocated. */
function hasRepeated(rawHeaders: readonly string[]): boolean {
  let seen = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const bit = once.get((rawHeaders[at] ?? '').toLowerCase());
    if (bit === undefined) continue;
    if ((seen & bit) !== 0) return true;
    seen |= bit;
  }
  return false;
}

const requestIdPattern = /^[A-Za-z0-9._:-]{1,100}$/;

/** The caller's `X-Request-Id` where it can stand in a log as it is. */
export function givenRequestId(request: IncomingMessage): string | undefined {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && requestIdPattern.test(given) ? given : undefined;
}
