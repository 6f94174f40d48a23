import { describe, expect, it } from 'vitest';
import type { Head } from '../../src/domain/head.ts';
import type { Observation } from '../../src/domain/observation.ts';
import type { Instrument, OrderView } from '../../src/domain/order.ts';
import { reduce, reduceOwned } from '../../src/domain/reduce.ts';
import { accountRow, predictionRow, type Row } from '../../src/venue/platform/fixtures/rows.ts';
import { equityView, instantAt, predictionView } from '../support/orders/arbitrary-orders.ts';
import { connectorsRig } from '../support/orders/connectors-rig.ts';
import { applied, fold, observe, throughStorage } from '../support/orders/observe.ts';
import { ReducingSink } from '../support/orders/reducing-sink.ts';

const filled = { status: 'filled', statusRaw: 'FILLED', cumQty: '100', leavesQty: '0', avgPrice: '190' } as const;
const read = { cause: 'snapshot' } as const;
const confirmed = { ...read, overrules: 1 } as const;

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
      expect(reduction).toMatchObject({ result: 'stale', doubt: 'reused' });
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

  it('is not bound by a late event of the order before, where views leave references and creation out', () => {
    const own = { origin: 'tidemark', commandId: 'of-the-order-before' } as const;
    const bare = ({ clOrdId: _1, clientOrderRef: _2, ...view }: OrderView): OrderView => view;
    const late = ({ createdAt: _, ...view }: OrderView): OrderView => view;
    const before = throughStorage(applied(reduce(undefined, see(ended, 40n), own)).head);
    let now = throughStorage(applied(reduce(before, see(bare(next), 1n, confirmed))).head);
    for (let of = 2; of < 5; of += 1) {
      const updatedAt = instantAt(50 + of);
      const event = { ...late(ended), status: 'new', statusRaw: 'NEW', cumQty: '0', updatedAt } as OrderView;
      expect(reduceOwned(now, see(event, BigInt(of + 1)), own)).toEqual({ result: 'stale' });
      const view = late({ ...bare(next), pendingAction: of % 2 ? 'none' : 'cancel', updatedAt } as OrderView);
      now = throughStorage(applied(reduce(now, see(view, BigInt(of)))).head);
    }
    expect(now.order.commandId).toBeUndefined();
    expect(reduceOwned(now, see({ ...bare(next), ...late(ended) }, 9n, read), own)).not.toEqual({ result: 'stale' });
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
    expect(reduceOwned(head, see(next, 41n, read), theirs)).toMatchObject({ result: 'stale', doubt: 'reused' });
    const { head: bound } = applied(reduceOwned(head, see(next, 2n, confirmed), theirs));
    expect(bound.order).toMatchObject({ commandId: 'c-2', origin: 'tidemark', incarnation: 2 });
  });

  it('takes no late view of the order before for one of the next', () => {
    let { head: now } = begun();
    for (const cause of ['stream', 'snapshot'] as const) {
      const reduction = reduce(now, see({ ...ended, updatedAt: instantAt(6) }, 41n, { cause }));
      expect(reduction.result).toBe('stale');
      now = reduction.result === 'stale' && reduction.head !== undefined ? reduction.head : now;
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
    expect(reduce(head, see(back, 2n, read))).toMatchObject({ result: 'stale', doubt: 'reused_late' });
    expect(reduce(head, see(back, 2n))).toEqual({ result: 'stale' });
    expect(reduce(head, see(back, 2n, { ...confirmed, overrules: 0 })).result).toBe('stale');
    expect(reduce(head, see(back, 2n, confirmed))).toMatchObject({ begins: true });
  });

  it('is in question no more once REST shows the order that we hold', () => {
    const questioned = reduce(head, see(next, 41n));
    const held = questioned.result === 'stale' ? (questioned.head ?? head) : head;
    expect(held.join).toMatchObject({ inQuestion: true });
    const answered = reduce(held, see(ended, 40n, read));
    expect(answered).toMatchObject({ head: { order: head.order, revision: 1 } });
    expect(answered.result === 'conflict' ? undefined : answered.head?.join['inQuestion']).toBeUndefined();
  });

  it('in another account stays with the first one, also by a confirmed read: it becomes a dead letter', () => {
    const elsewhere = see({ ...next, accountId: 'acct-2' }, 2n, confirmed);
    expect(reduce(head, elsewhere)).toMatchObject({ result: 'conflict', reason: 'identity_changed' });
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
    expect(applied(reduce(ended2, see(third, 1n, { ...confirmed, overrules: ended2.revision }))).head).toMatchObject({
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
    expect(reduceOwned(head, observe(ours), own)).toMatchObject({ result: 'stale', doubt: 'reused' });
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

describe('issue: The stored bytes of an order depended on the moment at which a process had restarted.', () => {
  const equity: Instrument = { kind: 'equity', symbol: 'AAPL' };
  const option: Instrument = {
    kind: 'option',
    symbol: 'AAPL',
    legs: [{ symbol: 'AAPL  261218C00200000', side: 'buy', ratioQty: '1' }],
  };

  const view = (instrument: Instrument, cumQty: string, updatedAt: string, avgPrice?: string): OrderView => ({
    stream: 'account',
    orderId: 'ord-1',
    accountId: 'acct-1',
    instrument,
    side: 'buy',
    orderType: 'limit',
    timeInForce: 'day',
    status: 'new',
    statusRaw: 'NEW',
    certainty: 'certain',
    pendingAction: 'none',
    quantity: '10',
    working: { quantity: '10' },
    cumQty,
    leavesQty: '5',
    updatedAt,
    ...(avgPrice !== undefined && { avgPrice }),
  });

  it('remembers nothing beside an order whose legs the newest view tells, wherever the order was stored meanwhile', () => {
    const views = [
      view(equity, '5', '2026-11-21T12:00:01.000Z', '1.4'),
      view(option, '0', '2026-11-21T12:00:00Z'),
      view(option, '5', '2026-11-21T12:00:01.000Z'),
    ].map((each) => observe(each));
    expect(fold(views, new Set([1])).head).toEqual(fold(views).head);
  });
});

describe('issue: An order whose symbol was renamed stayed `new` for ever, with no fills.', () => {
  async function live(first: Row) {
    const rig = connectorsRig();
    const store = new ReducingSink(rig.clock);
    rig.sink.offer = (item) => store.offer(item);
    rig.platform.shows = () => false;
    await rig.begin();
    await rig.until('account', 'live');
    await rig.until('prediction', 'live');
    const bring = async (over: Row) => {
      const row = { ...first, ...over, updatedAt: new Date(rig.clock.nowMs()).toISOString() };
      rig.platform.rows.set('account:acct-1', [row]);
      rig.platform.emit('account', 'acct-1', row);
      await rig.clock.advance(3_000);
    };
    const order = () => store.heads.get('account:ord-1')?.order;
    return { ...rig, store, bring, order };
  }

  const leg = { symbol: 'MDU261218C00020000', side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' };
  const other = { symbol: 'MDU261218C00025000', side: 'SELL', ratioQty: '1', positionEffect: 'OPEN' };
  const option: Row = { ...accountRow, symbol: 'MDU', securityType: 'MLEG', category: 'option', legs: [leg, other] };
  const done = { ordStatus: 'FILLED', cumQty: '100', leavesQty: '0', avgPrice: '191.5' };

  // Frozen at `new` with nothing filled: made a dead letter by each audit, as open as before in
  // every count.
  describe('an order is its id and its account', () => {
    it.each<[string, Row, Row, object]>([
      ['its symbol changes', accountRow, { symbol: 'META' }, { instrument: { kind: 'equity', symbol: 'META' } }],
      ['its side has another word', { ...accountRow, side: 'SELL' }, { side: 'SELL_SHORT' }, { side: 'sell_short' }],
      ['it becomes an option', accountRow, { category: 'option' }, { instrument: { kind: 'option', symbol: 'AAPL' } }],
      [
        'its contracts are adjusted',
        option,
        { symbol: 'MDU1', legs: [{ ...leg, symbol: 'MDU1261218C00020000' }, other] },
        { instrument: { symbol: 'MDU1', legs: [{ symbol: 'MDU1261218C00020000' }, { symbol: other.symbol }] } },
      ],
      [
        'its legs come in another order',
        option,
        { legs: [other, leg] },
        { instrument: { legs: [{ symbol: other.symbol }, { symbol: leg.symbol }] } },
      ],
    ])('it is followed where %s, and looked at once', async (_what, first, change, shown) => {
      const { bring, order, store, platform } = await live(first);
      await bring({});
      await bring({ ...change, ...done });
      expect(order()).toMatchObject({ status: 'filled', cumQty: '100', ...shown });
      expect(store.conflicts).toEqual([]);
      expect(platform.gets).toEqual(['ord-1']);
    });

    it('it is looked at once where its side has turned behind an event that left it out', async () => {
      const { bring, order, platform } = await live({ ...option, side: 'BUY' });
      await bring({});
      await bring({ side: null });
      expect(order()).toMatchObject({ side: 'unknown' });
      await bring({ side: 'SELL', ...done });
      expect(order()).toMatchObject({ side: 'sell' });
      expect(platform.gets).toEqual(['ord-1']);
    });

    it('it is followed where its OCC symbols are padded, under the compact ones and without a look', async () => {
      const { bring, order, store, platform } = await live(option);
      await bring({});
      await bring({ legs: [{ ...leg, symbol: 'MDU   261218C00020000' }, other], ...done });
      expect(order()).toMatchObject({
        status: 'filled',
        instrument: { legs: [{ symbol: leg.symbol }, { symbol: other.symbol }] },
      });
      expect(store.conflicts).toEqual([]);
      expect(platform.gets).toEqual([]);
    });

    it('the row of a prediction order may name another outcome and symbol: its version decides', async () => {
      const { platform, store, clock } = await live(accountRow);
      platform.emit('prediction', 'acct-1', predictionRow, 1n);
      platform.emit(
        'prediction',
        'acct-1',
        { ...predictionRow, outcome: 'NO', symbol: 'FED-CUT-2', state: 'filled' },
        2n,
      );
      platform.emit('prediction', 'acct-1', predictionRow, 1n);
      await clock.advance(1_000);
      const head = store.heads.get(`prediction:${predictionRow['orderId']}`);
      expect(head?.order).toMatchObject({ status: 'filled', instrument: { symbol: 'FED-CUT-2', outcome: 'NO' } });
      expect(store.conflicts).toEqual([]);
    });

    it('a known id under another account becomes a dead letter, and changes nothing', async () => {
      const rig = connectorsRig();
      const store = new ReducingSink(rig.clock);
      rig.sink.offer = (item) => store.offer(item);
      rig.platform.accounts = ['acct-1', 'acct-2'].map((accountId) => ({ accountId, isOpen: true, isSim: true }));
      await rig.begin();
      await rig.until('account', 'live');
      await rig.until('account', 'live', 'acct-2');
      rig.platform.emit('account', 'acct-1', accountRow);
      const { accountId: _of, ...bare } = accountRow;
      rig.platform.emit('account', 'acct-2', { ...bare, ...done, updatedAt: '2026-11-21T14:31:00Z' });
      await rig.clock.advance(1_000);
      expect(store.conflicts).toEqual([expect.stringContaining('accountId')]);
      expect(store.heads.get('account:ord-1')?.order).toMatchObject({ accountId: 'acct-1', status: 'new' });
    });
  });
});
