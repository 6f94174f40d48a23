// What a user saw: A token for one account read the id of another one, in the last error of its own.

import { expect, it, onTestFinished } from 'vitest';
import { scopes } from '../../../src/service/rest/auth/principal.ts';
import { ask, sha256, startRest } from '../../support/rest/rest-rig.ts';

it.each([
  ['not shown to a token for some of the accounts of its connection', ['ACC-1'], undefined],
  ['shown to a token for each of them', ['ACC-1', 'ACC-2'], 'subscribing ACC-2 was not answered, like any other'],
  ['shown to a token for all accounts', 'all' as const, 'subscribing ACC-2 was not answered, like any other'],
])('the last error of an account is %s', async (_, accounts, lastError) => {
  const rig = await startRest({ auth: { tokens: [{ name: 'desk', sha256: sha256('desk'), scopes, accounts }] } });
  onTestFinished(async () => void (await rig.server.drain(new AbortController().signal)));
  rig.reads.accountRows = [{ stream: 'account', accountId: 'ACC-1', isSim: true, openOrders: 0 }];
  const beside = ['ACC-1', 'ACC-2'];
  const said = 'subscribing ACC-2 was not answered, like any other';
  rig.followed.accounts = [
    { stream: 'account', accountId: 'ACC-1', state: 'live', sinceMs: 0, silentLosses: 0, beside, lastError: said },
  ];
  const { body } = await ask(`${rig.address}/v1/accounts`, { headers: { authorization: 'Bearer desk' } });
  expect(body['items']).toMatchObject([{ accountId: 'ACC-1', state: 'live' }]);
  expect((body['items'] as { lastError?: string }[])[0]?.lastError).toBe(lastError);
});
