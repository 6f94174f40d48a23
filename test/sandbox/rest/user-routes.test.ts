import { describe, expect, it } from 'vitest';
import type { SandboxDescription } from '../../../src/sandbox/describe-sandbox.ts';
import { flatError } from '../../../src/venue/platform/wire/error-bodies.ts';
import { ask, runningSandbox, signedIn } from '../../support/platform/sandbox.ts';
import { codeFor, exchange } from '../../support/platform/sign-in.ts';

const setting = (it: SandboxDescription, category: string, key: string) =>
  `${it.platform}/v1/config/${category}/user-settings/${key}`;

async function send(it: SandboxDescription, method: string, path: string, body: string, scope?: string) {
  const headers = { ...(await signedIn(it, scope)), 'content-type': 'application/json' };
  return ask(`${it.platform}${path}`, { method, headers, body });
}

describe('GET /v1/config/{category}/user-settings/{key}', () => {
  it('answers a bare JSON value of any type, for every setting that the first line names', async () => {
    const { description: it } = await runningSandbox();
    const headers = await signedIn(it);
    const types = new Set<string>();
    for (const { category, key } of it.settings) {
      const answer = await ask(setting(it, category, key), { headers });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
      types.add(answer.json === null ? 'null' : Array.isArray(answer.json) ? 'array' : typeof answer.json);
    }
    expect([...types].sort()).toEqual(['array', 'boolean', 'null', 'number', 'object', 'string']);
    expect((await ask(setting(it, 'display', 'theme'), { headers })).text).toBe('"dark"');
  });

  it('answers 404 with a flat body for a key or category that is not there', async () => {
    const { description: it } = await runningSandbox();
    const headers = await signedIn(it);
    for (const [category, key] of [
      ['display', 'nothing'],
      ['nothing', 'theme'],
      ['__proto__', 'constructor'],
      ['display', '..%2f..'],
      ['display', '%zz'],
      ['display', 'x'.repeat(5000)],
    ]) {
      const answer = await ask(setting(it, category ?? '', key ?? ''), { headers });
      expect(answer.status).toBe(404);
      expect(flatError.parse(answer.json).codes?.[0]?.code).toBe('USER_SETTING_NOT_FOUND');
    }
  });

  it('needs a token with the scope account:information', async () => {
    const { description: it } = await runningSandbox();
    const url = setting(it, 'display', 'theme');
    expect((await ask(url)).status).toBe(401);
    expect((await ask(url, { headers: await signedIn(it, 'user:information') })).status).toBe(403);
  });
});

describe('DELETE /v1/config/{category}/user-settings', () => {
  const path = '/v1/config/display/user-settings';

  it('deletes the keys, answers an empty object, and leaves the others', async () => {
    const { description: it } = await runningSandbox();
    const answer = await send(it, 'DELETE', path, '{"keys":["theme","columns"]}');
    expect([answer.status, answer.text]).toEqual([200, '{}']);
    const headers = await signedIn(it);
    const status = async (key: string) => (await ask(setting(it, 'display', key), { headers })).status;
    expect([await status('theme'), await status('columns'), await status('fontSize')]).toEqual([404, 404, 200]);
  });

  it('deletes nothing when one of the keys is not there', async () => {
    const { description: it, parts } = await runningSandbox();
    const answer = await send(it, 'DELETE', path, '{"keys":["theme","nothing"]}');
    expect(answer.status).toBe(404);
    const body = flatError.parse(answer.json);
    expect(body.codes?.[0]?.code).toBe('USER_SETTING_DELETE_ERROR');
    expect(body.metadata).toEqual({ key: 'nothing' });
    expect(parts.users.setting(`client:${it.clientId}`, 'display', 'theme')).toEqual({ value: 'dark' });
  });

  it.each([
    ['no body', ''],
    ['broken JSON', '{"keys":["theme"'],
    ['another type', '{"keys":"theme"}'],
    ['a key that is no text', '{"keys":["theme",1]}'],
    ['no keys', '{}'],
    ['null', 'null'],
    ['bytes that are not UTF-8', '{"keys":["\ufffd"]}'],
  ])('refuses %s and deletes nothing', async (what, body) => {
    const { description: it, parts } = await runningSandbox();
    const bytes = what.startsWith('bytes') ? Buffer.from(body.replace('\ufffd', '\xff'), 'latin1') : body;
    const headers = { ...(await signedIn(it)), 'content-type': 'application/json' };
    const before = parts.users.snapshot();
    const answer = await ask(`${it.platform}${path}`, { method: 'DELETE', headers, body: bytes });
    expect(answer.status).toBe(400);
    expect(flatError.parse(answer.json).codes?.[0]?.code).toBe('USER_SETTING_DELETE_ERROR');
    expect(parts.users.snapshot()).toBe(before);
  });

  it('needs a token with the scope account:information', async () => {
    const { description: it } = await runningSandbox();
    expect((await send(it, 'DELETE', path, '{"keys":["theme"]}', 'user:information')).status).toBe(403);
    expect((await ask(`${it.platform}${path}`, { method: 'DELETE', body: '{"keys":["theme"]}' })).status).toBe(401);
  });
});

describe('POST /v1/users/me/email/change', () => {
  const path = '/v1/users/me/email/change';

  it('changes the address of whom the token speaks for, and answers an empty object', async () => {
    const { description: it, parts } = await runningSandbox();
    const answer = await send(it, 'POST', path, '{"email":"new@desk.example"}');
    expect([answer.status, answer.text]).toEqual([200, '{}']);
    expect(parts.users.emailOf(`client:${it.clientId}`)).toBe('new@desk.example');
    expect(parts.users.emailOf('user:alice')).toBe('user%3Aalice@sandbox.example');
  });

  it('changes the address of the signed-in user alone, whose sign-in name stays', async () => {
    const { description: it, parts } = await runningSandbox();
    const { json } = await exchange(it, await codeFor(it));
    const headers = { authorization: `Bearer ${json.access_token}`, 'content-type': 'application/json' };
    const answer = await ask(`${it.platform}${path}`, {
      method: 'POST',
      headers,
      body: '{"email":"alice@new.example"}',
    });
    expect(answer.status).toBe(200);
    expect(parts.users.emailOf('user:alice')).toBe('alice@new.example');
    expect(parts.users.emailOf(`client:${it.clientId}`)).not.toBe('alice@new.example');
    expect((await exchange(it, await codeFor(it))).status).toBe(200);
  });

  it.each([
    ['no body', '', 'INVALID_JSON'],
    ['broken JSON', '{"email":', 'INVALID_JSON'],
    ['no address', '{}', 'INVALID_EMAIL'],
    ['a text that is no address', '{"email":"desk"}', 'INVALID_EMAIL'],
    ['two addresses', '{"email":"a@b.example,c@d.example"}', 'INVALID_EMAIL'],
    ['an address of 300 characters', `{"email":"a@${'b'.repeat(300)}.example"}`, 'INVALID_EMAIL'],
    ['another type', '{"email":["a@b.example"]}', 'INVALID_EMAIL'],
  ])('refuses %s with a flat body and changes nothing', async (_what, body, code) => {
    const { description: it, parts } = await runningSandbox();
    const answer = await send(it, 'POST', path, body);
    expect(answer.status).toBe(400);
    expect(flatError.parse(answer.json).codes?.[0]?.code).toBe(code);
    expect(parts.users.emailOf(`client:${it.clientId}`)).not.toContain('@b');
  });

  it('needs a token with the scope user:information', async () => {
    const { description: it } = await runningSandbox();
    expect((await send(it, 'POST', path, '{"email":"a@b.example"}', 'account:information')).status).toBe(403);
    expect((await ask(`${it.platform}${path}`, { method: 'POST', body: '{"email":"a@b.example"}' })).status).toBe(401);
  });
});
