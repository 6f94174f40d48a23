// What a user saw: A repeated cancel-all cancelled orders that were placed after the first one.

import { describe, expect, it } from 'vitest';
import type { CancelAllScope } from '../../../../src/service/commands/commands.ts';
import { CommandRig, word, workingOrder } from '../../../support/commands/command-rig.ts';

const account = { kind: 'account', accountId: 'acct-1' } as const;

async function canceling(...orderIds: string[]) {
  const rig = await CommandRig.leading();
  for (const orderId of orderIds) rig.commit({ ...workingOrder, orderId });
  const all = async (beside = rig, scope: CancelAllScope = account, reason = word.reason) => {
    const result = await beside.during(beside.commands.cancelAll(scope, { ...word, reason, idempotencyKey: 'all' }));
    if (result.kind === 'declined') return result.code;
    const told = result.orders.map(({ orderId, result: each }) => [
      orderId,
      each?.kind === 'declined' ? each.code : each?.command.state,
    ]);
    return { replayed: result.replayed, told, declined: result.declined };
  };
  return { rig, all };
}

// Found in review: a cancel-all listed what was open each time it was heard. Repeated once its
// orders were over it told of none, and repeated late it cancelled orders that had been placed
// since, which nobody had meant; another reason or account was never told from it.
describe('the same cancel-all again', () => {
  it('is about the orders that were open when it was first heard, and about no other', async () => {
    const { rig, all } = await canceling('a', 'b');
    expect(await all()).toMatchObject({ replayed: false });
    for (const orderId of ['a', 'b']) rig.commit({ ...workingOrder, orderId, status: 'canceled' });
    rig.commit({ ...workingOrder, orderId: 'later' });
    const told = { replayed: true, told: ['a', 'b'].map((id) => [id, 'applied']) };
    expect(await all()).toMatchObject(told);
    expect(await all(await CommandRig.leading({ enabled: false }, rig))).toMatchObject(told);
    expect(await all(new CommandRig({}, rig))).toMatchObject(told);
    expect(rig.entry.sent).toHaveLength(2);
  });

  it('with another reason or scope is refused like any other key', async () => {
    const { rig, all } = await canceling('a');
    await all();
    expect(await all(rig, account, 'another')).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(await all(rig, { kind: 'account', accountId: 'acct-2' })).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(await all(rig, { kind: 'service', accountIds: ['acct-1'] })).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  it('finds sent what a process that died in the middle had written down: its successor sends it unasked', async () => {
    const { rig, all } = await canceling('a', 'b', 'c');
    let opened = 0;
    rig.journal.hook = async (operation, transact) => {
      if (operation === 'open') opened += 1;
      if (operation === 'open' && opened > 1) throw new Error('gone');
      return transact();
    };
    expect(await all()).toMatchObject({
      told: [
        ['a', 'accepted'],
        ['b', 'STORE_UNAVAILABLE'],
        ['c', 'STORE_UNAVAILABLE'],
      ],
    });
    rig.commands.endAll();
    rig.journal.hook = async (_operation, transact) => transact();
    rig.commit({ ...workingOrder, orderId: 'c', status: 'filled' });
    rig.commit({ ...workingOrder, orderId: 'later' });
    const next = await CommandRig.leading({}, rig);
    await rig.clock.advance(1_000);
    expect(await all(next)).toMatchObject({
      replayed: true,
      told: [
        ['a', 'accepted'],
        ['b', 'accepted'],
        ['c', 'accepted'],
      ],
    });
    expect(next.entry.sent.map(({ request }) => 'orderId' in request && request.orderId)).toEqual(['b', 'c']);
  });

  it('sends nothing where its list could not be written down', async () => {
    const { rig, all } = await canceling('a');
    rig.journal.hook = async (operation, transact) => {
      const answer = await transact();
      if (operation === 'openCancelAll') throw new Error('the answer was lost');
      return answer;
    };
    expect(await all()).toBe('STORE_UNAVAILABLE');
    expect(rig.entry.sent).toEqual([]);
    rig.commit({ ...workingOrder, orderId: 'later' });
    expect(await all()).toMatchObject({ replayed: true, told: [['a', 'accepted']] });
  });
});

it('a cancel-all of the service cancels the orders of each account that may be traded, and says which may not', async () => {
  const { rig, all } = await canceling('a');
  rig.commit({ ...workingOrder, orderId: 'b', accountId: 'acct-2' });
  const beside = await CommandRig.leading({ accounts: ['acct-2'] }, rig);
  expect(await all(beside, { kind: 'service', accountIds: ['acct-1', 'acct-2'] })).toMatchObject({
    told: [['b', 'accepted']],
    declined: [{ accountId: 'acct-1', code: 'ACCOUNT_NOT_TRADED' }],
  });
  expect(rig.journal.audits.filter(({ action }) => action === 'cancel_all')).toMatchObject([
    { reason: word.reason, detail: { orders: 1 } },
  ]);
});

it('a cancel-all of the service under one key is another one for each lane, whose accounts are others', async () => {
  const { rig, all } = await canceling('a');
  const everything = { kind: 'service', accountIds: ['acct-1', 'acct-2'] } as const;
  expect(await all(rig, everything)).toMatchObject({ replayed: false });
  rig.commit({ ...workingOrder, orderId: 'b', accountId: 'acct-2' });
  const otherLane = await CommandRig.leading({ shards: [1], accounts: ['acct-2'] }, rig);
  expect(await all(otherLane, everything)).toMatchObject({ replayed: false, told: [['b', 'accepted']] });
});
