import type { FastifyReply, FastifyRequest } from 'fastify';
import { routeTable } from './route-table.ts';

// CORS: pages from the configured origins may use REST as programs do, with a token of their own.
// No cookie is ever read, so no credentials are allowed. Without origins no CORS header is sent.

const allowedMethods = [...new Set(routeTable.map(({ method }) => method))].join(', ');

/** Every request header read by a route, beside those that a page may always send. */
const allowedHeaders = [
  'Authorization',
  'Content-Type',
  'X-Request-Id',
  'Traceparent',
  ...new Set(routeTable.flatMap(({ headers = [] }) => headers)),
].join(', ');

/** Answers' headers that a page could not read otherwise. */
const exposedHeaders = [
  'Allow',
  'ETag',
  'Idempotent-Replayed',
  'Location',
  'Preference-Applied',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Tidemark-Instance',
  'WWW-Authenticate',
  'X-Request-Id',
].join(', ');

/**
 * How long a browser may keep the answer to a preflight: an origin removed from the configuration
 * is refused in any case.
 */
const preflightSeconds = '600';

/**
 * With these headers a browser lets a page from `origin` read the answer. `origins`: as a browser
 * writes them. With any origin configured, answers depend on it, and `Vary` says so to caches.
 */
export function allowOrigin(reply: FastifyReply, origin: string | undefined, origins: ReadonlySet<string>): void {
  if (origins.size === 0) return;
  reply.header('vary', 'Origin');
  if (origin === undefined || !origins.has(origin)) return;
  reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': exposedHeaders });
}

/** A browser asks for another origin's page whether it may ask. */
export function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/**
 * Answers an allowed origin's preflight: it carries no token, and does nothing. False: it is none.
 */
export function answerPreflight(reply: FastifyReply, origins: ReadonlySet<string>): boolean {
  const { headers } = reply.request;
  if (!isPreflight(reply.request)) return false;
  if (headers.origin === undefined || !origins.has(headers.origin)) return false;
  reply.headers({
    'access-control-allow-methods': allowedMethods,
    'access-control-allow-headers': allowedHeaders,
    'access-control-max-age': preflightSeconds,
  });
  reply.code(204).send();
  return true;
}
