import * as client from 'openid-client';
import { describe, expect, it } from 'vitest';
import type { SandboxDescription } from '../../../src/sandbox/describe-sandbox.ts';
import { runningSandbox } from '../../support/sandbox.ts';
import { accountsOf, alice, bob, postForm } from '../../support/sign-in.ts';

/** openid-client, which finds the sandbox by its metadata (RFC 8414). */
function discover(sandbox: SandboxDescription, open = false): Promise<client.Configuration> {
  const id = open ? sandbox.publicClientId : sandbox.clientId;
  const secret = open ? undefined : sandbox.clientSecret;
  const authentication = open ? client.None() : undefined;
  return client.discovery(new URL(sandbox.platform), id, secret, authentication, {
    algorithm: 'oauth2',
    // The sandbox is plain HTTP on loopback.
    execute: [client.allowInsecureRequests],
  });
}

/** What a browser does with the address that openid-client made: reads the form, fills it in, follows it to the redirect. */
async function signInAs(user: { username: string; password: string }, address: URL, mfaCode?: string): Promise<URL> {
  const fieldsOf = (html: string) =>
    Object.fromEntries(
      [...html.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
    );
  const page = await (await fetch(address)).text();
  let answer = await postForm(`${address.origin}/v1/oauth2/authorize`, { ...fieldsOf(page), ...user });
  if (mfaCode !== undefined) {
    const code = { ...fieldsOf(answer.text), verification_code: mfaCode };
    answer = await postForm(`${address.origin}/v1/oauth2/authorize/mfa`, code);
    answer = await postForm(`${address.origin}/v1/oauth2/authorize/confirm`, fieldsOf(answer.text));
  }
  return new URL(answer.headers.get('location') ?? '');
}

async function completes(sandbox: SandboxDescription, open: boolean, user: typeof alice, mfaCode?: string) {
  const config = await discover(sandbox, open);
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const expectedState = client.randomState();
  const address = client.buildAuthorizationUrl(config, {
    redirect_uri: sandbox.redirectUri,
    scope: 'account:information order:information',
    state: expectedState,
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  const callback = await signInAs(user, address, mfaCode);
  const tokens = await client.authorizationCodeGrant(config, callback, { pkceCodeVerifier, expectedState });
  return { config, tokens };
}

describe('openid-client, which nobody here wrote', () => {
  it.each([
    ['confidential', false],
    ['public', true],
  ])('completes code and PKCE, and refreshes, as a %s client', async (_kind, open) => {
    const { description: sandbox } = await runningSandbox();
    const { config, tokens } = await completes(sandbox, open, alice);
    expect((await accountsOf(sandbox, tokens.access_token)).status).toBe(200);
    const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '');
    expect(refreshed.refresh_token).not.toBe(tokens.refresh_token);
    expect((await accountsOf(sandbox, refreshed.access_token)).status).toBe(200);
  });

  it('completes a sign-in with MFA', async () => {
    const { description: sandbox } = await runningSandbox();
    const { tokens } = await completes(sandbox, false, bob, '246810');
    expect((await accountsOf(sandbox, tokens.access_token)).ids).toEqual(['SIM-1003']);
  });

  it('gets client credentials', async () => {
    const { description: sandbox } = await runningSandbox();
    const tokens = await client.clientCredentialsGrant(await discover(sandbox), { scope: 'account:information' });
    expect((await accountsOf(sandbox, tokens.access_token)).status).toBe(200);
  });

  it('understands a refusal', async () => {
    const { description: sandbox } = await runningSandbox();
    const config = await discover(sandbox);
    await expect(client.refreshTokenGrant(config, 'made-up')).rejects.toMatchObject({ error: 'invalid_grant' });
  });
});
