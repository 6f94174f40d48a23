import type { FastifyInstance } from 'fastify';
import { jwksPath, tokenPath } from '../../platform/wire/token-response.ts';
import { grantToken } from '../auth/grant-token.ts';
import { jsonText } from '../exchange/json-text.ts';
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
