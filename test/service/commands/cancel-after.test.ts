import { describe, expect, it } from 'vitest';
import { JournalError } from '../../../src/store/session/write-once.ts';
import { CommandRig, workingOrder } from '../../support/commands/command-rig.ts';

describe('issue: A switch was renewed in time, and all orders were cancelled while that commit waited.', () => {
  const asked = { principal: 'desk', accountIds: ['acct-1'], requestId: 'request-1', afterMs: 30_000 };

  async function renewedSlowly(fails: boolean) {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    await rig.during(rig.commands.cancelAfter(asked));
    await rig.clock.advance(29_900);
    rig.journal.hook = async (operation, transact) => {
      if (operation !== 'setCancelTimers') return transact();
      const result = fails ? undefined : transact();
      await rig.clock.sleep(1_000);
      if (result === undefined) throw new Error('refused');
      return result;
    };
    const renewed = rig.commands.cancelAfter(asked);
    await rig.clock.advance(5_000);
    return { rig, answer: await renewed };
  }

  it('the switch waits for the commit, and does not fire', async () => {
    const { rig, answer } = await renewedSlowly(false);
    expect(answer).toMatchObject({ kind: 'done' });
    expect(rig.entry.sent).toEqual([]);
  });

  it('the switch fires where the renewal fails, once it can not commit any more', async () => {
    const { rig, answer } = await renewedSlowly(true);
    expect(answer).toMatchObject({ kind: 'declined' });
    expect(rig.entry.sent).toEqual([]);
    await rig.clock.advance(3_500);
    expect(rig.entry.sent).toHaveLength(1);
  });
});

describe('issue: A trading program died and its orders stayed open: no timer could cancel them.', () => {
  // A principal that had died left its orders open: there was no dead man's switch.
  const asked = { principal: 'desk', accountIds: ['acct-1'], requestId: 'request-1' };
  const arm = (rig: CommandRig, afterMs: number) => rig.during(rig.commands.cancelAfter({ ...asked, afterMs }));
  const cancelled = (rig: CommandRig) =>
    rig.entry.sent.map(({ request }) => request.kind !== 'place' && request.orderId);

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
      labels: { result: 'in_hand' },
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
});

describe("issue: Just after a start a dead man's switch was told that its account does not exist.", () => {
  const asked = { principal: 'desk', accountIds: ['acct-1'], requestId: 'request-1' };
  const arm = (rig: CommandRig, more: { readonly implied?: boolean } = {}) =>
    rig.during(rig.commands.cancelAfter({ ...asked, ...more, afterMs: 30_000 }));
  const word = { by: 'desk', reason: 'stop', requestId: 'request-2', idempotencyKey: 'k' };
  const notFollowed = { known: false, live: false, isSim: false, certain: false, notEnrolled: false };
  const notListed = { ...notFollowed, mayAppear: true };
  const comeAgain = { kind: 'declined', code: 'SOURCE_NOT_LIVE', retryAfterMs: 1_000 };

  it('an arming and a cancel-all of an account are told to come again', async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    rig.probes.now = notListed;
    expect(await arm(rig)).toMatchObject(comeAgain);
    expect(await arm(rig, { implied: true })).toMatchObject(comeAgain);
    const all = rig.commands.cancelAll({ kind: 'account', accountId: 'acct-1' }, word);
    expect(await rig.during(all)).toMatchObject(comeAgain);
    rig.probes.now = notFollowed;
    expect(await arm(rig)).toMatchObject({ kind: 'declined', code: 'ACCOUNT_NOT_FOUND' });
  });

  it('a renewal is taken, so that its timer does not fire', async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    await arm(rig);
    rig.probes.now = notListed;
    for (let i = 0; i < 5; i += 1) {
      await rig.clock.advance(20_000);
      expect(await arm(rig)).toMatchObject({ kind: 'done', accountIds: ['acct-1'] });
    }
    expect(rig.entry.sent).toEqual([]);
  });

  it('a renewal that names no account is taken too where the account is not followed for a while', async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    await arm(rig);
    rig.probes.now = notFollowed;
    for (let i = 0; i < 5; i += 1) {
      await rig.clock.advance(20_000);
      expect(await arm(rig, { implied: true })).toMatchObject({ kind: 'done', accountIds: ['acct-1'] });
    }
    expect(rig.entry.sent).toEqual([]);
    expect(await arm(rig)).toMatchObject({ kind: 'declined', code: 'ACCOUNT_NOT_FOUND' });
  });

  it('accounts that are not followed are left out where the caller named none', async () => {
    const rig = await CommandRig.leading();
    rig.probes.now = notFollowed;
    expect(await arm(rig, { implied: true })).toEqual({ kind: 'done', accountIds: [], declined: [] });
    expect(rig.journal.audits).toEqual([]);
  });

  it('a cancel-all of every account covers one that is not listed yet, and says that it may be open', async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    rig.probes.now = notListed;
    const all = rig.commands.cancelAll({ kind: 'service', accountIds: ['acct-1'] }, word);
    expect(await rig.during(all)).toMatchObject({ kind: 'done', open: true, declined: [] });
  });
});

describe('issue: Orders were cancelled by a timer that their principal had switched off during a takeover.', () => {
  // A takeover read the timers, the principal disarmed its own, and the answer of the read armed it
  // again: the orders of a principal that was there were cancelled.
  it('a timer that is disarmed while a takeover reads the timers stays disarmed', async () => {
    const first = await CommandRig.leading();
    first.commit({ ...workingOrder, orderId: 'order-1' });
    const asked = { principal: 'desk', accountIds: ['acct-1'], requestId: 'request-1' };
    await first.during(first.commands.cancelAfter({ ...asked, afterMs: 30_000 }));
    first.commands.endAll();
    const { journal } = first;
    const { armedCancelTimers } = journal;
    const answer = Promise.withResolvers<void>();
    journal.armedCancelTimers = async (lane) => {
      const timers = await armedCancelTimers.call(journal, lane);
      await answer.promise;
      return timers;
    };
    const second = await CommandRig.leading({}, first);
    expect(await second.during(second.commands.cancelAfter({ ...asked, afterMs: 0 }))).toMatchObject({ kind: 'done' });
    journal.armedCancelTimers = armedCancelTimers;
    answer.resolve();
    await second.clock.advance(120_000);
    expect(second.entry.sent).toEqual([]);
  });
});

describe("issue: A dead man's switch fired a second time, days later, at the orders of others.", () => {
  const asked = { principal: 'desk', accountIds: ['acct-1'], requestId: 'request-1' };
  const arm = (rig: CommandRig) => rig.during(rig.commands.cancelAfter({ ...asked, afterMs: 30_000 }));

  /** The next change of timers commits, and its answer is lost. */
  function losesTheAnswer(rig: CommandRig): void {
    rig.journal.hook = async (operation, transact) => {
      const result = await transact();
      if (operation !== 'setCancelTimers') return result;
      rig.journal.hook = async (_operation, next) => next();
      throw new JournalError('COMMIT_UNKNOWN', false, new Error('cut'));
    };
  }

  it('a first arming whose answer was lost fires in its time', async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    losesTheAnswer(rig);
    expect(await arm(rig)).toMatchObject({ kind: 'declined', code: 'STORE_UNAVAILABLE' });
    await rig.clock.advance(45_000);
    expect(rig.entry.sent).toHaveLength(1);
  });

  it('a renewal whose answer was lost is one all the same, and the switch fires once', async () => {
    const first = await CommandRig.leading();
    first.commit(workingOrder);
    await arm(first);
    await first.clock.advance(15_000);
    losesTheAnswer(first);
    await arm(first);
    await first.clock.advance(20_000);
    expect(first.entry.sent).toEqual([]);
    await first.clock.advance(30_000);
    expect(first.entry.sent).toHaveLength(1);
    first.commands.endAll();
    const second = await CommandRig.leading({}, first);
    second.commit({ ...workingOrder, orderId: 'order-of-another' });
    await second.clock.advance(120_000);
    expect(second.entry.sent).toEqual([]);
  });

  it('a renewal that commits seconds after its answer was lost keeps the switch from firing', async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    await arm(rig);
    await rig.clock.advance(29_000);
    rig.journal.hook = async (operation, transact) => {
      if (operation !== 'setCancelTimers') return transact();
      void rig.clock.sleep(4_000).then(transact);
      throw new JournalError('COMMIT_UNKNOWN', false, new Error('cut'));
    };
    expect(await arm(rig)).toMatchObject({ kind: 'declined', code: 'STORE_UNAVAILABLE' });
    await rig.clock.advance(30_000);
    expect(rig.entry.sent).toEqual([]);
    await rig.clock.advance(6_000);
    expect(rig.entry.sent).toHaveLength(1);
  });
});
