import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { authorizeScreenPath, jwksPath, metadataPath, scopes, tokenPath } from '../../venue/platform/wire/oauth.ts';
import { grantToken } from '../auth/grant-token.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { sendNested } from './error-bodies.ts';
import { quotesRoutes, researchRoutes, symbolRoutes } from './market-data-routes.ts';
import { openListener } from './open-listener.ts';
import { orderEntryRoutes, predictionEntryRoutes } from './order-entry-routes.ts';
import { orderRoutes, predictionRoutes } from './order-routes.ts';
import { mfaRoutes, signInRoutes } from './sign-in-routes.ts';
import { accountRoutes, emailRoutes, settingsRoutes } from './user-routes.ts';

/**
 * Endpoint groups that the specification names without a path or a shape. Under `options` only the
 * quotes have one, and health is its own.
 */
const groups = new Set([
  'watchlists',
  'charts',
  'analytics',
  'calendars',
  'company',
  'economy',
  'financials',
  'indices',
  'options',
  'news',
  'filings',
  'etf',
  'corporate-actions',
  'stock-estimates',
  'technical-analysis',
  'signals',
  'logos',
  'market-status',
]);

function answerUnknownPath(reply: FastifyReply): FastifyReply {
  return sendNested(reply, 404, 'not_found', 'NOT_FOUND', 'No such path');
}

/**
 * What has no route. A group answers 501 to every method: there is nothing to implement
 * (docs/platform-assumptions.md, "Data"). Routes of their own, 30 methods each, took half of the
 * time that an app took to be made.
 */
function answerUnserved(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const group = /^\/v1\/([a-z-]+)(?=[/?]|$)/.exec(request.url)?.[1];
  if (group === undefined || !groups.has(group)) return answerUnknownPath(reply);
  return sendNested(reply, 501, 'internal', 'NOT_SPECIFIED', `The specification names ${group} without a shape`);
}

/** `GET /v1/health`, open to everybody. */
function healthRoutes(app: FastifyInstance): void {
  app.get('/v1/health', async () => ({ status: 'ok' }));
}

/** `POST /v1/oauth2/token` and the public keys. */
function tokenRoutes(app: FastifyInstance, parts: SandboxParts): void {
  app.post(tokenPath, async (request, reply) => {
    reply.header('cache-control', 'no-store').header('pragma', 'no-cache');
    const authorization = request.headers.authorization;
    const result = await grantToken(parts, {
      contentType: request.headers['content-type'] ?? '',
      authorization,
      body: Buffer.isBuffer(request.body) ? request.body.toString('utf8') : '',
    });
    if ('answer' in result) {
      const { tokenId, clientId, expiresAtMs, username, loginId } = result.principal;
      const about = { tokenId, clientId, expiresAtMs, user: username, login: loginId };
      parts.ledger.enter('token', { request: request.ledgerSeq, ...about });
      return result.answer;
    }
    const { status, error, description } = result.refusal;
    // RFC 6749, section 5.2: the answer names the scheme to a client that tried to authenticate by
    // the header.
    if (status === 401) reply.header('www-authenticate', 'Basic realm="token"');
    return reply.code(status).send({ error, error_description: description });
  });
  app.get(jwksPath, async () => parts.tokens.jwks());
}

/**
 * RFC 8414, as RFC 9700 (section 2.6) asks for: a stock client finds everything from the base
 * address.
 */
function metadataRoutes(app: FastifyInstance, parts: SandboxParts): void {
  app.get(metadataPath, async () => {
    const { issuer } = parts.tokens;
    return {
      issuer,
      authorization_endpoint: `${parts.signIns.screenAddress}${authorizeScreenPath}`,
      token_endpoint: `${issuer}${tokenPath}`,
      jwks_uri: `${issuer}${jwksPath}`,
      scopes_supported: [...scopes],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
    };
  });
}

type PlatformListener = 'platform' | 'staging' | 'auth';

/**
 * One platform listener, not listening yet. `staging` serves everything production does, and the
 * prediction orders; production answers these with 404 (docs/platform-assumptions.md, "The
 * sandbox's first line"). `auth` is the sign-in screen's address.
 */
export function createPlatformApp(listener: PlatformListener, parts: SandboxParts): FastifyInstance {
  const app = openListener(listener, parts);
  app.setNotFoundHandler((request, reply) =>
    listener === 'auth' ? answerUnknownPath(reply) : answerUnserved(request, reply),
  );
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
  if (listener === 'staging') {
    predictionRoutes(app, parts);
    predictionEntryRoutes(app, parts);
  }
  return app;
}
