import Fastify, { type FastifyInstance } from 'fastify';
import type { SandboxParts } from '../sandbox-parts.ts';
import { sendFlat, sendNested } from './error-bodies.ts';
import { healthRoutes } from './health-routes.ts';
import { quotesRoutes, symbolRoutes } from './market-data-routes.ts';
import { orderEntryRoutes } from './order-entry-routes.ts';
import { orderRoutes, predictionRoutes } from './order-routes.ts';
import { predictionEntryRoutes } from './prediction-entry-routes.ts';
import { decodableUrl, ignoreBrokenMediaTypes } from './read-request.ts';
import { meetFaults } from './request-faults.ts';
import { recordRequests } from './request-record.ts';
import { researchRoutes } from './research-routes.ts';
import { mfaRoutes, signInRoutes } from './sign-in-routes.ts';
import { metadataRoutes, tokenRoutes } from './token-routes.ts';
import { unspecifiedRoutes } from './unspecified-routes.ts';
import { accountRoutes, emailRoutes, settingsRoutes } from './user-routes.ts';

export type PlatformListener = 'platform' | 'staging' | 'auth';

const maxBodyBytes = 256 * 1024;
/** Node takes no longer head, and so no longer address: an id of any length reaches its route, which knows how to say that there is none. */
const maxHeadBytes = 16 * 1024;

/**
 * One listener of the platform, not listening yet. `staging` serves all that production does, and the prediction orders, which production answers with 404
 * (docs/platform-assumptions.md, "The sandbox's first line"); `auth` is the address of the sign-in screen.
 */
export function createPlatformApp(listener: PlatformListener, parts: SandboxParts): FastifyInstance {
  const app = Fastify({
    logger: false,
    bodyLimit: maxBodyBytes,
    requestTimeout: 30_000,
    forceCloseConnections: true,
    rewriteUrl: ({ url = '/' }) => decodableUrl(url),
    routerOptions: { maxParamLength: maxHeadBytes },
  });
  // Handlers get the bytes: each endpoint has its own rule for JSON and for the error that a body gets, and the ledger keeps the bytes that came.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  ignoreBrokenMediaTypes(app);
  recordRequests(app, parts.ledger, listener);
  meetFaults(app, parts);
  app.setNotFoundHandler((_request, reply) => sendNested(reply, 404, 'not_found', 'NOT_FOUND', 'No such path'));
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    if (reply.raw.headersSent || reply.sent) return;
    const status = error.statusCode ?? 500;
    if (status >= 500) parts.log.error({ err: error }, 'sandbox: a handler failed');
    return sendFlat(reply, status, status >= 500 ? 'Internal error' : error.message);
  });
  healthRoutes(app);
  mfaRoutes(app, parts);
  metadataRoutes(app, parts);
  if (listener === 'auth') {
    signInRoutes(app, parts);
    return app;
  }
  tokenRoutes(app, parts);
  accountRoutes(app, parts);
  emailRoutes(app, parts);
  settingsRoutes(app, parts);
  symbolRoutes(app, parts);
  quotesRoutes(app, parts);
  researchRoutes(app, parts);
  orderRoutes(app, parts);
  orderEntryRoutes(app, parts);
  unspecifiedRoutes(app);
  if (listener === 'staging') {
    predictionRoutes(app, parts);
    predictionEntryRoutes(app, parts);
  }
  return app;
}
