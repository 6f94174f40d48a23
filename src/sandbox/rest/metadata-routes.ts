import type { FastifyInstance } from 'fastify';
import { authorizeScreenPath, metadataPath } from '../../platform/wire/sign-in.ts';
import { jwksPath, scopes, tokenPath } from '../../platform/wire/token-response.ts';
import type { SandboxParts } from '../sandbox-parts.ts';

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
