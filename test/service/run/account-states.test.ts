import { expect, it } from 'vitest';
import { followedAccounts } from '../../../src/service/run/source-rows.ts';
import type { LoginSource } from '../../../src/service/sources/connectors.ts';

const account = { sourceEpoch: 0, unrecovered: 0, inDoubt: 0, absent: [], silentLosses: { events: 2, firstMs: 1 } };
const found = { orders: 5, changes: 1, silentLosses: 1 };

function source(credential: string, accountId: string): LoginSource {
  const live = {
    ...account,
    accountId,
    state: 'live',
    sinceMs: 1,
    lastResyncMs: 2,
    lastAuditMs: 3,
    lastAuditFound: found,
  } as const;
  return { credential, stream: 'account', connected: true, paused: false, accounts: [live] };
}

const sources = { status: () => [source('client', 'a'), source('login:alice', 'b')] };
const credentials = {
  status: () => [
    { credential: 'client', state: 'held', expiresAtMs: 9 } as const,
    { credential: 'login:alice', state: 'login_required' } as const,
  ],
};

it('has each account with the token of the login that follows it', () => {
  const lastAudit = { atMs: 3, ...found };
  const live = { stream: 'account', state: 'live', sinceMs: 1, silentLosses: 2, lastResyncMs: 2, lastAudit };
  expect(followedAccounts(true, sources, credentials)).toEqual([
    { ...live, accountId: 'a', beside: ['a'], tokenExpiresMs: 9 },
    { ...live, accountId: 'b', beside: ['b'] },
  ]);
});

it('knows nothing on a process that stands by', () => {
  expect(followedAccounts(false, sources, credentials)).toBeUndefined();
});
