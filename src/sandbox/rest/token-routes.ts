import type { FastifyInstance } from 'fastify';
import { authorizeScreenPath, metadataPath } from '../../platform/wire/sign-in.ts';
import { jwksPath, scopes, tokenPath } from '../../platform/wire/token-response.ts';
import { grantToken } from '../auth/grant-token.ts';
import { jsonText } from '../exchange/wire-text.ts';
import type { SandboxParts } from '../sandbox-parts.ts';

/** `POST /v1/oauth2/token` and the public keys. */
export function tokenRoutes(app: FastifyInstance, parts: SandboxParts): void {
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
      const user = username === undefined ? '' : `,"user":${jsonText(username)},"login":"${loginId}"`;
      parts.ledger.enter(
        'token',
        `,"request":${request.ledgerSeq},"tokenId":"${tokenId}","clientId":${jsonText(clientId)},"expiresAtMs":${expiresAtMs}${user}`,
      );
      return result.answer;
    }
    const { status, error, description } = result.refusal;
    // RFC 6749, section 5.2: a client that tried to authenticate by the header is told the scheme.
    if (status === 401) reply.header('www-authenticate', 'Basic realm="token"');
    return reply.code(status).send({ error, error_description: description });
  });
  app.get(jwksPath, async () => parts.tokens.jwks());
}

/** RFC 8414, as RFC 9700 (section 2.6) asks for: a stock client finds everything from the base address. */
export function metadataRoutes(app: FastifyInstance, parts: SandboxParts): void {
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
