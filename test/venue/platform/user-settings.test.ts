import { describe, expect, it, onTestFinished } from 'vitest';
import { changeEmail, deleteUserSettings, readUserSetting } from '../../../src/venue/platform/user-data.ts';
import { platformDeps } from '../../support/platform/platform-deps.ts';
import { runningSandbox } from '../../support/platform/sandbox.ts';
import { json, scriptedServer } from '../../support/servers/http-server.ts';

const signal = new AbortController().signal;

async function client() {
  const { description, parts } = await runningSandbox();
  return { deps: platformDeps(description.platform, description), base: description.platform, description, parts };
}

describe('users and settings through the client', () => {
  it('reads a setting of every JSON type, and says 404 where there is none', async () => {
    const { deps, base, description, parts } = await client();
    for (const { category, key } of description.settings) {
      const there = parts.users.setting(`client:${description.clientId}`, category, key);
      expect(await readUserSetting(deps, base, { category, key }, signal)).toEqual({ ok: true, value: there?.value });
    }
    const missing = await readUserSetting(deps, base, { category: 'display/..', key: 'a b' }, signal);
    expect(missing).toMatchObject({ ok: false, error: { status: 404, code: 'USER_SETTING_NOT_FOUND' } });
  });

  it('reads a setting as it is, with a version in it and with all its digits', async () => {
    const values = ['{"theme":{"version":2}}', '9007199254740993', '"x\\u0000"'];
    const server = await scriptedServer(({ path }, response, count) => {
      if (path === '/v1/oauth2/token')
        return json(response, 200, { access_token: 't', token_type: 'bearer', expires_in: 1000 });
      response.writeHead(200, { 'content-type': 'application/json' }).end(values[count - 2]);
    });
    onTestFinished(() => server.close());
    const deps = platformDeps(server.url);
    const read = () => readUserSetting(deps, server.url, { category: 'display', key: 'theme' }, signal);
    expect(await read()).toEqual({ ok: true, value: { theme: { version: 2 } } });
    expect(await read()).toEqual({ ok: true, value: '9007199254740993' });
    expect(await read()).toEqual({ ok: true, value: 'x\0' });
  });

  it('says of a write without a token that it was not sent, and after what time to try again', async () => {
    const server = await scriptedServer(({ path }, response) => {
      const isToken = path === '/v1/oauth2/token';
      response.writeHead(isToken && server.received.length > 1 ? 200 : 503, { 'retry-after': '30' });
      response.end(JSON.stringify({ error: 'unavailable' }));
    });
    onTestFinished(() => server.close());
    const write = await changeEmail(platformDeps(server.url), server.url, { email: 'a@b.example' } as never, signal);
    expect(write).toMatchObject({ ok: false, error: { code: 'TOKEN_UNAVAILABLE', sent: 'no', retryAfterMs: 30_000 } });
    expect(server.received).toHaveLength(1);
  });

  it('deletes settings, and tells why it could not', async () => {
    const { deps, base } = await client();
    const remove = (keys: string[]) => deleteUserSettings(deps, base, { category: 'trading', keys }, signal);
    expect(await remove(['confirmOrders', 'defaultRoute'])).toEqual({ ok: true, value: undefined });
    expect(await readUserSetting(deps, base, { category: 'trading', key: 'confirmOrders' }, signal)).toMatchObject({
      ok: false,
    });
    expect(await remove(['confirmOrders'])).toMatchObject({
      ok: false,
      error: { status: 404, code: 'USER_SETTING_DELETE_ERROR', retryable: false, sent: 'yes' },
    });
  });

  it('changes the e-mail address, and tells why it could not', async () => {
    const { deps, base, description, parts } = await client();
    expect(await changeEmail(deps, base, 'new@desk.example', signal)).toEqual({ ok: true, value: undefined });
    expect(parts.users.emailOf(`client:${description.clientId}`)).toBe('new@desk.example');
    expect(await changeEmail(deps, base, 'desk', signal)).toMatchObject({
      ok: false,
      error: { status: 400, code: 'INVALID_EMAIL' },
    });
  });
});
