import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import type { SandboxDescription } from '../../../src/sandbox/describe-sandbox.ts';
import { beginAuthorization, readCallback } from '../../../src/venue/platform/authorization.ts';
import { exchangeToken } from '../../../src/venue/platform/exchange-token.ts';
import { UndiciHttp } from '../../../src/venue/platform/undici-http.ts';
import { runningSandbox } from '../../support/platform/sandbox.ts';
import { accountsOf, alice, bob, signInByForms } from '../../support/platform/sign-in.ts';

function deps() {
  const http = new UndiciHttp({ clock: systemClock });
  onTestFinished(() => http.close());
  return { http, clock: systemClock };
}

function optionsOf(sandbox: SandboxDescription, open = false) {
  const client = open
    ? { clientId: sandbox.publicClientId }
    : { clientId: sandbox.clientId, clientSecret: new Secret(sandbox.clientSecret) };
  return { authUrl: sandbox.auth, platformUrl: sandbox.platform, redirectUri: sandbox.redirectUri, ...client };
}

describe('our client', () => {
  it.each([
    ['a confidential', false],
    ['a public', true],
  ])('signs a user in with code and PKCE as %s client', async (_kind, open) => {
    const { description: sandbox } = await runningSandbox();
    const options = optionsOf(sandbox, open);
    const authorization = await beginAuthorization({ ...options, scope: 'account:information' });
    const { searchParams } = new URL(await signInByForms(authorization.url, alice));
    const read = readCallback(options, authorization, searchParams);
    if (!read.ok) throw new Error(read.error.message);
    const result = await exchangeToken(deps(), sandbox.platform, options, read.grant);
    if (!result.ok) throw new Error(result.error.message);
    expect(result.token.scope).toBe('account:information');
    expect((await accountsOf(sandbox, result.token.accessToken.reveal())).ids).toEqual(['SIM-1001', 'SIM-1002']);
  });

  it('takes the MFA steps of a user who has them', async () => {
    const { description: sandbox } = await runningSandbox();
    const options = optionsOf(sandbox);
    const authorization = await beginAuthorization(options);
    const { searchParams } = new URL(await signInByForms(authorization.url, bob, { mfaCode: '246810' }));
    const read = readCallback(options, authorization, searchParams);
    if (!read.ok) throw new Error(read.error.message);
    const result = await exchangeToken(deps(), sandbox.platform, options, read.grant);
    if (!result.ok) throw new Error(result.error.message);
    expect((await accountsOf(sandbox, result.token.accessToken.reveal())).ids).toEqual(['SIM-1003']);
  });

  it('makes a state and a verifier of its own for every sign-in, and prints neither', async () => {
    const { description: sandbox } = await runningSandbox();
    const [one, two] = [await beginAuthorization(optionsOf(sandbox)), await beginAuthorization(optionsOf(sandbox))];
    expect(one.state.reveal()).not.toBe(two.state.reveal());
    expect(one.verifier.reveal()).not.toBe(two.verifier.reveal());
    expect(one.url).not.toContain(one.verifier.reveal());
    expect(JSON.stringify([one.state, one.verifier])).toBe('["[redacted]","[redacted]"]');
    expect(new URL(one.url).searchParams.get('code_challenge_method')).toBe('S256');
  });
});

describe('what the redirect brings back', () => {
  const options = {
    authUrl: 'http://127.0.0.1:1',
    platformUrl: 'http://127.0.0.1:1',
    clientId: 'id',
    redirectUri: 'http://127.0.0.1:2/cb',
  };

  it.each<[string, (state: string) => Record<string, string> | [string, string][], string]>([
    ['another state', () => ({ code: 'c', state: 'forged' }), 'STATE_MISMATCH'],
    ['no state', () => ({ code: 'c' }), 'STATE_MISMATCH'],
    [
      'two states',
      (state) => [
        ['code', 'c'],
        ['state', state],
        ['state', 'x'],
      ],
      'STATE_MISMATCH',
    ],
    ['an error of another sign-in', () => ({ error: 'access_denied', state: 'forged' }), 'STATE_MISMATCH'],
    ['no code', (state) => ({ state }), 'BAD_ANSWER'],
    [
      'two codes',
      (state) => [
        ['code', 'c'],
        ['code', 'd'],
        ['state', state],
      ],
      'BAD_ANSWER',
    ],
    ['a denial without a state', () => ({ error: 'access_denied' }), 'access_denied'],
    ['an error beside a code, without a state', () => ({ error: 'x', code: 'c' }), 'STATE_MISMATCH'],
    ['a denial', (state) => ({ error: 'access_denied', state }), 'access_denied'],
    ['the answer of another server', (state) => ({ code: 'c', state, iss: 'https://evil.example' }), 'BAD_ANSWER'],
  ])('ends the flow with %s', async (_what, parameters, code) => {
    const authorization = await beginAuthorization(options);
    const callback = new URLSearchParams(parameters(authorization.state.reveal()));
    expect(readCallback(options, authorization, callback)).toMatchObject({
      ok: false,
      error: { code, retryable: false },
    });
  });
});
