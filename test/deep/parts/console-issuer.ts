import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';

const audience = 'https://tidemark.example';
const clientId = 'tidemark-console';
const scopes = 'orders:read orders:write ops:read ops:write';

interface IssuerOptions {
  /** The claim of every access token. */
  readonly accounts: readonly string[];
}

/**
 * oidc-provider as the issuer of a desk: a public client with PKCE, access tokens
 * by RFC 9068 with the accounts of their user, refresh tokens that rotate. Its
 * sign-in page has two buttons. `stop` ends it.
 */
export async function consoleIssuer({ accounts }: IssuerOptions) {
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  /** How long the next access token is valid. */
  const state = { tokenSeconds: 3600 };
  const asked: string[] = [];
  const made = Promise.withResolvers<Provider>();
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const provider = await made.promise;
    const path = request.url?.split('?', 1)[0] ?? '';
    if (path.startsWith('/interaction/')) return interact(provider, request, response);
    if (request.method !== 'OPTIONS') asked.push(path);
    await provider.callback()(request, response);
  }
  return {
    url,
    state,
    /** The paths that were asked for. */
    asked,
    jwt: { issuer: url, audience, jwksUrl: `${url}/jwks`, algorithms: ['ES256'], typ: 'at+jwt' as const },
    signIn: { issuer: url, audience, clientId, scope: `openid offline_access ${scopes}`, resource: audience },
    /**
     * The console is a client from now on, at the address of the service;
     * until then each request to the issuer waits.
     */
    async register(service: string): Promise<void> {
      made.resolve(new Provider(url, await configuration(state, accounts, `${service}/console/signed-in`)));
    },
    /** Uses a refresh token as another program would: its owner cannot use it any more. */
    async useUp(refreshToken: string): Promise<number> {
      const body = new URLSearchParams({
        grant_type: 'refresh_token',
        client_id: clientId,
        refresh_token: refreshToken,
      });
      return (await fetch(`${url}/token`, { method: 'POST', body })).status;
    },
    stop: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

async function configuration(
  state: { readonly tokenSeconds: number },
  accounts: readonly string[],
  redirectUri: string,
): Promise<object> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return {
    clients: [
      {
        client_id: clientId,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        id_token_signed_response_alg: 'ES256',
      },
    ],
    clientBasedCORS: () => true,
    cookies: { keys: ['test'] },
    extraParams: ['audience'],
    extraTokenClaims: () => ({ accounts }),
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: scopes,
          audience,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
    findAccount: (_context: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    issueRefreshToken: () => true,
    // The console is the desk's own program, so no user is asked for a consent.
    loadExistingGrant: ({ oidc }: GrantContext) => grantFor(oidc),
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'one', alg: 'ES256', use: 'sig' }] },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    ttl: {
      AccessToken: () => state.tokenSeconds,
      AuthorizationCode: 60,
      Grant: 86_400,
      IdToken: 600,
      Interaction: 600,
      RefreshToken: 86_400,
      Session: 86_400,
    },
  };
}

async function interact(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') {
    response.setHeader('content-type', 'text/html');
    response.end(
      '<!doctype html><title>Issuer</title><form method="post"><button>Sign in as erin</button><button formaction="?no">Stop</button></form>',
    );
    return;
  }
  if (request.url?.endsWith('?no')) return provider.interactionFinished(request, response, { error: 'access_denied' });
  await provider.interactionFinished(request, response, { login: { accountId: 'erin' } });
}

interface GrantContext {
  readonly oidc: { readonly provider: Provider; readonly session: { readonly accountId?: string } };
}

async function grantFor({ provider, session }: GrantContext['oidc']): Promise<unknown> {
  if (session.accountId === undefined) return undefined;
  const grant = new provider.Grant({ accountId: session.accountId, clientId });
  grant.addOIDCScope('openid offline_access');
  grant.addResourceScope(audience, scopes);
  await grant.save();
  return grant;
}
