import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import type { SandboxDescription } from '../../../src/sandbox/describe-sandbox.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { startSandbox } from '../../../src/sandbox/start-sandbox.ts';
import { tokenError, tokenResponse } from '../../../src/venue/platform/wire/oauth.ts';
import { control, runningSandbox } from '../../support/platform/sandbox.ts';
import { accountsOf, asPublic, codeFor, exchange, pkce, refresh } from '../../support/platform/sign-in.ts';
import { silentLog } from '../../support/runs/silent-log.ts';

async function login(sandbox: SandboxDescription, scope = ''): Promise<{ access: string; refresh: string }> {
  const tokens = tokenResponse.parse((await exchange(sandbox, await codeFor(sandbox, { scope }))).json);
  return { access: tokens.access_token, refresh: tokens.refresh_token ?? '' };
}

describe('a refresh', () => {
  it('that rotates returns a new refresh token and ends the old one', async () => {
    const { description: sandbox } = await runningSandbox();
    const first = await login(sandbox);
    const second = tokenResponse.parse((await refresh(sandbox, first.refresh)).json);
    expect(second.refresh_token).toEqual(expect.any(String));
    expect(second.refresh_token).not.toBe(first.refresh);
    expect(second.access_token).not.toBe(first.access);
    expect((await refresh(sandbox, second.refresh_token ?? '')).status).toBe(200);
  });

  it('with an old token ends the whole family, access tokens as well', async () => {
    const { description: sandbox } = await runningSandbox();
    const first = await login(sandbox);
    const other = await login(sandbox);
    const second = (await refresh(sandbox, first.refresh)).json;
    expect((await refresh(sandbox, first.refresh)).json.error).toBe('invalid_grant');
    expect((await refresh(sandbox, second.refresh_token)).json.error).toBe('invalid_grant');
    for (const token of [first.access, second.access_token])
      expect((await accountsOf(sandbox, token)).status).toBe(401);
    // Another login of the same user and client is another family.
    expect((await refresh(sandbox, other.refresh)).status).toBe(200);
  });

  it('without rotation returns none, and the same token stays good', async () => {
    const { description: sandbox } = await runningSandbox({ tokens: { refresh: { mode: 'none' } } });
    const first = await login(sandbox);
    for (let i = 0; i < 3; i += 1) {
      const answer = await refresh(sandbox, first.refresh);
      expect(answer.status).toBe(200);
      expect(answer.json).not.toHaveProperty('refresh_token');
    }
  });

  it('in its grace may be repeated with the old token, and not later', async () => {
    let aheadMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
    const options = { market: { rate: 0 }, tokens: { refresh: { mode: 'grace', graceSeconds: 20 } } } as const;
    const sandbox = await startSandbox(options, { clock, random: seededRandom(1), log: silentLog });
    try {
      const first = await login(sandbox.description);
      const second = (await refresh(sandbox.description, first.refresh)).json;
      aheadMs = 10_000;
      const again = (await refresh(sandbox.description, first.refresh)).json;
      expect(again.refresh_token).not.toBe(second.refresh_token);
      aheadMs = 30_001;
      expect((await refresh(sandbox.description, first.refresh)).json.error).toBe('invalid_grant');
      expect((await refresh(sandbox.description, again.refresh_token)).json.error).toBe('invalid_grant');
    } finally {
      await sandbox.stop();
    }
  });

  it('ends with the lifetime of the refresh token', async () => {
    let aheadMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
    const options = { market: { rate: 0 }, tokens: { refresh: { lifetimeSeconds: 100 } } } as const;
    const sandbox = await startSandbox(options, { clock, random: seededRandom(1), log: silentLog });
    try {
      const first = await login(sandbox.description);
      aheadMs = 100_001;
      expect((await refresh(sandbox.description, first.refresh)).json.error).toBe('invalid_grant');
    } finally {
      await sandbox.stop();
    }
  });

  it('may ask for less than was granted, never for more, and a refused one costs nothing', async () => {
    const { description: sandbox } = await runningSandbox();
    const first = await login(sandbox, 'account:information order:information');
    expect((await refresh(sandbox, first.refresh, { scope: 'order:execution' })).json.error).toBe('invalid_scope');
    const narrow = (await refresh(sandbox, first.refresh, { scope: 'order:information' })).json;
    expect(narrow.scope).toBe('order:information');
    expect((await accountsOf(sandbox, narrow.access_token)).status).toBe(403);
    const wide = (await refresh(sandbox, narrow.refresh_token)).json;
    expect(wide.scope).toBe('account:information order:information');
  });

  it('of a public client needs no secret', async () => {
    const { description: sandbox } = await runningSandbox();
    const { verifier, challenge } = pkce();
    const open = { client_id: sandbox.publicClientId, code_challenge: challenge, code_challenge_method: 'S256' };
    const tokens = (
      await exchange(sandbox, await codeFor(sandbox, open), { ...asPublic(sandbox), code_verifier: verifier })
    ).json;
    expect((await refresh(sandbox, tokens.refresh_token, asPublic(sandbox))).status).toBe(200);
  });

  it.each([
    ['a token that nobody issued', { refresh_token: 'made-up' }, 'invalid_grant'],
    ['no token', { refresh_token: '' }, 'invalid_request'],
    ['a wrong secret', { client_secret: 'wrong' }, 'invalid_client'],
  ])('is refused with %s', async (_what, over, error) => {
    const { description: sandbox } = await runningSandbox();
    const { refresh: token } = await login(sandbox);
    expect(tokenError.parse((await refresh(sandbox, token, over)).json).error).toBe(error);
    expect((await refresh(sandbox, token)).status).toBe(200);
  });

  it('by another client is refused, and leaves the owner its token', async () => {
    const { description: sandbox } = await runningSandbox();
    const { refresh: token } = await login(sandbox);
    expect((await refresh(sandbox, token, asPublic(sandbox))).json.error).toBe('invalid_grant');
    expect((await refresh(sandbox, token)).status).toBe(200);
  });

  it('whose answer is lost has rotated all the same', async () => {
    const { description: sandbox } = await runningSandbox();
    const { refresh: token } = await login(sandbox);
    await control(sandbox, '/faults', {
      rules: [{ on: 'request', fault: 'torn', method: 'POST', path: '/v1/oauth2/token' }],
    });
    await expect(refresh(sandbox, token)).rejects.toThrow();
    expect((await refresh(sandbox, token)).json.error).toBe('invalid_grant');
  });

  it('is refused for good once the user took the consent back, and the access token ends at once', async () => {
    const { description: sandbox } = await runningSandbox();
    const first = await login(sandbox);
    const ended = await control(sandbox, '/end-logins', { username: 'alice' });
    expect(ended.json).toEqual({ logins: 1, tokens: 1 });
    expect((await accountsOf(sandbox, first.access)).status).toBe(401);
    expect((await refresh(sandbox, first.refresh)).json.error).toBe('invalid_grant');
  });

  it('changes its mode while the sandbox runs', async () => {
    const { description: sandbox } = await runningSandbox();
    const { refresh: token } = await login(sandbox);
    await control(sandbox, '/refresh-mode', { mode: 'none' });
    expect((await refresh(sandbox, token)).json).not.toHaveProperty('refresh_token');
    expect((await refresh(sandbox, token)).status).toBe(200);
  });
});
