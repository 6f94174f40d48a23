import { describe, expect, it } from 'vitest';
import type { Head } from '../../src/domain/head.ts';
import type { Observation } from '../../src/domain/observation.ts';
import type { OrderView } from '../../src/domain/order.ts';
import { reduce, reduceOwned } from '../../src/domain/reduce.ts';
import { equityView, instantAt, predictionView } from '../support/orders/arbitrary-orders.ts';
import { applied, fold, observe, throughStorage } from '../support/orders/observe.ts';

const filled = { status: 'filled', statusRaw: 'FILLED', cumQty: '100', leavesQty: '0', avgPrice: '190' } as const;
const read = { cause: 'snapshot' } as const;
const confirmed = { ...read, correction: true, overrules: 0 } as const;

/** How the two streams show an order, its end, and the next order under its id. */
const streams = {
  account: {
    ended: { ...equityView, ...filled, clOrdId: 'old', createdAt: instantAt(1), updatedAt: instantAt(5) },
    next: { ...equityView, clOrdId: 'new', side: 'sell', createdAt: instantAt(50), updatedAt: instantAt(50) },
    version: (_: bigint) => ({}),
  },
  prediction: {
    ended: {
      ...predictionView,
      ...filled,
      statusRaw: 'filled',
      clientOrderRef: 'old',
      createdAt: instantAt(1),
      updatedAt: instantAt(5),
    },
    next: {
      ...predictionView,
      clientOrderRef: 'new',
      side: 'sell',
      createdAt: instantAt(50),
      updatedAt: instantAt(50),
    },
    version: (sourceVersion: bigint) => ({ sourceVersion }),
  },
} as const;

describe.each(['account', 'prediction'] as const)('an id of the %s stream that is given again', (stream) => {
  const { ended, next, version } = streams[stream];
  const see = (view: OrderView, of: bigint, more: Partial<Observation> = {}) =>
    observe(view, { ...version(of), ...more });
  const head: Head = throughStorage(fold([see(ended, 40n)]).head);
  const begun = () => applied(reduce(head, see(next, 2n, confirmed)));

  it('joins nothing before two reads agree: the row raises a doubt, and the order stays', () => {
    for (const cause of ['stream', 'snapshot', 'probe', 'reply'] as const) {
      const reduction = reduce(head, see(next, 41n, { cause }));
      expect(reduction).toMatchObject({ outcome: 'stale', doubt: 'reused' });
      expect(reduction).toMatchObject({ head: { order: head.order, revision: 1, join: { inQuestion: true } } });
    }
  });

  it('begins another order with the confirmed read: revisions go on, and all else is its own', () => {
    const { head: after, changed, fill } = begun();
    expect(after.revision).toBe(2);
    expect(after.order).toMatchObject({ incarnation: 2, side: 'sell', status: 'new', cumQty: '0', origin: 'external' });
    expect(after.order).toMatchObject({ createdAt: instantAt(50), updatedAt: instantAt(50) });
    expect([after.order.clOrdId, after.order.clientOrderRef]).toContain('new');
    expect(after.order.avgPrice).toBeUndefined();
    expect(changed).toContain('incarnation');
    expect(changed).toContain('quantity');
    expect(fill).toBeUndefined();
  });

  it('counts the fills of the next order from zero', () => {
    const part = { ...next, status: 'partially_filled', cumQty: '3', leavesQty: '7', avgPrice: '0.5' } as const;
    expect(applied(reduce(head, see(part, 2n, confirmed))).fill).toMatchObject({ quantity: '3', price: '0.5' });
    const further = { ...part, cumQty: '4', updatedAt: instantAt(60) };
    const { head: first } = applied(reduce(head, see(part, 2n, confirmed)));
    expect(applied(reduce(throughStorage(first), see(further, 3n))).fill).toMatchObject({ quantity: '1' });
  });

  it('owns nothing of the order before, and is bound by its own reference alone', () => {
    const own = { origin: 'tidemark', commandId: 'c-1', callerRef: 'mine' } as const;
    const ours = applied(reduce(undefined, see(ended, 40n), own)).head;
    const { order } = applied(reduce(ours, see(next, 2n, confirmed))).head;
    expect([order.origin, order.commandId, order.callerRef]).toEqual(['external', undefined, undefined]);
    const theirs = { origin: 'tidemark', commandId: 'c-2' } as const;
    expect(reduceOwned(head, see(next, 41n, read), theirs)).toMatchObject({ outcome: 'stale', doubt: 'reused' });
    const { head: bound } = applied(reduceOwned(head, see(next, 2n, confirmed), theirs));
    expect(bound.order).toMatchObject({ commandId: 'c-2', origin: 'tidemark', incarnation: 2 });
  });

  it('takes no late view of the order before for one of the next', () => {
    let { head: now } = begun();
    for (const cause of ['stream', 'snapshot'] as const) {
      const reduction = reduce(now, see({ ...ended, updatedAt: instantAt(6) }, 41n, { cause }));
      expect(reduction.outcome).toBe('stale');
      now = reduction.outcome === 'stale' && reduction.head !== undefined ? reduction.head : now;
    }
    expect(now.order).toEqual(begun().head.order);
    expect(now.revision).toBe(2);
    expect(applied(reduce(now, see({ ...next, cumQty: '1', updatedAt: instantAt(70) }, 3n))).head.order).toMatchObject({
      ...{ cumQty: '1', incarnation: 2 },
    });
  });

  it('is seen by another creation alone, behind the end', () => {
    const { clOrdId: _a, clientOrderRef: _b, ...unnamed } = next as OrderView;
    expect(applied(reduce(head, see(unnamed, 2n, confirmed))).head.order).toMatchObject({ incarnation: 2 });
    const repeated = { ...next, clOrdId: ended.clOrdId, clientOrderRef: (ended as OrderView).clientOrderRef };
    expect(applied(reduce(head, see(repeated, 2n, confirmed))).head.order).toMatchObject({ incarnation: 2 });
    const early = { ...unnamed, createdAt: instantAt(2) };
    expect(reduce(head, see(early, 41n, confirmed))).not.toMatchObject({ begins: true });
  });

  it('is seen by another reference alone', () => {
    const sameDay = { ...next, createdAt: ended.createdAt };
    expect(applied(reduce(head, see(sameDay, 2n, confirmed))).head.order).toMatchObject({ incarnation: 2 });
    const { createdAt: _none, ...undated } = next as OrderView;
    expect(applied(reduce(head, see(undated, 2n, confirmed))).head.order).toMatchObject({ incarnation: 2 });
  });

  it('is not seen in a new reference, or digits of an instant, of the same end', () => {
    const reworded = { ...ended, clOrdId: 'cancel-9', clientOrderRef: 'cancel-9' };
    if (stream === 'account') expect(reduce(head, see(reworded, 40n, confirmed))).not.toMatchObject({ begins: true });
    const coarse = { ...ended, createdAt: instantAt(1).replace(/\.\d+/, ''), updatedAt: instantAt(9) };
    expect(reduce(head, see(coarse, 41n, confirmed))).not.toMatchObject({ begins: true });
  });

  it('is seen in an order that has not ended here only where both differ', () => {
    const open = fold([see({ ...ended, status: 'new', cumQty: '0' }, 40n)]).head;
    expect(reduce(open, see({ ...next, createdAt: ended.createdAt }, 41n, confirmed))).not.toMatchObject({
      begins: true,
    });
    expect(reduce(open, see(next, 2n, confirmed))).toMatchObject({ begins: true, head: { order: { incarnation: 2 } } });
  });

  it('at an earlier instant is confirmed against the same revision alone, as where a clock was set back', () => {
    const back = { ...next, createdAt: instantAt(3), updatedAt: instantAt(3) };
    expect(reduce(head, see(back, 2n, read))).toMatchObject({ outcome: 'stale', doubt: 'reused_earlier' });
    expect(reduce(head, see(back, 2n))).toEqual({ outcome: 'stale' });
    expect(reduce(head, see(back, 2n, confirmed)).outcome).toBe('stale');
    expect(reduce(head, see(back, 2n, { ...confirmed, overrules: 1 }))).toMatchObject({ begins: true });
  });

  it('is in question no more once REST shows the order that we hold', () => {
    const questioned = reduce(head, see(next, 41n));
    const held = questioned.outcome === 'stale' ? (questioned.head ?? head) : head;
    expect(held.join).toMatchObject({ inQuestion: true });
    const answered = reduce(held, see(ended, 40n, read));
    expect(answered).toMatchObject({ head: { order: head.order, revision: 1 } });
    expect(answered.outcome === 'conflict' ? undefined : answered.head?.join['inQuestion']).toBeUndefined();
  });

  it('in another account stays with the first one, also by a confirmed read: it goes to quarantine', () => {
    const elsewhere = see({ ...next, accountId: 'acct-2' }, 2n, confirmed);
    expect(reduce(head, elsewhere)).toMatchObject({ outcome: 'conflict', reason: 'identity_changed' });
  });

  it('may be given a third time', () => {
    const { head: second } = begun();
    const over = { ...next, ...filled, updatedAt: instantAt(80) };
    const { head: ended2 } = applied(reduce(throughStorage(second), see(over, 9n)));
    const third = {
      ...next,
      clOrdId: 'third',
      clientOrderRef: 'third',
      createdAt: instantAt(90),
      updatedAt: instantAt(90),
    };
    expect(applied(reduce(ended2, see(third, 1n, confirmed))).head).toMatchObject({
      ...{ revision: 4, order: { incarnation: 3, cumQty: '0' } },
    });
  });
});

describe('an order that has ended without a reference', () => {
  it('is not the one of ours that its id is given to', () => {
    const { clOrdId: _none, ...bare } = { ...equityView, ...filled, updatedAt: instantAt(5) };
    const { head } = fold([observe(bare)]);
    const ours = { ...equityView, clOrdId: 'tm-2', updatedAt: instantAt(50) };
    const own = { origin: 'tidemark', commandId: 'c-2' } as const;
    expect(reduceOwned(head, observe(ours), own)).toMatchObject({ outcome: 'stale', doubt: 'reused' });
    const { head: bound } = applied(reduceOwned(head, observe(ours, confirmed), own));
    expect(bound.order).toMatchObject({ commandId: 'c-2', incarnation: 2 });
  });

  it('is ours where a later row of the same end names it', () => {
    const { clOrdId: _none, ...bare } = { ...equityView, ...filled, updatedAt: instantAt(5) };
    const { head } = fold([observe(bare)]);
    const own = { origin: 'tidemark', commandId: 'c-2' } as const;
    const { head: bound } = applied(reduceOwned(head, observe({ ...bare, clOrdId: 'tm-2' }, read), own));
    expect(bound.order).toMatchObject({ commandId: 'c-2' });
    expect(bound.order.incarnation).toBeUndefined();
  });
});
