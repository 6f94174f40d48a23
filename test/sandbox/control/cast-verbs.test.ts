import { describe, expect, it } from 'vitest';
import { control, runningSandbox } from '../../support/sandbox.ts';
import { accountsOf, authorization, exchange, postJson } from '../../support/sign-in.ts';

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
    const app = { clientId: sandbox.clientId, clientSecret: sandbox.clientSecret, redirectUris: ['http://127.0.0.1:9/cb'] };
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
