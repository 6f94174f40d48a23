import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ask, sha256, startRest } from '../../support/rest/rest-rig.ts';

const scopes = ['ops:read', 'ops:write'];

let rig: Awaited<ReturnType<typeof startRest>>;
beforeEach(async () => {
  const tokens = [
    { name: 'desk', sha256: sha256('everything'), scopes, accounts: 'all' as const },
    { name: 'one', sha256: sha256('of-one-account'), scopes, accounts: ['ACC-1'] },
  ];
  rig = await startRest({ auth: { tokens } });
});
afterEach(() => rig.server.drain(new AbortController().signal));

function post(path: string, body: object = { reason: ' a new kernel ' }, token = 'everything') {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return ask(`${rig.address}/v1/fleet/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

describe('an act on the fleet', () => {
  it.each([
    ['instances/one/drain', 'drain one'],
    ['instances/one/undrain', 'undrain one'],
    ['shards/0/pin', 'pin 0'],
    ['shards/0/unpin', 'unpin 0'],
  ])('%s is done with name and reason, and answered with the fleet', async (path, what) => {
    const { status, body } = await post(path);
    expect([status, body['verdict']]).toEqual([200, '1 shard, 1 process, all held']);
    expect(rig.fleet.wishes).toMatchObject([{ what, word: { by: 'desk', reason: 'a new kernel' } }]);
  });

  it.each([
    ['instances/two/drain', 'INSTANCE_NOT_FOUND'],
    ['instances/two%2Ffinisher/drain', 'INSTANCE_NOT_FOUND'],
    ['shards/1/pin', 'SHARD_NOT_FOUND'],
    ['shards/01/pin', 'SHARD_NOT_FOUND'],
  ])('%s is answered with 404 %s', async (path, code) => {
    const { status, body } = await post(path);
    expect([status, body['code']]).toEqual([404, code]);
  });

  it('needs a reason, and a token of every account', async () => {
    expect(await post('instances/one/drain', {})).toMatchObject({ status: 400, body: { code: 'INVALID_BODY' } });
    expect(await post('instances/one/drain', undefined, 'of-one-account')).toMatchObject({
      status: 403,
      body: { code: 'EVERY_ACCOUNT_NEEDED' },
    });
    expect(rig.fleet.wishes).toEqual([]);
  });
});
