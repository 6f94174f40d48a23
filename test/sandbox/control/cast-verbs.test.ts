import { describe, expect, it } from 'vitest';
import type { SandboxDescription } from '../../../src/sandbox/describe-sandbox.ts';
import { ask, control, runningSandbox, signedIn } from '../../support/platform/sandbox.ts';
import { accountsOf, authorization, exchange, postJson } from '../../support/platform/sign-in.ts';
import { PlatformStreamClient } from '../platform-stream-client.ts';

describe('the client center of the control port', () => {
  it('registers an app and a user, who can sign in at once', async () => {
    const { description: sandbox } = await runningSandbox();
    const app = { clientId: 'new-app', clientSecret: 'hush', redirectUris: ['https://app.example/cb'], users: [] };
    expect((await control(sandbox, '/clients', app)).json).toEqual({ clientId: 'new-app' });
    const dave = { username: 'dave', password: 'p', mfa: null, accounts: [{ id: 'SIM-2001', predictions: true }] };
    expect((await control(sandbox, '/users', dave)).json).toEqual({ username: 'dave' });
    const over = { client_id: 'new-app', redirect_uri: 'https://app.example/cb' };
    const signIn = await postJson(`${sandbox.auth}/v1/oauth2/authorize`, {
      ...authorization(sandbox, over),
      username: 'dave',
      password: 'p',
    });
    const tokens = await exchange(sandbox, signIn.json.code, { ...over, client_secret: 'hush' });
    expect((await accountsOf(sandbox, tokens.json.access_token)).ids).toEqual(['SIM-2001']);
  });

  it('replaces the redirect URIs of an app that is there', async () => {
    const { description: sandbox } = await runningSandbox();
    const app = {
      clientId: sandbox.clientId,
      clientSecret: sandbox.clientSecret,
      redirectUris: ['http://127.0.0.1:9/cb'],
    };
    await control(sandbox, '/clients', app);
    const url = `${sandbox.auth}/v1/oauth2/authorize`;
    const alice = { username: 'alice', password: 'sandbox-alice' };
    expect((await postJson(url, { ...authorization(sandbox), ...alice })).status).toBe(400);
    const moved = authorization(sandbox, { redirect_uri: 'http://127.0.0.1:9/cb' });
    expect((await postJson(url, { ...moved, ...alice })).status).toBe(200);
  });

  it.each([
    ['/clients', { clientId: 'x', redirectUris: ['no address'] }],
    ['/clients', { clientId: 'x', redirectUris: ['https://app.example/cb#fragment'] }],
    ['/clients', { clientId: 'x', scopes: ['admin'] }],
    ['/users', { username: 'x', password: 'p', mfa: '12', accounts: [] }],
    ['/refresh-mode', { mode: 'sometimes' }],
    ['/end-logins', { user: 'alice' }],
  ])('refuses %s with %o', async (path, body) => {
    const { description: sandbox } = await runningSandbox();
    expect((await control(sandbox, path, body)).status).toBe(400);
  });

  it('gives nobody an account that is another user’s', async () => {
    const { description: sandbox } = await runningSandbox();
    const thief = { username: 'thief', password: 'p', accounts: [{ id: 'SIM-9001', predictions: true }] };
    expect((await control(sandbox, '/users', thief)).status).toBe(409);
  });
});

describe('accounts of the control port', () => {
  const listed = async (sandbox: SandboxDescription) => {
    const { json } = await ask(`${sandbox.platform}/v2/users/me/accounts`, { headers: await signedIn(sandbox) });
    return new Map(
      (json.accounts as { trading_account_id: string; status: string }[]).map((a) => [a.trading_account_id, a.status]),
    );
  };

  it('opens an account of a user, closes it and opens it again', async () => {
    const { description: sandbox } = await runningSandbox();
    const opened = await control(sandbox, '/accounts', { id: 'SIM-2002', username: 'alice', predictions: false });
    expect([opened.status, opened.json]).toEqual([200, expect.objectContaining({ id: 'SIM-2002', status: 'OPEN' })]);
    expect((await listed(sandbox)).get('SIM-2002')).toBe('OPEN');
    await control(sandbox, '/accounts/SIM-2002', { status: 'CLOSED' });
    expect((await listed(sandbox)).get('SIM-2002')).toBe('CLOSED');
    await control(sandbox, '/accounts/SIM-2002', { status: 'OPEN' });
    expect((await listed(sandbox)).get('SIM-2002')).toBe('OPEN');
  });

  it('takes back an enrolment: lists of prediction orders answer 403, and nothing more comes on the stream', async () => {
    const { description: sandbox } = await runningSandbox();
    const url = `${sandbox.staging}/v1/predictions/orders?accountId=SIM-1001`;
    const status = async () => (await ask(url, { headers: await signedIn(sandbox) })).status;
    expect(await status()).toBe(200);
    const client = await PlatformStreamClient.open(sandbox.stagingStream, await signedIn(sandbox));
    await client.ask('subscribe', 'prediction', 'account:SIM-1001');
    await control(sandbox, '/accounts/SIM-1001', { predictions: false });
    expect(await status()).toBe(403);
    const { json } = await ask(`${sandbox.control}/status`);
    expect(json.sessions.flatMap(({ targets }: { targets: string[] }) => targets)).toEqual([]);
    await control(sandbox, '/accounts/SIM-1001', { predictions: true });
    expect(await status()).toBe(200);
  });

  it.each([
    ['/accounts', { id: 'SIM-1001', username: 'alice', predictions: true }, 409],
    ['/accounts', { id: 'SIM-2002', username: 'nobody', predictions: true }, 409],
    ['/accounts', { id: 'SIM-2002', username: 'alice' }, 400],
    ['/accounts/SIM-0000', { status: 'CLOSED' }, 404],
    ['/accounts/SIM-1001', { status: 'ASLEEP' }, 400],
  ])('refuses %s with %o by %i', async (path, body, status) => {
    const { description: sandbox } = await runningSandbox();
    expect((await control(sandbox, path, body)).status).toBe(status);
  });
});

describe('an order made by hand', () => {
  const made = (version: bigint) => ({ stream: 'prediction', accountId: 'SIM-1001', version: String(version) });

  it('has room for a million changes below the end of int64, and is refused where it has not', async () => {
    const { description: sandbox } = await runningSandbox();
    const last = 2n ** 63n - 1n - 1_000_000n;
    expect((await control(sandbox, '/orders', made(last))).status).toBe(200);
    for (const version of [last + 1n, 2n ** 63n - 3n, 2n ** 63n])
      expect((await control(sandbox, '/orders', made(version))).status).toBe(400);
  });
});
