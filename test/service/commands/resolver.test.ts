import { describe, expect, it } from 'vitest';
import {
  accepted,
  CommandRig,
  cancelWorking,
  failedLook,
  placeEquity,
  placePrediction,
  refused,
  replaceWorking,
  unknown,
  word,
  workingOrder,
} from '../../support/commands/command-rig.ts';
import { equityView, instantAt, predictionView } from '../../support/orders/arbitrary-orders.ts';

const minute = 60_000;
const quiet = failedLook('down');

/** A place that nobody has heard of. */
async function unknownPlace(rig: CommandRig, request: typeof placeEquity | typeof placePrediction = placeEquity) {
  rig.entry.scripts.push({ result: unknown });
  return (await rig.send(request)).commandId;
}

describe('a place', () => {
  it.each(['account', 'prediction'])('resolves at once when its order is observed (%s)', async (stream) => {
    const rig = await CommandRig.leading();
    const id = await unknownPlace(rig, stream === 'account' ? placeEquity : placePrediction);
    const order = rig.land(id);
    await rig.clock.advance(10);
    expect(rig.command(id)).toMatchObject({ state: 'applied', orderId: order.orderId });
    expect(rig.codes(id)).toContain('landed');
  });

  it('that is resolved has no timer and is never probed again', async () => {
    const rig = await CommandRig.leading();
    const id = await unknownPlace(rig);
    await rig.clock.advance(600);
    rig.land(id);
    await rig.clock.advance(10);
    const asked = rig.probes.asked.length;
    await rig.clock.advance(3 * 60 * minute);
    expect(rig.probes.asked.length).toBe(asked);
  });

  it('whose account is not followed any more is missed by no read', async () => {
    const rig = await CommandRig.leading();
    const id = await unknownPlace(rig);
    rig.probes.now = { ...rig.probes.now, known: false };
    const asked = rig.probes.asked.length;
    await rig.clock.advance(3 * 60 * minute);
    expect(rig.command(id)).toMatchObject({ state: 'unknown', misses: 0, presumedAbsent: false });
    expect(rig.probes.asked.length).toBe(asked);
  });

  it('observed before its answer is resolved before it; the answer moves its attempt and is evidence', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: unknown, answerMs: 1_000 });
    const asked = rig.commands.submit(rig.submission(placeEquity));
    await rig.clock.advance(100);
    const [command] = [...rig.journal.commands.values()];
    const id = command?.commandId ?? '';
    rig.land(id);
    await rig.clock.advance(10);
    expect(rig.command(id)).toMatchObject({ state: 'applied', attempts: [{ state: 'sending' }] });
    expect(await rig.during(asked)).toMatchObject({ command: { state: 'applied' } });
    await rig.clock.advance(1_000);
    expect(rig.command(id)).toMatchObject({ state: 'applied', attempts: [{ state: 'unknown' }] });
  });

  it('whose order has another account, symbol or side is in conflict, and bound to nothing', async () => {
    const rig = await CommandRig.leading();
    const id = await unknownPlace(rig);
    const { commandId: _, ...foreign } = rig.landed(id, { side: 'sell', origin: 'external' });
    rig.commit(foreign, { commandId: id });
    await rig.clock.advance(10);
    expect(rig.command(id)).toMatchObject({ state: 'conflict', reason: { code: 'OTHER_IDENTITY' } });
    expect(rig.command(id).orderId).toBeUndefined();
  });

  it('is never resolved by an order with equal terms that does not carry its reference', async () => {
    const rig = await CommandRig.leading();
    const id = await unknownPlace(rig);
    const { commandId: _, ...order } = rig.landed(id);
    rig.commit({ ...order, orderId: 'somebody-elses', clOrdId: 'other', origin: 'external' });
    await rig.clock.advance(20 * minute);
    expect(rig.state(id)).toBe('unknown');
  });

  it('is not bound to an order under a reference that none of its attempts has, whoever says so', async () => {
    const rig = await CommandRig.leading();
    const id = await unknownPlace(rig);
    rig.commit({ ...rig.landed(id), clOrdId: 'tm-of-somebody-else' }, { commandId: id });
    await rig.clock.advance(10);
    expect(rig.state(id)).toBe('unknown');
  });

  it('whose binding was not handed over is found in the journal by the next probe, and by a missed hand-over', async () => {
    const rig = await CommandRig.leading();
    const id = await unknownPlace(rig);
    const order = rig.landed(id);
    rig.orders.add({ revision: 1, sourceEpoch: 0, cause: 'probe', order });
    rig.orders.bind({ attemptId: order.clOrdId ?? '', commandId: id, orderId: order.orderId, matches: true });
    await rig.clock.advance(300);
    expect(rig.state(id)).toBe('applied');
    const other = await unknownPlace(rig, placePrediction);
    rig.commit(rig.landed(other), { commandId: other, handed: false });
    await rig.clock.advance(10);
    expect(rig.state(other)).toBe('applied');
  });

  it('says when it is asked about next, and how, until it is resolved', async () => {
    const rig = await CommandRig.leading();
    const id = await unknownPlace(rig);
    const next = () => {
      const probe = rig.commands.nextProbe(id);
      return probe && [probe.by, Math.round((probe.atMs - rig.clock.nowMs()) / 50) / 20];
    };
    expect(next()).toEqual(['reference', 0.25]);
    await rig.clock.advance(3_000);
    expect(next()).toEqual(['account', 1]);
    await rig.clock.advance(10 * minute);
    const probe = rig.commands.nextProbe(id);
    const asked = rig.probes.asked.length;
    await rig.clock.advance((probe?.atMs ?? 0) - rig.clock.nowMs() + 10);
    expect(rig.probes.asked.length).toBe(asked + 1);
    rig.land(id);
    await rig.clock.advance(10);
    expect(next()).toBeUndefined();
  });

  it('is asked about by reference four times, then through the account, then at a tenth of its age', async () => {
    const rig = await CommandRig.leading();
    await unknownPlace(rig);
    const from = rig.clock.monotonicMs();
    await rig.clock.advance(12 * minute);
    const asked = rig.probes.asked.map(({ kind, atMs }) => [kind, Math.round((atMs - from) / 50) / 20]);
    expect(asked.slice(0, 4)).toEqual([
      ['reference', 0.25],
      ['reference', 0.5],
      ['reference', 1],
      ['reference', 2],
    ]);
    expect(asked.slice(4, 10)).toEqual([4, 8, 15, 30, 60, 120].map((at) => ['account', at]));
    const later = asked.slice(10).map(([, at]) => Number(at));
    expect(later.map((at, i) => Math.round(at - (later[i - 1] ?? 120)))).toEqual(later.map(() => 60));
  });
});

describe('presumed absent', () => {
  it('is a label after ten minutes and five complete misses: still unknown, still followed', async () => {
    const rig = await CommandRig.leading();
    const id = await unknownPlace(rig);
    await rig.clock.advance(9.9 * minute);
    expect(rig.command(id)).toMatchObject({ state: 'unknown', presumedAbsent: false });
    await rig.clock.advance(2 * minute);
    expect(rig.command(id)).toMatchObject({ state: 'unknown', presumedAbsent: true });
    const asked = rig.probes.asked.length;
    await rig.clock.advance(60 * minute);
    expect(rig.probes.asked.length).toBeGreaterThan(asked);
    expect(rig.command(id)).toMatchObject({ state: 'unknown', presumedAbsent: true });
  });

  it('is never brought about by reads that failed', async () => {
    const rig = await CommandRig.leading();
    rig.probes.answer = () => quiet;
    const id = await unknownPlace(rig);
    await rig.clock.advance(6 * 60 * minute);
    expect(rig.command(id)).toMatchObject({ state: 'unknown', presumedAbsent: false, misses: 0 });
  });

  it('is never brought about while the store of the platform is uncertain', async () => {
    const rig = await CommandRig.leading();
    rig.probes.now = { ...rig.probes.now, certain: false };
    const id = await unknownPlace(rig);
    await rig.clock.advance(60 * minute);
    expect(rig.command(id)).toMatchObject({ presumedAbsent: false, misses: 0 });
  });

  it('is never brought about by a step of the wall clock', async () => {
    const rig = await CommandRig.leading();
    const id = await unknownPlace(rig);
    rig.clock.stepWall(60 * minute);
    await rig.clock.advance(5 * minute);
    expect(rig.command(id).misses).toBeGreaterThanOrEqual(5);
    expect(rig.command(id).presumedAbsent).toBe(false);
  });

  it('does not count a read that began before the command was sent, even if the wall clock says otherwise', async () => {
    const rig = await CommandRig.leading();
    await unknownPlace(rig);
    rig.probes.answer = async ({ kind }) => {
      const result = rig.probes.complete();
      if (kind === 'account') await rig.clock.sleep(3_000);
      return kind === 'account' ? result : quiet;
    };
    await rig.clock.advance(4_100);
    rig.clock.stepWall(-60 * minute);
    const later = await unknownPlace(rig, {
      ...placeEquity,
      terms: { ...placeEquity.terms, qty: '20' },
    } as unknown as typeof placeEquity);
    await rig.clock.advance(3_500);
    expect(rig.command(later).misses).toBe(0);
    expect(rig.probes.asked.filter(({ kind }) => kind === 'account')).toHaveLength(1);
  });

  it('is not brought about by a read that showed an order with the reference', async () => {
    const rig = await CommandRig.leading();
    rig.probes.answer = ({ kind }) => (kind === 'reference' ? rig.probes.complete('seen') : quiet);
    const id = await unknownPlace(rig);
    await rig.clock.advance(60 * minute);
    expect(rig.command(id).misses).toBe(0);
  });

  it('keeps its misses over a takeover', async () => {
    const rig = await CommandRig.leading();
    const id = await unknownPlace(rig);
    await rig.clock.advance(30_000);
    const { misses } = rig.command(id);
    expect(misses).toBeGreaterThan(3);
    rig.commands.endAll();
    const next = await CommandRig.leading({}, rig);
    await next.clock.advance(30_000);
    expect(rig.command(id).misses).toBeGreaterThan(misses);
  });

  it('frees no second attempt, only a new command that names it', async () => {
    const rig = await CommandRig.leading();
    const id = await unknownPlace(rig);
    expect(await rig.declined(placeEquity, { supersedes: id })).toBe('SUPERSEDED_NOT_ABSENT');
    await rig.clock.advance(15 * minute);
    expect(await rig.declined(placeEquity)).toBe('UNRESOLVED_PRIOR_COMMAND');
    expect(rig.entry.sent).toHaveLength(1);
    const second = await rig.send(placeEquity, { supersedes: id });
    expect(second).toMatchObject({ state: 'accepted', supersedes: id });
    expect(rig.state(id)).toBe('unknown');
  });

  it('is a late landing when the order appears after all: it binds, and halts the placing of the account', async () => {
    const rig = await CommandRig.leading();
    const id = await unknownPlace(rig);
    await rig.clock.advance(15 * minute);
    const order = rig.land(id);
    await rig.clock.advance(10);
    expect(rig.command(id)).toMatchObject({ state: 'applied', orderId: order.orderId, presumedAbsent: false });
    expect(rig.commands.operator.halts.list()).toMatchObject([
      { cause: 'late_landing', scope: { kind: 'account', accountId: 'acct-1' } },
    ]);
    expect(await rig.declined(placePrediction)).toBe('PLACING_HALTED');
  });
});

describe('a late landing', () => {
  it('of a command that was refused binds it and halts placing', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: refused(400) });
    const { commandId } = await rig.send(placeEquity);
    rig.land(commandId);
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('applied');
    expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'late_landing' }]);
  });

  it('of a command that was not sent, hours ago, whose hand-over was missed', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: { kind: 'not_sent', reason: { code: 'X', message: 'x' }, mayRepeat: false } });
    const { commandId } = await rig.send(placeEquity);
    await rig.clock.advance(30 * minute);
    rig.commit(rig.landed(commandId), { commandId, handed: false });
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('applied');
    expect(rig.commands.operator.halts.list()).toMatchObject([{ cause: 'late_landing' }]);
  });

  it('is none when the order of a rejected place shows up as rejected', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: { kind: 'rejected', reason: { code: 'NO', message: 'no' }, answer: {} } });
    const { commandId } = await rig.send(placeEquity);
    rig.land(commandId, { status: 'rejected', leavesQty: '0' });
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('rejected');
    expect(rig.commands.operator.halts.list()).toEqual([]);
  });

  it('halts with the step that records it: while that cannot be written, the command waits', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: refused(400) });
    const { commandId } = await rig.send(placeEquity);
    let away = true;
    rig.journal.hook = async (operation, transact) => {
      if (operation === 'step' && away) throw new Error('no database');
      return transact();
    };
    rig.land(commandId);
    await rig.clock.advance(1_000);
    expect([rig.state(commandId), rig.journal.halts]).toEqual(['refused', []]);
    away = false;
    await rig.clock.advance(5_000);
    expect(rig.state(commandId)).toBe('applied');
    expect(rig.journal.halts).toHaveLength(1);
    expect(await rig.declined(placePrediction)).toBe('PLACING_HALTED');
  });
});

describe('an accepted place', () => {
  it('becomes applied when the venue is seen to have its order', async () => {
    const rig = await CommandRig.leading();
    const { commandId } = await rig.send(placePrediction);
    rig.land(commandId, { status: 'pending_new' });
    await rig.clock.advance(10);
    expect(rig.command(commandId)).toMatchObject({ state: 'accepted', orderId: `of-${commandId}` });
    rig.commit(rig.landed(commandId));
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('applied');
  });

  it('that nothing is heard of is asked about on the same schedule, and told to people after a minute', async () => {
    const rig = await CommandRig.leading();
    const { commandId } = await rig.send(placeEquity);
    await rig.clock.advance(61_000);
    expect(rig.probes.asked.length).toBeGreaterThanOrEqual(8);
    expect(rig.codes(commandId)).toContain('escalated');
    expect(rig.command(commandId)).toMatchObject({ state: 'accepted', presumedAbsent: false, misses: 0 });
  });
});

describe('a replace', () => {
  const rigWithOrder = async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    rig.entry.scripts.push({ result: unknown });
    const { commandId } = await rig.send(replaceWorking);
    return { rig, commandId };
  };
  const pending = { ...workingOrder, pendingAction: 'replace' };
  const amended = { ...workingOrder, price: '0.5', working: { quantity: '10', price: '0.5' } };

  it('is applied when the requested price works', async () => {
    const { rig, commandId } = await rigWithOrder();
    rig.commit(amended);
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('applied');
  });

  it('seen pending waits for the venue, and is rejected by old terms above that version', async () => {
    const { rig, commandId } = await rigWithOrder();
    rig.commit(pending);
    await rig.clock.advance(10);
    expect(rig.command(commandId)).toMatchObject({
      state: 'unknown',
      seenPendingAt: { revision: 2, sourceVersion: 20n },
    });
    rig.commit({ ...workingOrder, rejectReason: 'PRICE_BAND' });
    await rig.clock.advance(10);
    expect(rig.command(commandId)).toMatchObject({ state: 'rejected', reason: { code: 'PRICE_BAND' } });
  });

  it('is not resolved by old terms that were never seen pending: fills raise the version too', async () => {
    const { rig, commandId } = await rigWithOrder();
    rig.commit({ ...workingOrder, status: 'partially_filled', cumQty: '3', leavesQty: '7' });
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('unknown');
  });

  it('is in conflict when neither the old nor the new terms work', async () => {
    const { rig, commandId } = await rigWithOrder();
    rig.commit({ ...workingOrder, price: '0.45', working: { quantity: '10', price: '0.45' } });
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('conflict');
  });

  it('of an order that ended is moot only after a complete look for a successor', async () => {
    const { rig, commandId } = await rigWithOrder();
    rig.probes.answer = () => quiet;
    rig.commit({ ...workingOrder, status: 'canceled', leavesQty: '0' });
    await rig.clock.advance(1_500);
    expect(rig.state(commandId)).toBe('unknown');
    rig.probes.answer = () => rig.probes.complete();
    await rig.clock.advance(10_000);
    expect(rig.state(commandId)).toBe('moot');
    expect(rig.codes(commandId)).toContain('no_successor');
  });

  it('misses a hand-over and judges from the log: a hole in the revisions is noticed', async () => {
    const { rig, commandId } = await rigWithOrder();
    const order = { ...pending, updatedAt: instantAt(2) };
    rig.orders.add({ revision: 2, sourceEpoch: 0, sourceVersion: 20n, cause: 'stream', order });
    rig.commit({ ...workingOrder, rejectReason: 'PRICE_BAND' });
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('rejected');
  });

  it('is looked at by its order, never by reference', async () => {
    const { rig } = await rigWithOrder();
    await rig.clock.advance(5_000);
    expect(rig.probes.asked.map(({ kind }) => kind)).toEqual(['order', 'order', 'order', 'order', 'account']);
  });

  it('after which the platform lost its store stays unknown, for a person', async () => {
    const { rig, commandId } = await rigWithOrder();
    rig.commit(amended, { sourceEpoch: 1, sourceVersion: 1n });
    await rig.clock.advance(10 * minute);
    expect(rig.state(commandId)).toBe('unknown');
    expect(rig.codes(commandId).filter((code) => code === 'source_epoch_changed')).toHaveLength(1);
    expect(await rig.during(rig.commands.operator.resolve(commandId, 'applied', word))).toMatchObject({
      kind: 'done',
    });
  });
});

describe('issue: A replace was called moot although it had made an order, since reads were late.', () => {
  const before = { ...equityView, stream: 'alpaca_paper', orderId: 'order-1', origin: 'tidemark' } as const;
  const request = { kind: 'replace', stream: 'alpaca_paper', accountId: 'acct-1', orderId: 'order-1' } as const;
  const rigWithReplaced = async (replacedBy?: string) => {
    const rig = await CommandRig.leading();
    rig.commit(before);
    rig.entry.scripts.push({ result: unknown });
    const { commandId } = await rig.send({ ...request, terms: { price: '191' } });
    rig.commit({ ...before, status: 'replaced', leavesQty: '0', ...(replacedBy && { replacedBy }) });
    return { rig, commandId };
  };

  it('is not concluded from a look in the first 10 s', async () => {
    const { rig, commandId } = await rigWithReplaced();
    await rig.clock.advance(9_900);
    expect(rig.state(commandId)).toBe('unknown');
    await rig.clock.advance(6_000);
    expect(rig.state(commandId)).toBe('moot');
    expect(rig.codes(commandId)).toContain('no_successor');
  });

  it('is not concluded before the order that replaced it is shown, which may be its own', async () => {
    const { rig, commandId } = await rigWithReplaced('order-2');
    await rig.clock.advance(5 * minute);
    expect(rig.state(commandId)).toBe('unknown');
    rig.probes.answer = ({ kind, id = '' }) => {
      if (kind === 'order') rig.commit({ ...before, orderId: id, clOrdId: 'of-another' });
      return rig.probes.complete(...(kind === 'order' ? [id] : []));
    };
    await rig.clock.advance(5 * minute);
    expect(rig.state(commandId)).toBe('moot');
  });
});

describe('a cancel', () => {
  const rigWithOrder = async (result = unknown) => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    rig.entry.scripts.push({ result });
    const { commandId } = await rig.send(cancelWorking);
    return { rig, commandId };
  };

  it.each([
    ['canceled', 'applied'],
    ['filled', 'moot'],
    ['expired', 'moot'],
    ['rejected', 'moot'],
  ] as const)('of an order that is %s is %s', async (status, result) => {
    const { rig, commandId } = await rigWithOrder();
    rig.commit({ ...workingOrder, status, leavesQty: '0' });
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe(result);
  });

  it('seen pending and then still at work is rejected', async () => {
    const { rig, commandId } = await rigWithOrder(accepted);
    rig.commit({ ...workingOrder, pendingAction: 'cancel' });
    rig.commit(workingOrder);
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('rejected');
  });

  it.each([404, 409, 422])('refused by %i gets one look at its order, which may turn it moot', async (status) => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    rig.entry.scripts.push({ result: refused(status) });
    rig.probes.answer = () => {
      rig.commit({ ...workingOrder, status: 'filled', cumQty: '10', leavesQty: '0' });
      return rig.probes.complete('order-1');
    };
    const { commandId } = await rig.send(cancelWorking);
    await rig.clock.advance(1_000);
    expect(rig.state(commandId)).toBe('moot');
    expect(rig.probes.asked.map(({ kind }) => kind)).toEqual(['order']);
  });

  it('refused by 404 of an order that nothing is found of says nothing about the place', async () => {
    const { rig, commandId } = await rigWithOrder(refused(404));
    await rig.clock.advance(minute);
    expect(rig.state(commandId)).toBe('refused');
    expect(rig.probes.asked).toHaveLength(1);
  });

  it('of an order that we had never seen is sent once it was read, and resolved by what is observed of it then', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: unknown });
    rig.probes.answer = ({ id = '' }) => {
      rig.commit({ ...workingOrder, orderId: id });
      return rig.probes.complete(id);
    };
    const { commandId } = await rig.send({ ...cancelWorking, orderId: predictionView.orderId });
    rig.commit({ ...workingOrder, orderId: predictionView.orderId, status: 'canceled', leavesQty: '0' });
    await rig.clock.advance(10);
    expect(rig.state(commandId)).toBe('applied');
  });

  it.each([
    ['rejected', { ...accepted, answer: { status: 202, version: '20' } }],
    // Which of the two was seen pending nobody can tell.
    ['accepted', accepted],
  ])(
    'that is unknown beside another one is not resolved by what may have become of the other (%s)',
    async (told, result) => {
      const { rig, commandId } = await rigWithOrder();
      rig.entry.scripts.push({ result: result as typeof accepted });
      const other = await rig.send(cancelWorking);
      rig.commit({ ...workingOrder, pendingAction: 'cancel' });
      await rig.clock.advance(10);
      rig.commit(workingOrder);
      await rig.clock.advance(10);
      expect([rig.state(commandId), rig.state(other.commandId)]).toEqual(['unknown', told]);
      rig.commit({ ...workingOrder, status: 'canceled', leavesQty: '0' });
      await rig.clock.advance(10);
      expect(rig.state(commandId)).toBe('applied');
    },
  );

  it('is never resolved by time', async () => {
    const { rig, commandId } = await rigWithOrder();
    await rig.clock.advance(6 * 60 * minute);
    expect(rig.state(commandId)).toBe('unknown');
  });
});

describe('a takeover', () => {
  it('finds what was on the way unknown and what was prepared not sent, and sends neither again', async () => {
    const rig = await CommandRig.leading();
    rig.entry.scripts.push({ result: accepted, answerMs: 60_000 }, { connect: { ms: 60_000 }, result: accepted });
    void rig.commands.submit(rig.submission(placeEquity));
    void rig.commands.submit(rig.submission(placePrediction));
    await rig.clock.advance(300);
    const next = await CommandRig.leading({}, rig);
    expect([...rig.journal.commands.values()].map(({ state }) => state)).toEqual(['unknown', 'not_sent']);
    await rig.clock.advance(10 * minute);
    expect(rig.entry.sent.length + next.entry.sent.length).toBe(1);
  });

  it('finds the order that appeared while nobody held the lane', async () => {
    const rig = await CommandRig.leading();
    const id = await unknownPlace(rig);
    rig.commands.endAll();
    rig.commit(rig.landed(id), { commandId: id, handed: false });
    await CommandRig.leading({}, rig);
    await rig.clock.advance(10);
    expect(rig.state(id)).toBe('applied');
  });

  it('folds the log again for a replace whose answer and updates nobody saw', async () => {
    const rig = await CommandRig.leading();
    rig.commit(workingOrder);
    rig.entry.scripts.push({ result: accepted, answerMs: 60_000 });
    void rig.commands.submit(rig.submission(replaceWorking));
    await rig.clock.advance(100);
    rig.commands.endAll();
    rig.commit({ ...workingOrder, pendingAction: 'replace' });
    rig.commit({ ...workingOrder, price: '0.5', working: { quantity: '10', price: '0.5' } });
    rig.commit({
      ...workingOrder,
      status: 'filled',
      price: '0.5',
      working: { quantity: '10', price: '0.5' },
      cumQty: '10',
    });
    await CommandRig.leading({}, rig);
    await rig.clock.advance(10);
    const [command] = rig.journal.commands.values();
    expect(command?.state).toBe('applied');
  });

  it('leaves the old holder unable to resolve anything', async () => {
    const rig = await CommandRig.leading();
    const id = await unknownPlace(rig);
    await CommandRig.leading({}, rig);
    const { version } = rig.command(id);
    rig.commands.followCommitted({
      number: 1n,
      lastSeq: 1n,
      rows: [],
      receivedMs: [],
      streams: [],
      committedMs: 0,
      bytes: 0,
    });
    const resolved = await rig.during(rig.commands.operator.resolve(id, 'rejected', word));
    expect(resolved).toMatchObject({ kind: 'declined', code: 'NOT_LEADER' });
    expect(rig.command(id).version).toBe(version);
  });

  it('takes up the rest from the journal when there are more than memory is given, and places nothing until then', async () => {
    const rig = await CommandRig.leading({ haltAt: { account: 100, service: 100 } });
    for (const qty of ['1', '2', '3', '4'])
      await unknownPlace(rig, {
        ...placeEquity,
        terms: { ...placeEquity.terms, qty },
      } as unknown as typeof placeEquity);
    rig.commands.endAll();
    const next = await CommandRig.leading({ maxWatched: 2, haltAt: { account: 100, service: 100 } }, rig);
    expect(await next.declined(placePrediction)).toBe('RATE_LIMITED');
    for (const id of rig.journal.commands.keys()) rig.commit(rig.landed(id), { commandId: id, handed: false });
    next.commands.missedCommitted();
    await rig.clock.advance(minute);
    expect([...rig.journal.commands.values()].map(({ state }) => state)).toEqual(Array(4).fill('applied'));
    expect((await next.send(placePrediction)).state).toBe('accepted');
  });
});

describe('the budget of probes', () => {
  it('bounds the reads of many unknown commands on many accounts, and all are read in the end', async () => {
    const rig = await CommandRig.leading({
      probes: { perSecond: 5, burst: 10 },
      haltAt: { account: 1e6, service: 1e6 },
    });
    for (let i = 0; i < 60; i += 1) rig.entry.scripts.push({ result: unknown });
    const from = rig.clock.monotonicMs();
    await rig.during(
      Promise.all(
        Array.from({ length: 60 }, (_, i) =>
          rig.commands.submit(
            rig.submission({ ...placeEquity, accountId: `acct-${i}` } as unknown as typeof placeEquity),
          ),
        ),
      ),
    );
    await rig.clock.advance(30_000);
    const seconds = (rig.clock.monotonicMs() - from) / 1000;
    expect(rig.probes.asked.length).toBeLessThanOrEqual(10 + 5 * seconds);
    const read = rig.probes.asked.filter(({ kind }) => kind === 'account').map(({ accountId }) => accountId);
    expect(new Set(read).size).toBe(60);
  });

  it('lets one read of an account judge all of its commands', async () => {
    const rig = await CommandRig.leading({
      haltAt: { account: 1e6, service: 1e6 },
      rate: { perSecond: 1e3, burst: 1e3 },
    });
    for (let i = 1; i <= 30; i += 1)
      await unknownPlace(rig, {
        ...placeEquity,
        terms: { ...placeEquity.terms, qty: `${i}` },
      } as unknown as typeof placeEquity);
    rig.probes.answer = ({ kind }) => {
      if (kind !== 'account') return quiet;
      for (const id of [...rig.journal.commands.keys()])
        if (rig.state(id) === 'unknown') rig.commit(rig.landed(id), { commandId: id });
      return rig.probes.complete();
    };
    await rig.clock.advance(4_200);
    expect(new Set([...rig.journal.commands.values()].map(({ state }) => state))).toEqual(new Set(['applied']));
    expect(rig.probes.asked.filter(({ kind }) => kind === 'account')).toHaveLength(1);
  });

  it('does not wait for a read that hangs', async () => {
    const rig = await CommandRig.leading({ probeDeadlineMs: 5_000 });
    let hangs = 0;
    rig.probes.answer = ({ kind }) => {
      if (kind === 'account' && hangs++ === 0) return new Promise(() => {});
      return rig.probes.complete();
    };
    const id = await unknownPlace(rig);
    await rig.clock.advance(20_000);
    expect(rig.probes.asked.filter(({ kind }) => kind === 'account').length).toBeGreaterThan(1);
    expect(rig.command(id).misses).toBe(3);
  });
});

describe('probe', () => {
  it('plans without reading, and reads when told to', async () => {
    const rig = await CommandRig.leading();
    const id = await unknownPlace(rig);
    const plan = [{ accountId: 'acct-1', stream: 'account', read: 'changes of the account', commands: [id] }];
    const dry = await rig.during(rig.commands.probeNow({ dryRun: true }));
    expect(dry).toMatchObject({ kind: 'done', report: { unresolved: 1, probes: 1, resolved: [], plan } });
    expect(rig.probes.asked).toEqual([]);
    rig.probes.answer = () => {
      rig.land(id);
      return rig.probes.complete();
    };
    const done = await rig.during(rig.commands.probeNow({ dryRun: false }));
    expect(done).toMatchObject({ report: { resolved: [{ commandId: id, result: 'applied' }] } });
  });

  it('is declined by a process that stands by', async () => {
    expect(await new CommandRig().commands.probeNow({ dryRun: true })).toMatchObject({
      kind: 'declined',
      code: 'NOT_LEADER',
    });
  });
});
