import Fastify, { type FastifyInstance } from 'fastify';
import type { SandboxParts } from '../sandbox-parts.ts';
import { sendFlat } from './error-bodies.ts';
import { decodableUrl, ignoreBrokenMediaTypes } from './read-request.ts';
import { meetFaults } from './request-faults.ts';
import { recordRequests } from './request-record.ts';

const maxBodyBytes = 256 * 1024;
/**
 * Node takes no longer head, and so no longer address: an id with any length reaches its route. The
 * route knows how to say that there is none.
 */
const maxHeadBytes = 16 * 1024;

/** A listener without its routes. The ledger has all requests and answers, and faults meet both. */
export function openListener(listener: string, parts: SandboxParts): FastifyInstance {
  const app = Fastify({
    logger: false,
    bodyLimit: maxBodyBytes,
    requestTimeout: 30_000,
    forceCloseConnections: true,
    rewriteUrl: ({ url = '/' }) => decodableUrl(url),
    routerOptions: { maxParamLength: maxHeadBytes },
  });
  // Handlers get the bytes: each endpoint has its own rule for JSON and for a body's error, and the
  // ledger keeps the bytes as they came.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  ignoreBrokenMediaTypes(app);
  recordRequests(app, parts.ledger, listener);
  meetFaults(app, parts);
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    if (reply.raw.headersSent || reply.sent) return;
    const status = error.statusCode ?? 500;
    if (status >= 500) parts.log.error({ err: error }, 'sandbox: a handler failed');
    return sendFlat(reply, status, status >= 500 ? 'Internal error' : error.message);
  });
  return app;
}
