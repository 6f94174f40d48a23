// What a user saw: A trading program died and its orders stayed open: no timer could cancel them.

import { expect, it } from 'vitest';
import { CommandRig, workingOrder } from '../../../support/commands/command-rig.ts';

// A principal that had died left its orders open: there was no dead man's switch.
const asked = { principal: 'desk', accountIds: ['acct-1'], requestId: 'request-1' };
const arm = (rig: CommandRig, afterMs: number) => rig.during(rig.commands.cancelAfter({ ...asked, afterMs }));
const cancelled = (rig: CommandRig) => rig.entry.sent.map(({ request }) => request.kind !== 'place' && request.orderId);

async function rigWithOrders(count = 2): Promise<CommandRig> {
  const rig = await CommandRig.leading();
  for (let i = 1; i <= count; i += 1) rig.commit({ ...workingOrder, orderId: `order-${i}` });
  return rig;
}

it('silence cancels the open orders of the account once, and what comes later is left alone', async () => {
  const rig = await rigWithOrders();
  expect(await arm(rig, 30_000)).toEqual({
    kind: 'done',
    accountIds: ['acct-1'],
    declined: [],
    firesAtMs: rig.clock.nowMs() + 30_000,
  });
  await rig.clock.advance(29_000);
  expect(cancelled(rig)).toEqual([]);
  await rig.clock.advance(5_000);
  expect(cancelled(rig).sort()).toEqual(['order-1', 'order-2']);
  rig.commit({ ...workingOrder, orderId: 'order-3' });
  await rig.clock.advance(600_000);
  expect(cancelled(rig)).toHaveLength(2);
  expect(rig.journal.audits.map(({ action }) => action)).toContain('cancel_after_arm');
  expect(rig.journal.audits.find(({ action }) => action === 'cancel_all')).toMatchObject({
    principal: 'desk',
    accountId: 'acct-1',
    reason: 'cancel-after: the principal has not renewed its timer',
  });
  expect((await rig.metrics.commands.cancelAfter.get()).values).toContainEqual({
    labels: { outcome: 'in_hand' },
    value: 1,
  });
});

it('a call in time renews the timer, and 0 disarms it', async () => {
  const rig = await rigWithOrders();
  for (let i = 0; i < 10; i += 1) {
    await arm(rig, 30_000);
    await rig.clock.advance(20_000);
  }
  expect(await arm(rig, 0)).toEqual({ kind: 'done', accountIds: ['acct-1'], declined: [] });
  await rig.clock.advance(600_000);
  expect(cancelled(rig)).toEqual([]);
  const arming = rig.journal.audits.filter(({ action }) => action.startsWith('cancel_after'));
  expect(arming.map(({ action }) => action)).toEqual(['cancel_after_arm', 'cancel_after_disarm']);
});

it('the process that takes the lane over fires what is left of the time later, and what ran out before at once', async () => {
  const first = await rigWithOrders();
  await arm(first, 30_000);
  await first.clock.advance(10_000);
  first.commands.endAll();
  const second = await CommandRig.leading({}, first);
  await second.clock.advance(15_000);
  expect(cancelled(second)).toEqual([]);
  second.commands.endAll();
  await second.clock.advance(60_000);
  expect([...cancelled(first), ...cancelled(second)]).toEqual([]);
  const third = await CommandRig.leading({}, second);
  await third.clock.advance(5_000);
  expect(cancelled(third).sort()).toEqual(['order-1', 'order-2']);
  const fourth = await CommandRig.leading({}, third);
  await fourth.clock.advance(60_000);
  expect(cancelled(fourth)).toEqual([]);
});

it('a switch that fires while the journal is away cancels when it is back, once', async () => {
  const rig = await rigWithOrders();
  await arm(rig, 10_000);
  const { openCancelAll } = rig.journal;
  let refused = 0;
  rig.journal.openCancelAll = async () => {
    refused += 1;
    throw new Error('the database cannot be reached');
  };
  await rig.clock.advance(20_000);
  expect(refused).toBeGreaterThan(1);
  expect((await rig.metrics.commands.cancelTimers.get()).values).toContainEqual({
    labels: { state: 'overdue' },
    value: 1,
  });
  rig.journal.openCancelAll = openCancelAll;
  await rig.clock.advance(60_000);
  expect(cancelled(rig).sort()).toEqual(['order-1', 'order-2']);
  expect((await rig.metrics.commands.cancelTimers.get()).values).toContainEqual({
    labels: { state: 'overdue' },
    value: 0,
  });
});

it('a switch that runs out while the journal can not be read fires when it is back, and not where it was renewed meanwhile', async () => {
  const rig = await rigWithOrders();
  await arm(rig, 10_000);
  await rig.during(rig.commands.cancelAfter({ ...asked, principal: 'other', afterMs: 10_000 }));
  const { armedCancelTimers } = rig.journal;
  rig.journal.armedCancelTimers = async () => {
    throw new Error('the database cannot be reached');
  };
  await rig.clock.advance(600_000);
  expect(cancelled(rig)).toEqual([]);
  await rig.during(rig.commands.cancelAfter({ ...asked, principal: 'other', afterMs: 30_000 }));
  rig.journal.armedCancelTimers = armedCancelTimers;
  await rig.clock.advance(5_000);
  expect(rig.journal.cancelAlls.map(({ principal }) => principal)).toEqual(['desk']);
  await rig.clock.advance(30_000);
  expect(rig.journal.cancelAlls.map(({ principal }) => principal)).toEqual(['desk', 'other']);
});

it('a switch that fired, and was not ended before its process died, is the same cancel-all at the next one', async () => {
  const first = await rigWithOrders();
  await arm(first, 10_000);
  const { endCancelTimer } = first.journal;
  first.journal.endCancelTimer = async () => {
    throw new Error('the database cannot be reached');
  };
  await first.clock.advance(11_000);
  expect(cancelled(first).sort()).toEqual(['order-1', 'order-2']);
  first.commands.endAll();
  first.journal.endCancelTimer = endCancelTimer;
  first.commit({ ...workingOrder, orderId: 'order-3' });
  const second = await CommandRig.leading({}, first);
  await second.clock.advance(60_000);
  expect(cancelled(second)).toEqual([]);
  expect(second.journal.armedTimers).toBe(0);
});

it('no timer is armed that could not cancel', async () => {
  const rig = await CommandRig.leading({ accounts: ['acct-2'] });
  expect(await arm(rig, 10_000)).toMatchObject({ kind: 'declined', code: 'ACCOUNT_NOT_TRADED' });
  rig.commands.endAll();
  expect(await arm(rig, 10_000)).toMatchObject({ kind: 'declined', code: 'NOT_LEADER' });
  expect(rig.journal.armedTimers).toBe(0);
});
