import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Allowance } from '../commands/commands.ts';
import type { ProblemCode } from './problem-codes.ts';
import { parseStreamId } from './stream/stream-event.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before the body is read; every answer of 400 tells them. */
    headerFaults: readonly HeaderCheck[] | undefined;
  }
}

const mostHeaders = 64;
const longestUrl = 2048;

/**
 * Two of the same among these would be ambiguous: node keeps the first for some and joins others,
 * and a proxy in front of us may choose differently.
 */
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

interface HeaderFault {
  readonly code: ProblemCode;
  readonly detail?: string;
}

/**
 * A target's path and query. A proxy may name the whole address, which is the same request (RFC
 * 9112 3.2.2); what forwards it puts the path behind another instance's address.
 */
export function pathOf(target: string): string {
  if (target.startsWith('/')) return target;
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '');
  return path.startsWith('?') ? `/${path}` : path || '/';
}

/** The rules for request line and headers beyond those in node's parser. */
export function headerFault(request: IncomingMessage): HeaderFault | undefined {
  if ((request.url ?? '').length > longestUrl)
    return { code: 'URL_TOO_LONG', detail: `the URL has more than ${longestUrl} characters` };
  const { rawHeaders, headers } = request;
  // node's own maxHeadersCount silently drops the rest, perhaps an If-Match the caller relies on.
  if (rawHeaders.length > mostHeaders * 2)
    return { code: 'TOO_MANY_HEADERS', detail: `the request has more than ${mostHeaders} header fields` };
  if (hasRepeated(rawHeaders)) return { code: 'REPEATED_HEADER' };
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return { code: 'CONTENT_ENCODING' };
  return undefined;
}

/** Runs on every request, so it allocates nothing: one bit for each name seen. */
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

/** The caller's `X-Request-Id`, if it can be logged unchanged. */
export function givenRequestId(request: IncomingMessage): string | undefined {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && requestIdPattern.test(given) ? given : undefined;
}

/** An order's tag: its revision. Strong: equal tags mean equal bytes. */
export function tagOf(revision: number): string {
  return `"${revision}"`;
}

/**
 * `If-None-Match` (RFC 9110 13.1.2): true when the caller already has `tag`, by weak comparison.
 */
export function alreadyHas(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === tag);
}

/**
 * `If-Match` on a replace or cancel: one strong tag, or `*`, which any existing order matches. More
 * than one would leave open which state the caller decided on: null.
 */
export function readIfMatch(header: string | undefined): number | null | undefined {
  const text = header?.trim();
  if (text === undefined || text === '*') return undefined;
  const digits = /^"([1-9]\d{0,14})"$/.exec(text)?.[1];
  return digits === undefined ? null : Number(digits);
}

interface HeaderCheck {
  readonly path: string;
  /** Of the answer where nothing else is wrong. */
  readonly code: ProblemCode;
  readonly isRight: (text: string | undefined) => boolean;
}

const headerChecks: readonly HeaderCheck[] = [
  {
    ...{ path: 'Idempotency-Key', code: 'IDEMPOTENCY_KEY_REQUIRED' },
    isRight: (text = '') => /^[\x21-\x7e]{1,128}$/.test(text),
  },
  { path: 'If-Match', code: 'INVALID_IF_MATCH', isRight: (text) => readIfMatch(text) !== null },
  {
    ...{ path: 'Last-Event-ID', code: 'INVALID_EVENT_ID' },
    isRight: (text) => text === undefined || parseStreamId(text) !== undefined,
  },
];

/** Those of the route's own headers that are wrong. */
export function headerFaults(names: readonly string[], request: FastifyRequest): readonly HeaderCheck[] {
  // Node joins repeated ones to one text.
  const textOf = (name: string) => request.headers[name.toLowerCase()] as string | undefined;
  return headerChecks.filter(({ path, isRight }) => names.includes(path) && !isRight(textOf(path)));
}

const longestWaitSeconds = 30;

/**
 * `Prefer: wait=N` (RFC 7240): how long the caller wants us to hold the answer, in whole seconds,
 * at most 30. A value that can't be read is ignored, as the RFC says: preferences never make a
 * request fail.
 */
export function preferredWaitSeconds(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined;
  const text = Array.isArray(header) ? header.join(',') : header;
  for (const preference of text.split(',')) {
    const digits = /^\s*wait\s*=\s*"?(\d{1,6})"?\s*(?:;.*)?$/i.exec(preference)?.[1];
    if (digits !== undefined) return Math.min(Number(digits), longestWaitSeconds);
  }
  return undefined;
}

/**
 * `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers): how much this
 * request's account may still send, and when its full allowance is back.
 */
export function setAllowance(reply: FastifyReply, { limit, remaining, resetMs }: Allowance): void {
  reply.header('ratelimit-policy', `"account";q=${Math.floor(limit)}`);
  reply.header(
    'ratelimit',
    `"account";r=${Math.max(0, Math.floor(remaining))};t=${Math.max(0, Math.ceil(resetMs / 1000))}`,
  );
}
