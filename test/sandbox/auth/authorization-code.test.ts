import { decodeJwt } from 'jose';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { startSandbox } from '../../../src/sandbox/start-sandbox.ts';
import { tokenError, tokenResponse } from '../../../src/venue/platform/wire/oauth.ts';
import { ask, askToken, controlLines, runningSandbox } from '../../support/platform/sandbox.ts';
import {
  accountsOf,
  asPublic,
  authorization,
  codeFor,
  exchange,
  pkce,
  postJson,
  refresh,
} from '../../support/platform/sign-in.ts';
import { silentLog } from '../../support/runs/silent-log.ts';

describe('the authorization code grant', () => {
  it('turns a code into tokens of the user, who sees the accounts that are their own and no others', async () => {
    const { description: sandbox } = await runningSandbox();
    const answer = await exchange(sandbox, await codeFor(sandbox, { scope: 'account:information order:information' }));
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const tokens = tokenResponse.parse(answer.json);
    expect(tokens).toMatchObject({
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'account:information order:information',
    });
    expect(tokens.refresh_token).toEqual(expect.any(String));
    expect(decodeJwt(tokens.access_token)).toMatchObject({ sub: 'alice', client_id: sandbox.clientId });
    const own = sandbox.users.find(({ username }) => username === 'alice')?.accounts.map(({ id }) => id);
    expect((await accountsOf(sandbox, tokens.access_token)).ids).toEqual(own);
    const foreign = sandbox.users.find(({ username }) => username === 'carol')?.accounts[0]?.id;
    const peek = await ask(`${sandbox.platform}/v1/orders?accountId=${foreign}`, {
      headers: { authorization: `Bearer ${tokens.access_token}` },
    });
    expect(peek.status).toBe(403);
  });

  it('takes `code` as the grant type too, and JSON as well as a form', async () => {
    const { description: sandbox } = await runningSandbox();
    expect((await exchange(sandbox, await codeFor(sandbox), { grant_type: 'code' })).status).toBe(200);
    const body = { grant_type: 'authorization_code', redirect_uri: sandbox.redirectUri, client_id: sandbox.clientId };
    const json = await postJson(`${sandbox.platform}/v1/oauth2/token`, {
      ...body,
      client_secret: sandbox.clientSecret,
      code: await codeFor(sandbox),
    });
    expect(tokenResponse.parse(json.json).refresh_token).toEqual(expect.any(String));
  });

  it('takes HTTP Basic for the client', async () => {
    const { description: sandbox } = await runningSandbox();
    const basic = Buffer.from(`${sandbox.clientId}:${sandbox.clientSecret}`).toString('base64');
    const answer = await ask(`${sandbox.platform}/v1/oauth2/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}` },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: await codeFor(sandbox),
        redirect_uri: sandbox.redirectUri,
      }),
    });
    expect(answer.status).toBe(200);
  });

  it('lets a public client exchange with its verifier and without a secret', async () => {
    const { description: sandbox } = await runningSandbox();
    const { verifier, challenge } = pkce();
    const code = await codeFor(sandbox, {
      client_id: sandbox.publicClientId,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    });
    expect((await exchange(sandbox, code, { ...asPublic(sandbox), code_verifier: verifier })).status).toBe(200);
  });

  it.each([
    ['no verifier', ''],
    ['another verifier', pkce().verifier],
    ['a verifier that is too short', 'short'],
  ])('enforces PKCE when a challenge was sent: %s is refused', async (_what, verifier) => {
    const { description: sandbox } = await runningSandbox();
    const code = await codeFor(sandbox, { code_challenge: pkce().challenge, code_challenge_method: 'S256' });
    const answer = await exchange(sandbox, code, { code_verifier: verifier });
    expect([answer.status, tokenError.parse(answer.json).error]).toEqual([400, 'invalid_grant']);
  });

  it('refuses a verifier when no challenge was sent', async () => {
    const { description: sandbox } = await runningSandbox();
    const answer = await exchange(sandbox, await codeFor(sandbox), { code_verifier: pkce().verifier });
    expect([answer.status, answer.json.error]).toEqual([400, 'invalid_grant']);
  });

  it.each([
    ['another redirect URI', { redirect_uri: 'http://127.0.0.1:8787/callback/' }, 'invalid_grant'],
    ['no redirect URI', { redirect_uri: '' }, 'invalid_grant'],
    ['no code', { code: '' }, 'invalid_request'],
    ['a code that nobody issued', { code: 'made-up' }, 'invalid_grant'],
    ['a wrong secret', { client_secret: 'wrong' }, 'invalid_client'],
    ['no secret', { client_secret: '' }, 'invalid_client'],
  ])('refuses %s', async (_what, over, error) => {
    const { description: sandbox } = await runningSandbox();
    const answer = await exchange(sandbox, await codeFor(sandbox), over);
    expect(tokenError.parse(answer.json).error).toBe(error);
  });

  it('refuses a code of another client, which its owner can still use', async () => {
    const { description: sandbox } = await runningSandbox();
    const code = await codeFor(sandbox);
    expect((await exchange(sandbox, code, asPublic(sandbox))).json.error).toBe('invalid_grant');
    expect((await exchange(sandbox, code)).status).toBe(200);
  });

  it('takes a code once; its second use ends the tokens of the first', async () => {
    const { description: sandbox } = await runningSandbox();
    const code = await codeFor(sandbox);
    const first = tokenResponse.parse((await exchange(sandbox, code)).json);
    expect((await accountsOf(sandbox, first.access_token)).status).toBe(200);
    expect((await exchange(sandbox, code)).json.error).toBe('invalid_grant');
    expect((await accountsOf(sandbox, first.access_token)).status).toBe(401);
    expect((await refresh(sandbox, first.refresh_token ?? '')).json.error).toBe('invalid_grant');
  });

  it('leaves no token behind when a code comes twice at the same moment', async () => {
    const { description: sandbox } = await runningSandbox();
    const code = await codeFor(sandbox);
    const answers = await Promise.all([exchange(sandbox, code), exchange(sandbox, code), exchange(sandbox, code)]);
    const good = answers.filter(({ status }) => status === 200);
    expect(good.length).toBeLessThanOrEqual(1);
    for (const { json } of good) expect((await accountsOf(sandbox, json.access_token)).status).toBe(401);
  });

  it('lets a code live 60 s', async () => {
    let aheadMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
    const sandbox = await startSandbox({ market: { rate: 0 } }, { clock, random: seededRandom(1), log: silentLog });
    try {
      const [early, late] = [await codeFor(sandbox.description), await codeFor(sandbox.description)];
      aheadMs = 50_000;
      expect((await exchange(sandbox.description, early)).status).toBe(200);
      aheadMs = 60_001;
      expect((await exchange(sandbox.description, late)).json.error).toBe('invalid_grant');
    } finally {
      await sandbox.stop();
    }
  });

  it('writes no code, password, verifier or token into the ledger', async () => {
    const { description: sandbox } = await runningSandbox();
    const { verifier, challenge } = pkce();
    const code = await codeFor(sandbox, { code_challenge: challenge, code_challenge_method: 'S256' });
    const tokens = (await exchange(sandbox, code, { code_verifier: verifier })).json;
    const lines = JSON.stringify(await controlLines(sandbox, '/ledger'));
    for (const secret of [
      code,
      verifier,
      'sandbox-alice',
      sandbox.clientSecret,
      tokens.access_token,
      tokens.refresh_token,
    ])
      expect(lines).not.toContain(secret);
    expect(await controlLines(sandbox, '/ledger?kind=token')).toMatchObject([
      { user: 'alice', clientId: sandbox.clientId },
    ]);
  });

  it('answers a client-credentials token without a user and without a refresh token, as before', async () => {
    const { description: sandbox } = await runningSandbox();
    expect((await askToken(sandbox)).json.refresh_token).toBeUndefined();
    expect(authorization(sandbox)).not.toHaveProperty('scope');
  });
});
