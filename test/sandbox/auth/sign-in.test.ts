import { describe, expect, it } from 'vitest';
import type { SandboxDescription } from '../../../src/sandbox/describe-sandbox.ts';
import { codeGiven, mfaAnswer, mfaAsked, tokenError } from '../../../src/venue/platform/wire/oauth.ts';
import { type Answer, ask, controlLines, runningSandbox } from '../../support/platform/sandbox.ts';
import {
  accountsOf,
  alice,
  asPublic,
  authorization,
  bob,
  exchange,
  pkce,
  postForm,
  postJson,
} from '../../support/platform/sign-in.ts';

const signIn = (sandbox: SandboxDescription, fields: Record<string, string>) =>
  postJson(`${sandbox.auth}/v1/oauth2/authorize`, { ...authorization(sandbox), ...fields });

function screen(sandbox: SandboxDescription, over: Record<string, string> = {}): Promise<Answer> {
  return ask(`${sandbox.auth}/oauth2/authorize?${new URLSearchParams(authorization(sandbox, over))}`);
}

function redirected(answer: Answer): URL {
  expect(answer.status).toBe(303);
  return new URL(answer.headers.get('location') ?? '');
}

describe('the JSON interface of the sign-in', () => {
  it('gives a code, the state and the redirect URI to a user without MFA', async () => {
    const { description: sandbox } = await runningSandbox();
    const answer = await signIn(sandbox, alice);
    expect(codeGiven.parse(answer.json)).toMatchObject({ state: 'st-1', redirect_uri: sandbox.redirectUri });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect((await exchange(sandbox, answer.json.code)).status).toBe(200);
  });

  it.each(['auth', 'platform', 'staging'] as const)(
    'asks a user with MFA for the code, then to confirm (on %s)',
    async (at) => {
      const { description: sandbox } = await runningSandbox();
      const asked = mfaAsked.parse((await signIn(sandbox, bob)).json);
      const base = `${sandbox[at]}/v1/oauth2/authorize`;
      const verified = await postJson(`${base}/mfa`, {
        next_step_auth_id: asked.next_step_auth_id,
        verification_code: '246810',
      });
      const { next_step_auth_id } = mfaAnswer.parse(verified.json);
      const given = codeGiven.parse((await postJson(`${base}/confirm`, { next_step_auth_id })).json);
      expect(given).toMatchObject({ state: 'st-1', redirect_uri: sandbox.redirectUri });
      const { access_token } = (await exchange(sandbox, given.code)).json;
      expect((await accountsOf(sandbox, access_token)).ids).toEqual(['SIM-1003']);
      // A step is taken once.
      expect((await postJson(`${base}/confirm`, { next_step_auth_id })).status).toBe(401);
    },
  );

  it.each([
    ['a wrong password', { ...alice, password: 'wrong' }],
    ['an unknown user', { username: 'nobody', password: 'sandbox-alice' }],
    ['a name from the prototype', { username: '__proto__', password: '' }],
    ['no password', { username: 'alice' }],
  ])('refuses %s with access_denied, and never says which of the two was wrong', async (_what, fields) => {
    const { description: sandbox } = await runningSandbox();
    const answer = await signIn(sandbox, fields);
    expect([answer.status, tokenError.parse(answer.json)]).toEqual([
      401,
      { error: 'access_denied', error_description: 'Wrong user name or password' },
    ]);
  });

  it('refuses a wrong MFA code, an unknown step, and confirm before the code was verified', async () => {
    const { description: sandbox } = await runningSandbox();
    const { next_step_auth_id } = (await signIn(sandbox, bob)).json;
    const base = `${sandbox.auth}/v1/oauth2/authorize`;
    const denied = [
      await postJson(`${base}/mfa`, { next_step_auth_id, verification_code: '000000' }),
      await postJson(`${base}/mfa`, { next_step_auth_id: 'made-up', verification_code: '246810' }),
      await postJson(`${base}/confirm`, { next_step_auth_id }),
      await postJson(`${base}/confirm`, { next_step_auth_id: 'made-up' }),
    ];
    expect(denied.map(({ status, json }) => [status, json.error])).toEqual(Array(4).fill([401, 'access_denied']));
    expect((await postJson(`${base}/mfa`, { next_step_auth_id, verification_code: '246810' })).status).toBe(200);
  });

  it('ends a sign-in after five wrong MFA codes', async () => {
    const { description: sandbox } = await runningSandbox();
    const { next_step_auth_id } = (await signIn(sandbox, bob)).json;
    const mfa = (verification_code: string) =>
      postJson(`${sandbox.auth}/v1/oauth2/authorize/mfa`, { next_step_auth_id, verification_code });
    for (let i = 0; i < 5; i += 1) expect((await mfa('000000')).status).toBe(401);
    expect((await mfa('246810')).status).toBe(401);
  });

  it('bounds wrong MFA codes over all sign-ins of a user', async () => {
    const { description: sandbox } = await runningSandbox();
    const guess = async () => {
      const { next_step_auth_id } = (await signIn(sandbox, bob)).json;
      const url = `${sandbox.auth}/v1/oauth2/authorize/mfa`;
      return (await postJson(url, { next_step_auth_id, verification_code: '000000' })).status;
    };
    const statuses: number[] = [];
    for (let i = 0; i < 11; i += 1) statuses.push(await guess());
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
  });

  it('bounds wrong passwords for one name, with a Retry-After, and leaves other users alone', async () => {
    const { description: sandbox } = await runningSandbox();
    for (let i = 0; i < 10; i += 1)
      expect((await signIn(sandbox, { ...alice, password: `guess-${i}` })).status).toBe(401);
    const refused = await signIn(sandbox, alice);
    expect([refused.status, refused.json.error]).toEqual([429, 'temporarily_unavailable']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await signIn(sandbox, bob)).status).toBe(200);
  });

  it('enters each step in the ledger', async () => {
    const { description: sandbox } = await runningSandbox();
    await signIn(sandbox, { ...alice, password: 'wrong' });
    await signIn(sandbox, alice);
    expect(await controlLines(sandbox, '/ledger?kind=sign_in')).toMatchObject([
      { step: 'password', result: 'denied', user: 'alice' },
      { step: 'password', result: 'code', user: 'alice' },
    ]);
  });

  it('answers a body that is neither form nor JSON, or lacks a field, with invalid_request', async () => {
    const { description: sandbox } = await runningSandbox();
    const base = `${sandbox.auth}/v1/oauth2/authorize`;
    const broken = [
      await ask(base, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'x' }),
      await ask(base, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' }),
      await postJson(base, { ...authorization(sandbox), username: 1 }),
      await postJson(`${base}/mfa`, { next_step_auth_id: 'x' }),
      await postJson(`${base}/confirm`, {}),
    ];
    expect(broken.map(({ status, json }) => [status, json.error])).toEqual(Array(5).fill([400, 'invalid_request']));
  });
});

describe('an authorization request', () => {
  it.each([
    ['an unknown client', { client_id: 'nobody' }],
    ['no client', { client_id: '' }],
    ['no redirect URI', { redirect_uri: '' }],
    ['another redirect URI', { redirect_uri: 'https://evil.example/callback' }],
    ['a redirect URI with a trailing slash', { redirect_uri: 'http://127.0.0.1:8787/callback/' }],
    ['a redirect URI with another scheme', { redirect_uri: 'https://127.0.0.1:8787/callback' }],
    ['a redirect URI with a query', { redirect_uri: 'http://127.0.0.1:8787/callback?next=/' }],
    ['a redirect URI in another case', { redirect_uri: 'http://127.0.0.1:8787/Callback' }],
    ['a redirect URI with another port', { redirect_uri: 'http://127.0.0.1:8788/callback' }],
  ])('with %s sends nobody anywhere', async (_what, over) => {
    const { description: sandbox } = await runningSandbox();
    const page = await screen(sandbox, over);
    expect([page.status, page.headers.get('location')]).toEqual([400, null]);
    expect(page.text).toContain('role="alert"');
    const form = await postForm(`${sandbox.auth}/v1/oauth2/authorize`, { ...authorization(sandbox, over), ...alice });
    expect([form.status, form.headers.get('location')]).toEqual([400, null]);
    const json = await postJson(`${sandbox.auth}/v1/oauth2/authorize`, { ...authorization(sandbox, over), ...alice });
    expect([json.status, json.json.error]).toEqual([400, 'invalid_request']);
  });

  it.each<[string, Record<string, string>, string]>([
    ['no response type', { response_type: '' }, 'invalid_request'],
    ['the implicit response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['a scope that the client lacks', { scope: 'order:information admin' }, 'invalid_scope'],
    ['a plain challenge', { code_challenge: pkce().challenge, code_challenge_method: 'plain' }, 'invalid_request'],
    ['a challenge without a method', { code_challenge: pkce().challenge }, 'invalid_request'],
    ['a method without a challenge', { code_challenge_method: 'S256' }, 'invalid_request'],
    ['a challenge of another length', { code_challenge: 'short', code_challenge_method: 'S256' }, 'invalid_request'],
    ['a public client without PKCE', { client_id: 'sandbox-app' }, 'invalid_request'],
  ])('with %s goes back to the client as an error with the state', async (_what, over, error) => {
    const { description: sandbox } = await runningSandbox();
    const location = redirected(await screen(sandbox, over));
    expect(`${location.origin}${location.pathname}`).toBe(sandbox.redirectUri);
    expect(Object.fromEntries(location.searchParams)).toMatchObject({ error, state: 'st-1' });
    const json = await signIn(sandbox, { ...alice, ...over });
    if (over['response_type'] !== '') expect(json.json).toMatchObject({ error, state: 'st-1' });
  });

  it('with a parameter twice goes back as an error', async () => {
    const { description: sandbox } = await runningSandbox();
    const query = new URLSearchParams(authorization(sandbox));
    query.append('scope', 'order:information');
    query.append('scope', 'order:execution');
    const location = redirected(await ask(`${sandbox.auth}/oauth2/authorize?${query}`));
    expect(location.searchParams.get('error')).toBe('invalid_request');
  });

  it('without a state gets none back', async () => {
    const { description: sandbox } = await runningSandbox();
    const answer = await postForm(`${sandbox.auth}/v1/oauth2/authorize`, {
      ...authorization(sandbox, { state: '' }),
      ...alice,
    });
    expect([...redirected(answer).searchParams.keys()]).toEqual(['code']);
  });
});

describe('the sign-in screen', () => {
  it('is a form that leads to a redirect with code and state', async () => {
    const { description: sandbox } = await runningSandbox();
    const page = await screen(sandbox, { state: 'a "b" <c> & d' });
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(page.text).toContain('a &quot;b&quot; &lt;c&gt; &amp; d');
    expect(page.text).not.toContain('<c>');
    const fields = { ...authorization(sandbox, { state: 'a "b" <c> & d' }), ...alice, decision: 'allow' };
    const location = redirected(await postForm(`${sandbox.auth}/v1/oauth2/authorize`, fields));
    expect(location.href).toContain(`${sandbox.redirectUri}?`);
    expect(location.searchParams.get('state')).toBe('a "b" <c> & d');
    expect((await exchange(sandbox, location.searchParams.get('code') ?? '')).status).toBe(200);
  });

  it('cannot be framed, cached, scripted, or seen in a Referer', async () => {
    const { description: sandbox } = await runningSandbox();
    const { headers } = await screen(sandbox);
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
  });

  it('sends the client an access_denied when the user says no, password or not', async () => {
    const { description: sandbox } = await runningSandbox();
    const fields = { ...authorization(sandbox), decision: 'deny' };
    const location = redirected(await postForm(`${sandbox.auth}/v1/oauth2/authorize`, fields));
    expect(Object.fromEntries(location.searchParams)).toMatchObject({ error: 'access_denied', state: 'st-1' });
    expect(location.searchParams.get('code')).toBeNull();
    const json = await signIn(sandbox, { decision: 'deny' });
    expect([json.status, json.json.error]).toEqual([403, 'access_denied']);
  });

  it('shows itself again after a wrong password, with the request still in it', async () => {
    const { description: sandbox } = await runningSandbox();
    const again = await postForm(`${sandbox.auth}/v1/oauth2/authorize`, {
      ...authorization(sandbox),
      ...alice,
      password: 'x',
    });
    expect(again.status).toBe(401);
    expect(again.text).toContain('Wrong user name or password');
    expect(again.text).toContain('name="state" value="st-1"');
    expect(again.text).not.toContain('value="x"');
  });

  it('asks for the MFA code on a page of its own, then to allow, then redirects', async () => {
    const { description: sandbox } = await runningSandbox();
    const base = `${sandbox.auth}/v1/oauth2/authorize`;
    const mfa = await postForm(base, { ...authorization(sandbox), ...bob });
    const id = /name="next_step_auth_id" value="([^"]+)"/.exec(mfa.text)?.[1] ?? '';
    expect([mfa.status, mfa.text.includes('name="verification_code"')]).toEqual([200, true]);
    const wrong = await postForm(`${base}/mfa`, { next_step_auth_id: id, verification_code: '000000' });
    expect([wrong.status, wrong.text.includes('Wrong verification code')]).toEqual([401, true]);
    const allow = await postForm(`${base}/mfa`, { next_step_auth_id: id, verification_code: '246810' });
    expect([allow.status, allow.text.includes('/v1/oauth2/authorize/confirm')]).toEqual([200, true]);
    const location = redirected(await postForm(`${base}/confirm`, { next_step_auth_id: id }));
    expect((await exchange(sandbox, location.searchParams.get('code') ?? '')).status).toBe(200);
  });

  it.each(['json', 'form'] as const)('lets a user with MFA say no on the last page, as %s', async (as) => {
    const { description: sandbox } = await runningSandbox();
    const base = `${sandbox.auth}/v1/oauth2/authorize`;
    const { next_step_auth_id } = mfaAsked.parse((await signIn(sandbox, bob)).json);
    const page = await postForm(`${base}/mfa`, { next_step_auth_id, verification_code: '246810' });
    expect(page.text).toContain('value="deny"');
    const no = { next_step_auth_id, decision: 'deny' };
    if (as === 'form') {
      const location = redirected(await postForm(`${base}/confirm`, no));
      expect(Object.fromEntries(location.searchParams)).toMatchObject({ error: 'access_denied', state: 'st-1' });
    } else {
      const answer = await postJson(`${base}/confirm`, no);
      expect([answer.status, answer.json.error]).toEqual([403, 'access_denied']);
    }
    // It is over: neither yes nor no finds it.
    expect((await postJson(`${base}/confirm`, { next_step_auth_id })).status).toBe(401);
    expect((await postJson(`${base}/confirm`, no)).status).toBe(401);
  });

  it('serves public clients with PKCE', async () => {
    const { description: sandbox } = await runningSandbox();
    const { verifier, challenge } = pkce();
    const fields = authorization(sandbox, {
      client_id: sandbox.publicClientId,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    });
    const location = redirected(await postForm(`${sandbox.auth}/v1/oauth2/authorize`, { ...fields, ...alice }));
    const code = location.searchParams.get('code') ?? '';
    expect((await exchange(sandbox, code, { ...asPublic(sandbox), code_verifier: verifier })).status).toBe(200);
  });

  it('is only on its own address', async () => {
    const { description: sandbox } = await runningSandbox();
    expect((await ask(`${sandbox.platform}/oauth2/authorize`)).status).toBe(404);
    expect((await ask(`${sandbox.auth}/v2/users/me/accounts`)).status).toBe(404);
  });
});
