import { createHash, randomBytes } from 'node:crypto';
import type { SandboxDescription } from '../../../src/sandbox/describe-sandbox.ts';
import { type Answer, ask } from './sandbox.ts';

/** A PKCE pair. */
export function pkce(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/**
 * The parameters of an authorization request of the confidential client, or of what `over` says; an
 * empty text leaves one out.
 */
export function authorization(sandbox: SandboxDescription, over: Record<string, string> = {}): Record<string, string> {
  const all: Record<string, string> = {
    ...{
      response_type: 'code',
      client_id: sandbox.clientId,
      redirect_uri: sandbox.redirectUri,
      state: 'st-1',
      scope: '',
    },
    ...over,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
}

export function postJson(url: string, body: unknown): Promise<Answer> {
  return ask(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
}

export function postForm(url: string, fields: Record<string, string>): Promise<Answer> {
  return ask(url, { method: 'POST', body: new URLSearchParams(fields) });
}

export const alice = { username: 'alice', password: 'sandbox-alice' };
export const bob = { username: 'bob', password: 'sandbox-bob' };

/** A code for alice (who has no MFA), by the JSON interface. */
export async function codeFor(sandbox: SandboxDescription, over: Record<string, string> = {}): Promise<string> {
  const answer = await postJson(`${sandbox.auth}/v1/oauth2/authorize`, { ...authorization(sandbox, over), ...alice });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json.code;
}

/**
 * The token endpoint's answer for a code, of the confidential client or what `over` says; an empty
 * text leaves a field out.
 */
export function exchange(
  sandbox: SandboxDescription,
  code: string,
  over: Record<string, string> = {},
): Promise<Answer> {
  return token(sandbox, { grant_type: 'authorization_code', code, redirect_uri: sandbox.redirectUri, ...over });
}

export function refresh(
  sandbox: SandboxDescription,
  refreshToken: string,
  over: Record<string, string> = {},
): Promise<Answer> {
  return token(sandbox, { grant_type: 'refresh_token', refresh_token: refreshToken, ...over });
}

function token(sandbox: SandboxDescription, fields: Record<string, string>): Promise<Answer> {
  const all = { client_id: sandbox.clientId, client_secret: sandbox.clientSecret, ...fields };
  return postForm(
    `${sandbox.platform}/v1/oauth2/token`,
    Object.fromEntries(Object.entries(all).filter(([, value]) => value !== '')),
  );
}

/** As the app without a secret. */
export function asPublic(sandbox: SandboxDescription): { client_id: string; client_secret: '' } {
  return { client_id: sandbox.publicClientId, client_secret: '' };
}

/** What `GET /v2/users/me/accounts` shows to an access token. */
export async function accountsOf(
  sandbox: SandboxDescription,
  accessToken: string,
): Promise<{ status: number; ids: string[] }> {
  const answer = await ask(`${sandbox.platform}/v2/users/me/accounts`, {
    headers: { authorization: `Bearer ${accessToken}` },
  });
  const accounts: { trading_account_id: string }[] = answer.json?.accounts ?? [];
  return { status: answer.status, ids: accounts.map((account) => account.trading_account_id) };
}

/**
 * What a browser without script does with the address of the screen: reads the
 * form, fills it in, follows it up to the redirect, whose address is the answer. It
 * is not fetched: that is the client's own.
 */
export async function signInByForms(
  address: string,
  user: { username: string; password: string },
  options: { mfaCode?: string; decision?: 'deny' } = {},
): Promise<string> {
  const { origin } = new URL(address);
  const page = await ask(address);
  const { mfaCode, ...decision } = options;
  let answer = await postForm(`${origin}/v1/oauth2/authorize`, { ...hiddenFields(page.text), ...user, ...decision });
  if (mfaCode !== undefined) {
    const code = { ...hiddenFields(answer.text), verification_code: mfaCode };
    answer = await postForm(`${origin}/v1/oauth2/authorize/mfa`, code);
    answer = await postForm(`${origin}/v1/oauth2/authorize/confirm`, hiddenFields(answer.text));
  }
  const location = answer.headers.get('location');
  if (location === null) throw new Error(`${answer.status} ${answer.text}`);
  return location;
}

function hiddenFields(html: string): Record<string, string> {
  const fields = html.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g);
  return Object.fromEntries([...fields].map(([, name, value]) => [name, value]));
}
