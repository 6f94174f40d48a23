import { describe, expect, it } from 'vitest';
import { registerFields } from '../../src/domain/account-join.ts';
import type { Head } from '../../src/domain/head.ts';
import type { OrderView } from '../../src/domain/order.ts';
import { reduce } from '../../src/domain/reduce.ts';
import { equityView, instantAt } from '../support/orders/arbitrary-orders.ts';
import { applied, fold, observe, throughStorage } from '../support/orders/observe.ts';

const at = (second: number, over: Partial<OrderView>): OrderView => ({
  ...equityView,
  updatedAt: instantAt(second),
  ...over,
});
const partial = (second: number, cumQty: string, over: Partial<OrderView> = {}) =>
  at(second, {
    status: 'partially_filled',
    statusRaw: 'PARTIALLY_FILLED',
    cumQty,
    leavesQty: String(10 - Number(cumQty)),
    ...over,
  });
const filled = (second: number, over: Partial<OrderView> = {}) =>
  at(second, { status: 'filled', statusRaw: 'FILLED', cumQty: '10', leavesQty: '0', avgPrice: '191.5', ...over });
const canceled = (second: number, cumQty: string) =>
  at(second, { status: 'canceled', statusRaw: 'CANCELED', cumQty, leavesQty: '0' });
const all = (...views: OrderView[]) => fold(views.map((view) => observe(view)));

describe('an account order', () => {
  it('begins with revision 1, everything changed, and belongs to nobody here', () => {
    const { head, reductions } = all(at(0, {}));
    expect(head.revision).toBe(1);
    expect(head.order).toEqual({ ...equityView, origin: 'external' });
    expect(applied(reductions[0]).changed).toEqual(
      expect.arrayContaining(['status', 'quantity', 'clOrdId', 'updatedAt']),
    );
  });

  it.each(registerFields)('shows %s once any source has told it', (field) => {
    const value = field.endsWith('At') ? instantAt(0) : 'told';
    const { [field]: _left, ...others } = partial(2, '4');
    expect(all(at(1, { [field]: value }), others as OrderView).head.order[field]).toBe(value);
  });

  it('stays filled when an older frame says NEW', () => {
    const { head, reductions } = all(filled(5), at(1, {}));
    expect(head.order.status).toBe('filled');
    expect(reductions[1]).toEqual({ result: 'stale' });
  });

  it('has its price when it was first seen filled', () => {
    expect(all(filled(5)).head.order.price).toBe('191.5');
  });

  it('takes a higher cumQty from an older view, and says so once', () => {
    const { head, reductions } = all(partial(5, '2'), partial(3, '4'));
    expect(head.order.cumQty).toBe('4');
    expect(applied(reductions[1]).fill).toEqual({ quantity: '2', inferred: true });
  });

  it('shows a pending cancel from the winning view, and none once it is over', () => {
    const pending = partial(3, '2', { statusRaw: 'PENDING_CANCEL', pendingAction: 'cancel' });
    expect(all(partial(2, '2'), pending).head.order.pendingAction).toBe('cancel');
    expect(all(pending, canceled(2, '2')).head.order).toMatchObject({
      status: 'canceled',
      pendingAction: 'none',
      leavesQty: '0',
    });
  });

  it('clears an unknown status by any view that outranks it', () => {
    const lost = at(2, { status: 'unknown', statusRaw: 'LIMBO', cumQty: '3' });
    expect(all(partial(1, '2'), lost).head.order).toMatchObject({ status: 'unknown', cumQty: '3' });
    expect(all(lost, partial(2, '3')).head.order.status).toBe('partially_filled');
  });

  it('lets done_for_day and suspended orders work again', () => {
    const resting = partial(2, '2', { status: 'done_for_day', statusRaw: 'DONE_FOR_DAY' });
    expect(all(resting, partial(3, '2')).head.order.status).toBe('partially_filled');
  });

  it('keeps the average price of the highest cumQty only, and none rather than a wrong one', () => {
    const priced = partial(2, '2', { avgPrice: '1.4' });
    expect(all(priced, partial(3, '2')).head.order.avgPrice).toBe('1.4');
    expect(all(priced, partial(3, '4')).head.order.avgPrice).toBeUndefined();
    expect(all(partial(3, '4', { avgPrice: '1.5' }), priced).head.order.avgPrice).toBe('1.5');
  });

  describe('that contradicts itself', () => {
    it('shows the first of two ends by precedence, marked, whichever came first', () => {
      const cancel = canceled(4, '10');
      for (const { head } of [all(filled(3), cancel), all(cancel, filled(3))]) {
        expect(head.order).toMatchObject({
          status: 'filled',
          statusRaw: 'FILLED',
          conflict: 'ended more than once: filled, canceled',
        });
      }
    });

    it('is marked while no end accounts for all fills, until one does', () => {
      const { head } = all(canceled(4, '3'), partial(3, '5'));
      expect(head.order).toMatchObject({
        status: 'canceled',
        cumQty: '5',
        conflict: 'ended at 3 filled, but 5 were reported',
      });
      const after = applied(reduce(head, observe(canceled(6, '5'))));
      expect(after.head.order.conflict).toBeUndefined();
      expect(after.changed).toContain('conflict');
    });

    it('is whole when filled with what its working total was lowered to', () => {
      const lowered = (second: number, quantity: string) =>
        at(second, { working: { quantity, price: '191.5' }, leavesQty: quantity });
      const sets = [
        [lowered(2, '6'), filled(4, { cumQty: '6' })],
        [filled(4, { cumQty: '6' }), lowered(2, '6')],
      ];
      for (const set of sets) expect(throughStorage(all(...set).head).order.conflict).toBeUndefined();
      expect(all(lowered(2, '7'), filled(4, { cumQty: '6' })).head.order.conflict).toBe('filled with 6 of 10');
      expect(all(lowered(2, '6'), filled(4, { cumQty: '12' })).head.order.conflict).toBe('filled with 12 of 10');
    });

    it('is marked when filled with less than its quantity', () => {
      expect(all(filled(4, { cumQty: '9' })).head.order.conflict).toBe('filled with 9 of 10');
      expect(all(filled(4)).head.order.conflict).toBeUndefined();
    });

    it('about its account is a conflict that changes nothing', () => {
      const { head } = all(at(0, {}));
      const reduction = reduce(head, observe(partial(5, '5', { accountId: 'acct-2' })));
      expect(reduction).toMatchObject({
        result: 'conflict',
        reason: 'identity_changed',
        detail: expect.stringContaining('accountId'),
      });
    });
  });

  describe('that is renamed', () => {
    it.each<[string, Partial<OrderView>]>([
      ['side', { side: 'sell_short' }],
      ['instrument', { instrument: { kind: 'equity', symbol: 'MSFT' } }],
      ['instrument', { instrument: { kind: 'option', symbol: 'AAPL' } }],
    ])('says so in its %s, and is looked at once', (field, over) => {
      const first = all(at(0, {})).head;
      const reduction = applied(reduce(first, observe(partial(5, '5', over))));
      expect(reduction).toMatchObject({
        doubt: 'contradicted',
        head: { revision: 2, order: { cumQty: '5', ...over } },
      });
      expect(reduction.changed).toContain(field);
      const again = applied(reduce(throughStorage(reduction.head), observe(partial(6, '6', over))));
      expect(again).not.toHaveProperty('doubt');
    });

    it('keeps the name of the newest view, and an older one changes nothing', () => {
      const meta = partial(5, '5', { instrument: { kind: 'equity', symbol: 'META' } });
      for (const { head } of [all(at(0, {}), meta), all(meta, at(0, {}))])
        expect(head.order.instrument.symbol).toBe('META');
    });

    it('is not looked at again where two sources name it in turns', () => {
      const named = (second: number, symbol: string) => at(second, { instrument: { kind: 'equity', symbol } });
      const { reductions } = all(named(0, 'FB'), named(1, 'META'), named(2, 'FB'), named(3, 'META'));
      expect(reductions.map((r) => ('doubt' in r ? r.doubt : undefined))).toEqual([
        undefined,
        'contradicted',
        undefined,
        undefined,
      ]);
    });

    it('is not another one where a symbol is only spelt otherwise', () => {
      const spelt = (second: number, symbol: string) => at(second, { instrument: { kind: 'equity', symbol } });
      const { head, reductions } = all(spelt(0, 'BRK/B'), spelt(0, 'BRK.B'), spelt(1, 'BRK.B'), spelt(1, 'BRKB'));
      expect(reductions[1]).toEqual({ result: 'duplicate' });
      expect(applied(reductions[2])).toMatchObject({ changed: ['updatedAt'] });
      expect(reductions.some((r) => 'doubt' in r)).toBe(false);
      expect(head.order.instrument.symbol).toBe('BRK.B');
    });

    it('is seen behind views that leave its side out, and once', () => {
      const leg = { symbol: 'AAPL261218C00200000', side: 'buy', ratioQty: '1' };
      const instrument: OrderView['instrument'] = { kind: 'option', symbol: 'AAPL', legs: [leg, leg] };
      const sided = (second: number, side: string) => at(second, { instrument, side });
      const { reductions } = all(
        ...[sided(0, 'buy'), sided(1, 'unknown'), sided(2, 'buy'), sided(3, 'unknown'), sided(4, 'unknown')],
        ...[sided(5, 'sell'), sided(6, 'unknown'), sided(7, 'buy'), sided(8, 'unknown')],
      );
      const doubts = reductions.map((r) => ('doubt' in r ? r.doubt : undefined));
      expect(doubts).toEqual(doubts.map((_, at) => (at === 5 ? 'contradicted' : undefined)));
    });

    it('never becomes an equity by a row that names no option', () => {
      const { head } = all(at(0, { instrument: { kind: 'option', symbol: 'AAPL' } }), partial(5, '5'));
      expect(head.order).toMatchObject({ cumQty: '5', instrument: { kind: 'option', symbol: 'AAPL' } });
    });
  });

  describe('with legs', () => {
    const leg = { symbol: 'AAPL261218C00200000', side: 'buy', ratioQty: '1', positionEffect: 'open' };
    const option = at(0, { instrument: { kind: 'option', symbol: 'AAPL', legs: [leg] } });

    it('learns them from the source that has them, and keeps them', () => {
      const bare = at(1, { instrument: { kind: 'option', symbol: 'AAPL' } });
      expect(all(bare, option).head.order.instrument.legs).toEqual([leg]);
      expect(all(option, bare).head.order.instrument.legs).toEqual([leg]);
    });

    it('takes others from a newer view, in whatever order they come', () => {
      const other = at(1, { instrument: { kind: 'option', symbol: 'AAPL', legs: [{ ...leg, ratioQty: '2' }] } });
      for (const { head } of [all(option, other), all(other, option)])
        expect(head.order.instrument.legs).toEqual([{ ...leg, ratioQty: '2' }]);
      expect(applied(all(option, other).reductions[1]).changed).toEqual(['instrument', 'updatedAt']);
    });

    it('takes another order of them, and another spelling', () => {
      const second = { ...leg, symbol: 'AAPL261218C00210000', side: 'sell' };
      const legged = (at0: number, legs: readonly (typeof leg)[]) =>
        at(at0, { instrument: { kind: 'option', symbol: 'AAPL', legs } });
      const padded = { ...leg, symbol: 'AAPL  261218C00200000' };
      const { head, reductions } = all(legged(0, [leg, second]), legged(1, [second, leg]), legged(2, [second, padded]));
      expect(reductions.map(({ result }) => result)).toEqual(['applied', 'applied', 'applied']);
      expect(head.order.instrument.legs).toEqual([second, padded]);
    });

    it('keeps a position effect that a newer view leaves out, and takes another one', () => {
      const { positionEffect: _left, ...short } = leg;
      const legged = (at0: number, of: object) =>
        at(at0, { instrument: { kind: 'option', symbol: 'AAPL', legs: [of as typeof leg] } });
      for (const { head } of [all(option, legged(1, short)), all(legged(1, short), option)])
        expect(throughStorage(head).order.instrument.legs).toEqual([leg]);
      const closing = { ...leg, positionEffect: 'close' };
      expect(all(option, legged(1, closing), legged(2, short)).head.order.instrument.legs).toEqual([closing]);
    });
  });

  describe('met by the audit', () => {
    const listed = at(0, { createdAt: instantAt(-9), extra: { desk: 'x' } });

    it('makes no revision of a row that differs in what events lack', () => {
      const { head, reductions } = all(at(0, {}), listed, listed);
      expect(reductions.map((r) => r.result)).toEqual(['applied', 'duplicate', 'duplicate']);
      expect(head.revision).toBe(1);
      expect(reductions[2]).toEqual({ result: 'duplicate' });
    });

    it('shows what the list alone knows with the next revision', () => {
      const { head, reductions } = all(at(0, {}), listed, partial(1, '2'));
      expect(head.order.createdAt).toBe(instantAt(-9));
      expect(applied(reductions[2]).changed).toContain('createdAt');
    });

    it('takes one instant written in two ways for one instant', () => {
      const { reductions } = all(
        at(0, {}),
        at(0, { updatedAt: instantAt(0, 'offset') }),
        at(0, { updatedAt: instantAt(0, 'millis') }),
      );
      expect(reductions.slice(1)).toEqual([{ result: 'duplicate' }, { result: 'duplicate' }]);
    });
  });

  describe('corrected', () => {
    const correcting = (head: Head, view: OrderView) =>
      reduce(throughStorage(head), observe(view, { cause: 'probe', overrules: head.revision }));

    it('gives fills back, clears its end, and ignores everything up to the correcting read from then on', () => {
      const { head } = all(filled(5));
      const reduction = applied(correcting(head, partial(7, '4', { avgPrice: '191.4' })));
      expect(reduction).toMatchObject({ correction: true, head: { revision: 2 } });
      expect(reduction.fill).toBeUndefined();
      expect(reduction.head.order).toMatchObject({
        status: 'partially_filled',
        cumQty: '4',
        leavesQty: '6',
        avgPrice: '191.4',
      });
      const stored = throughStorage(reduction.head);
      expect(reduce(stored, observe(filled(5)))).toEqual({ result: 'stale' });
      expect(reduce(stored, observe(filled(7)))).toEqual({ result: 'stale' });
      expect(applied(reduce(stored, observe(filled(8)))).fill).toMatchObject({ quantity: '6' });
    });

    it('is corrected once by the same read', () => {
      const view = partial(7, '4');
      const once = applied(correcting(all(filled(5)).head, view));
      expect(correcting(once.head, view)).toEqual({ result: 'duplicate' });
    });

    it('is corrected again by a later one, which counts', () => {
      const once = applied(correcting(all(filled(5)).head, partial(7, '4')));
      const twice = applied(correcting(once.head, partial(9, '3')));
      expect(twice.head.join).toMatchObject({ correction: { epoch: 2, readAt: instantAt(9) } });
    });

    it.each([
      ['an end', [at(0, {}), at(5, { status: 'expired', statusRaw: 'EXPIRED', leavesQty: '0' })], at(7, {}), 'new'],
      [
        'one end for another',
        [canceled(5, '0'), at(6, { status: 'expired', statusRaw: 'EXPIRED' })],
        at(6, { status: 'expired', statusRaw: 'EXPIRED' }),
        'expired',
      ],
    ] as const)('takes %s back, which no event alone can', (_what, views, read, status) => {
      const before = all(...views, read);
      expect(before.reductions.at(-1)).toMatchObject({ doubt: 'contradicted' });
      expect(before.head.order.status).not.toBe(status);
      const reduction = applied(correcting(before.head, read));
      expect(reduction).toMatchObject({ correction: true, head: { order: { status } } });
      expect(reduction.head.order.conflict).toBeUndefined();
      for (const view of views)
        expect(reduce(throughStorage(reduction.head), observe(view))).toEqual({ result: expect.any(String) });
    });

    it('takes another content of one instant, where REST says so, and from then on only from REST', () => {
      const first = at(3, { price: '0.6' });
      const other = at(3, { price: '0.55' });
      const { head, reductions } = all(at(0, {}), first, other);
      expect(head.order.price).toBe('0.6');
      expect(reductions[2]).toEqual({ result: 'stale', doubt: 'contradicted' });
      const once = applied(correcting(head, other));
      expect(once).toMatchObject({ correction: true, head: { order: { price: '0.55' } } });
      const stored = throughStorage(once.head);
      expect(reduce(stored, observe(first))).toEqual({ result: 'stale' });
      expect(reduce(stored, observe(first, { cause: 'snapshot' }))).toEqual({
        result: 'stale',
        doubt: 'contradicted',
      });
      expect(applied(correcting(stored, first)).head.order.price).toBe('0.6');
    });

    it('is no dispute that an order goes on within one instant, or is spelt in two ways', () => {
      const { reductions } = all(at(3, { status: 'pending_new' }), at(3, {}), canceled(3, '0'));
      for (const reduction of reductions) expect(reduction).not.toHaveProperty('doubt');
      const padded = at(3, { instrument: { kind: 'equity', symbol: 'AAPL ' }, side: 'buy_to_cover' });
      for (const set of [
        [at(3, {}), padded],
        [padded, at(3, {})],
      ])
        expect(all(...set).reductions[1]).toMatchObject({ result: expect.stringMatching(/stale|applied/) });
      expect(reduce(all(padded).head, observe(at(3, {}), { cause: 'snapshot' }))).not.toHaveProperty(
        'doubt',
        'contradicted',
      );
    });

    it('joins a correction of another revision, or one that takes nothing back, like any view', () => {
      const { head } = all(filled(5));
      for (const second of [4, 7])
        expect(reduce(head, observe(partial(second, '4'), { cause: 'probe', overrules: 2 }))).not.toHaveProperty(
          'correction',
        );
      expect(correcting(head, filled(6))).not.toHaveProperty('correction');
    });

    it('keeps its references and what the list told', () => {
      const { head } = all(filled(5), filled(5, { createdAt: instantAt(-9) }));
      const { clOrdId: _left, ...view } = partial(7, '4');
      expect(applied(correcting(head, view)).head.order).toMatchObject({
        clOrdId: 'client-1',
        createdAt: instantAt(-9),
      });
    });
  });

  it('keeps what is ours through every change', () => {
    const { head } = all(at(0, {}));
    const ours: Head = { ...head, order: { ...head.order, origin: 'tidemark', commandId: 'c-1', callerRef: 'r-1' } };
    const { order } = applied(reduce(ours, observe(filled(3)))).head;
    expect(order).toMatchObject({ origin: 'tidemark', commandId: 'c-1', callerRef: 'r-1', status: 'filled' });
  });
});
