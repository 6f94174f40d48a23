import * as client from 'openid-client';
import { describe, expect, it } from 'vitest';
import type { SandboxDescription } from '../../../src/sandbox/describe-sandbox.ts';
import { runningSandbox } from '../../support/platform/sandbox.ts';
import { accountsOf, alice, bob, signInByForms } from '../../support/platform/sign-in.ts';

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
  const callback = new URL(await signInByForms(address.href, user, mfaCode === undefined ? {} : { mfaCode }));
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
