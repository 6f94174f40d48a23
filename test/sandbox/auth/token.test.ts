import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { scopes, tokenError, tokenResponse } from '../../../src/venue/platform/wire/oauth.ts';
import { ask, askToken, control, runningSandbox, signedIn } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';

const form = { 'content-type': 'application/x-www-form-urlencoded' };

describe('the token endpoint', () => {
  it('answers client credentials in a form, in JSON and by HTTP Basic', async () => {
    const { description: it } = await runningSandbox();
    const url = `${it.platform}/v1/oauth2/token`;
    const fields = { grant_type: 'client_credentials', client_id: it.clientId, client_secret: it.clientSecret };
    const basic = Buffer.from(`${it.clientId}:${it.clientSecret}`).toString('base64');
    const answers = [
      await ask(url, { method: 'POST', body: new URLSearchParams(fields) }),
      await ask(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(fields) }),
      await ask(url, {
        method: 'POST',
        headers: { ...form, authorization: `Basic ${basic}` },
        body: 'grant_type=client_credentials',
      }),
      await ask(`${it.staging}/v1/oauth2/token`, { method: 'POST', body: new URLSearchParams(fields) }),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(tokenResponse.parse(answer.json)).toMatchObject({
        token_type: 'Bearer',
        expires_in: 3600,
        scope: scopes.join(' '),
      });
      expect(answer.json.refresh_token).toBeUndefined();
      expect(answer.headers.get('cache-control')).toBe('no-store');
    }
  });

  it('issues JWTs that its published keys verify', async () => {
    const { description: it } = await runningSandbox();
    const token = (await askToken(it, { scope: 'order:information account:information' })).json.access_token;
    const jwks = createLocalJWKSet((await ask(`${it.platform}/v1/oauth2/jwks`)).json);
    const { payload, protectedHeader } = await jwtVerify(token, jwks, { issuer: it.platform, audience: it.platform });
    expect(protectedHeader.alg).toBe('ES256');
    expect(payload).toMatchObject({ sub: it.clientId, scope: 'order:information account:information' });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(3600);
  });

  it('grants what was asked for and no more', async () => {
    const { description: it } = await runningSandbox();
    expect((await askToken(it, { scope: 'order:information' })).json.scope).toBe('order:information');
  });

  it('grants all that the client has where no scope is asked for, or only blanks', async () => {
    const { description: it } = await runningSandbox();
    const everything = (await askToken(it)).json.scope;
    expect(everything.split(' ')).toEqual([...scopes]);
    expect((await askToken(it, { scope: '  ' })).json.scope).toBe(everything);
  });

  it.each([
    ['a wrong secret', { client_secret: 'wrong' }, 401, 'invalid_client'],
    ['an unknown client', { client_id: 'nobody' }, 401, 'invalid_client'],
    ['no client', { client_id: '' }, 401, 'invalid_client'],
    ['no secret', { client_secret: '' }, 401, 'invalid_client'],
    ['no grant type', { grant_type: '' }, 400, 'invalid_request'],
    ['an unknown grant type', { grant_type: 'password' }, 400, 'unsupported_grant_type'],
    ['a name from the prototype as grant type', { grant_type: 'constructor' }, 400, 'unsupported_grant_type'],
    ['a scope that the client lacks', { scope: 'order:information admin' }, 400, 'invalid_scope'],
  ])('refuses %s', async (_what, fields, status, error) => {
    const { description: it } = await runningSandbox();
    const answer = await askToken(it, fields);
    expect(answer.status).toBe(status);
    expect(tokenError.parse(answer.json).error).toBe(error);
    if (status === 401) expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /);
  });

  it.each([
    ['a parameter twice', form, 'grant_type=client_credentials&grant_type=client_credentials'],
    ['a body that is not JSON', { 'content-type': 'application/json' }, '{'],
    ['a JSON array', { 'content-type': 'application/json' }, '[]'],
    ['a number in JSON', { 'content-type': 'application/json' }, '{"grant_type":1}'],
    ['another media type', { 'content-type': 'text/plain' }, 'grant_type=client_credentials'],
    ['nothing at all', form, ''],
  ])('refuses %s', async (_what, headers, body) => {
    const { description: it } = await runningSandbox();
    const answer = await ask(`${it.platform}/v1/oauth2/token`, { method: 'POST', headers, body });
    expect(tokenError.parse(answer.json).error).toMatch(/^invalid_(request|client)$/);
  });

  it('refuses two ways of authentication at once, and a broken Basic header', async () => {
    const { description: it } = await runningSandbox();
    const url = `${it.platform}/v1/oauth2/token`;
    const basic = `Basic ${Buffer.from(`${it.clientId}:${it.clientSecret}`).toString('base64')}`;
    const both = `grant_type=client_credentials&client_id=${it.clientId}&client_secret=${it.clientSecret}`;
    expect(
      (await ask(url, { method: 'POST', headers: { ...form, authorization: basic }, body: both })).json.error,
    ).toBe('invalid_request');
    const broken = await ask(url, { method: 'POST', headers: { ...form, authorization: 'Basic %%%' }, body: both });
    expect(broken.json.error).toBe('invalid_client');
  });

  it('gives a public client no credentials of its own', async () => {
    const { description: it } = await runningSandbox();
    const answer = await askToken(it, { client_id: it.publicClientId, client_secret: '' });
    expect([answer.status, answer.json.error]).toEqual([400, 'unauthorized_client']);
  });
});

describe('an access token', () => {
  const accounts = (base: string, authorization?: string) =>
    ask(`${base}/v2/users/me/accounts`, authorization === undefined ? {} : { headers: { authorization } });

  it('is needed, has to be ours, whole and signed', async () => {
    const { description: it } = await runningSandbox();
    const other = await runningSandbox();
    const { authorization } = await signedIn(it);
    const [head, body] = authorization.slice(7).split('.');
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.`;
    const bad = [
      undefined,
      'Bearer',
      'Bearer nonsense',
      `Basic ${authorization.slice(7)}`,
      `Bearer ${head}.${body}.AAAA`,
      `Bearer ${unsigned}`,
      (await signedIn(other.description)).authorization,
    ];
    for (const header of bad) {
      const answer = await accounts(it.platform, header);
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
    }
    expect((await accounts(it.platform, authorization)).status).toBe(200);
  });

  it('ends with its lifetime, by the clock of the sandbox', async () => {
    const { description: it, parts } = await runningSandbox({ tokens: { lifetimeSeconds: 2 } });
    const { authorization } = await signedIn(it);
    expect(decodeJwt(authorization.slice(7)).exp).toBeDefined();
    expect(await parts.tokens.check(authorization.slice(7))).toMatchObject({ clientId: it.clientId });
    await eventually(async () => expect((await accounts(it.platform, authorization)).status).toBe(401));
  });

  it('can be revoked, which leaves later ones alone', async () => {
    const { description: it } = await runningSandbox();
    const { authorization } = await signedIn(it);
    expect((await control(it, '/faults', { now: [{ action: 'revoke_tokens' }] })).json).toEqual({ met: [1] });
    expect((await accounts(it.platform, authorization)).status).toBe(401);
    expect((await accounts(it.platform, (await signedIn(it)).authorization)).status).toBe(200);
  });
});
