import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import { onTestFinished } from 'vitest';

export const stockClient = { id: 'tidemark', secret: 'stock-secret', redirectUri: 'http://127.0.0.1:8787/callback' };
const stockUser = { username: 'erin', password: 'pass-erin', code: '135790' };

/**
 * oidc-provider, which nobody here wrote, on the paths of our specification: PKCE required, refresh
 * tokens that rotate, a sign-in page that asks for a password and then for a 6-digit code.
 * `tokenRequests` counts what came to its token endpoint.
 */
export async function stockServer(client: 'confidential' | 'public' = 'confidential') {
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(url, configuration(client));
  const rest = provider.callback();
  const seen = { tokenRequests: 0 };
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.startsWith('/interaction/')) return interact(provider, request, response);
    if (request.url === '/v1/oauth2/token') seen.tokenRequests += 1;
    await rest(request, response);
  }
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  return { url, seen };
}

function configuration(client: 'confidential' | 'public'): object {
  const { id, secret, redirectUri } = stockClient;
  const authentication =
    client === 'public'
      ? { token_endpoint_auth_method: 'none', application_type: 'native' }
      : { client_secret: secret, token_endpoint_auth_method: 'client_secret_post' };
  return {
    clients: [
      {
        client_id: id,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        ...authentication,
      },
    ],
    cookies: { keys: ['test'] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_context: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    issueRefreshToken: () => true,
    pkce: { required: () => true },
    rotateRefreshToken: true,
    routes: { authorization: '/oauth2/authorize', token: '/v1/oauth2/token' },
    scopes: ['order:information'],
    ttl: {
      AccessToken: 3600,
      AuthorizationCode: 60,
      Grant: 86_400,
      Interaction: 600,
      RefreshToken: 86_400,
      Session: 86_400,
    },
  };
}

async function interact(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { params } = await provider.interactionDetails(request, response);
  const fields = await readForm(request);
  const { username, password, code } = stockUser;
  if (fields.get('username') !== username || fields.get('password') !== password)
    return page(response, '<input name="username"><input name="password" type="password">');
  if (fields.get('code') !== code)
    return page(
      response,
      `<input name="username" value="${username}"><input name="password" value="${password}"><input name="code">`,
    );
  const grant = new provider.Grant({ accountId: username, clientId: params.client_id });
  grant.addOIDCScope(params.scope ?? '');
  const grantId = await grant.save();
  await provider.interactionFinished(request, response, { login: { accountId: username }, consent: { grantId } });
}

function page(response: ServerResponse, inputs: string): void {
  response.setHeader('content-type', 'text/html');
  response.end(`<form method="post">${inputs}<button>Go on</button></form>`);
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
}

/**
 * What a browser does with the address: keeps cookies, fills in the pages, follows every redirect
 * up to the client's own address.
 */
export async function browse(address: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = new URL(address);
  let body: URLSearchParams | undefined;
  for (let step = 0; step < 20; step += 1) {
    const response: Response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(body !== undefined && { method: 'POST', body }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=');
      cookies.set(name, value);
    }
    const html = await response.text();
    const location = response.headers.get('location');
    body = undefined;
    if (location !== null) {
      url = new URL(location, url);
      if (url.href.startsWith(stockClient.redirectUri)) return url;
    } else if (html.includes('<form')) {
      const { username, password, code } = stockUser;
      body = new URLSearchParams({ username, password, ...(html.includes('name="code"') && { code }) });
    } else throw new Error(`${response.status} ${html}`);
  }
  throw new Error('the sign-in never ended');
}
