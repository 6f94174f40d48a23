import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask, sha256, startRest } from '../../support/rest/rest-rig.ts';

let rig: Awaited<ReturnType<typeof startRest>>;
beforeAll(async () => {
  const tokens = [
    { name: 'desk', sha256: sha256('one'), scopes: ['orders:read'], accounts: ['ACC-1'] },
    { name: 'head', sha256: sha256('all'), scopes: ['ops:write', 'ops:read'], accounts: 'all' },
  ] as const;
  rig = await startRest({ auth: { tokens } });
});
afterAll(() => rig.server.drain(AbortSignal.timeout(5_000)));

const askAs = (token: string) => ask(`${rig.address}/v1/me`, { headers: { authorization: `Bearer ${token}` } });

it('shows the scopes and accounts of the token, whether commands are on, and which streams are followed', async () => {
  const caller = { signIn: true, commands: 'on', streams: ['account', 'prediction'] };
  expect((await askAs('one')).body).toEqual({
    ...{ ...caller, principal: 'desk' },
    ...{ scopes: ['orders:read'], accounts: ['ACC-1'] },
  });
  rig.service.commands = 'off';
  const head = await askAs('all');
  expect(head.body).toEqual({ ...caller, commands: 'off', principal: 'head', scopes: ['ops:read', 'ops:write'] });
});

it('says on loopback without sign-in that everything is allowed', async () => {
  const open = await startRest();
  const { body } = await ask(`${open.address}/v1/me`);
  expect(body).toMatchObject({
    principal: 'loopback',
    signIn: false,
    scopes: ['orders:read', 'orders:write', 'ops:read', 'ops:write'],
  });
  await open.server.drain(AbortSignal.timeout(5_000));
});
