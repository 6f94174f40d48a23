import { describe, expect, it } from 'vitest';
import type { Observation } from '../../src/domain/observation.ts';
import type { OrderView } from '../../src/domain/order.ts';
import { reduce } from '../../src/domain/reduce.ts';
import { instantAt, predictionView } from '../support/orders/arbitrary-orders.ts';
import { applied, fold, observe, throughStorage } from '../support/orders/observe.ts';

const version = (sourceVersion: bigint, over: Partial<OrderView> = {}, more: Partial<Observation> = {}) =>
  observe(
    { ...predictionView, updatedAt: instantAt(Number(sourceVersion % 1000n)), ...over },
    { sourceVersion, ...more },
  );
const reply = (second: number, over: Partial<OrderView> = {}) =>
  observe({ ...predictionView, updatedAt: instantAt(second), ...over }, { cause: 'reply' });

describe('a prediction order', () => {
  it('keeps 9007199254740993 when …992 comes after it, which a double cannot tell apart', () => {
    const { head, reductions } = fold([version(9007199254740993n), version(9007199254740992n)]);
    expect(head.sourceVersion).toBe(9007199254740993n);
    expect(reductions[1]).toEqual({ outcome: 'stale' });
  });

  it('may begin at version 0, which is above none', () => {
    expect(fold([reply(9), version(0n), version(0n)]).reductions.map((r) => r.outcome)).toEqual([
      'applied',
      'applied',
      'duplicate',
    ]);
  });

  it('takes every higher version for a change, even when nothing is different', () => {
    const { head, reductions } = fold([
      version(1n, { updatedAt: instantAt(0) }),
      version(2n, { updatedAt: instantAt(0) }),
    ]);
    expect(reductions[1]).toMatchObject({ outcome: 'applied', changed: [] });
    expect(head.revision).toBe(2);
  });

  it('lets a higher version take back what a lower one said, also an end or a fill', () => {
    const { head, reductions } = fold([
      version(1n, { status: 'filled', cumQty: '10' }),
      version(2n, { status: 'new', cumQty: '3' }),
    ]);
    expect(head.order).toMatchObject({ status: 'new', cumQty: '3' });
    expect(reductions[1]).not.toHaveProperty('fill');
  });

  it('drops optional fields that the higher version no longer has', () => {
    const { head, reductions } = fold([version(1n, { rejectText: 'no' }), version(2n)]);
    expect(head.order.rejectText).toBeUndefined();
    expect(applied(reductions[1]).changed).toEqual(['updatedAt', 'rejectText']);
  });

  describe('at a version that is known', () => {
    it('counts the same content as a duplicate, over the fields that both have and by value', () => {
      const { price: _price, ...withoutPrice } = predictionView;
      const again = observe(
        { ...withoutPrice, updatedAt: instantAt(1, 'offset'), extra: { new: 1 } },
        { sourceVersion: 1n },
      );
      expect(fold([version(1n), again]).reductions[1]).toEqual({ outcome: 'duplicate' });
    });

    it('calls other content a conflict, names what differs, and keeps the first', () => {
      const { head, reductions } = fold([version(1n), version(1n, { status: 'filled', working: { quantity: '9' } })]);
      expect(reductions[1]).toMatchObject({
        outcome: 'conflict',
        reason: 'same_version_other_content',
        detail: expect.stringMatching(/version 1: status "new" against "filled", working /),
      });
      expect(head.order.status).toBe('new');
    });
  });

  it('with another account is a conflict, also at a higher version', () => {
    const reduction = fold([version(1n), version(2n, { accountId: 'acct-2' })]).reductions[1];
    expect(reduction).toMatchObject({
      outcome: 'conflict',
      reason: 'identity_changed',
      detail: expect.stringContaining('accountId'),
    });
  });

  it.each<[string, Partial<OrderView>]>([
    ['side', { side: 'sell' }],
    ['instrument', { instrument: { kind: 'prediction', symbol: 'OTHER', outcome: 'YES' } }],
    ['instrument', { instrument: { kind: 'prediction', symbol: 'FED-CUT', outcome: 'NO' } }],
  ])(
    'with another %s is a change at a higher version, old news at a lower one, and a conflict at the same',
    (field, over) => {
      const { head, reductions } = fold([version(1n), version(2n, over)]);
      expect(reductions[1]).toMatchObject({ outcome: 'applied', changed: expect.arrayContaining([field]) });
      expect(head.order).toMatchObject(over);
      expect(reduce(head, version(1n))).toEqual({ outcome: 'stale' });
      expect(reduce(head, version(2n))).toMatchObject({
        outcome: 'conflict',
        reason: 'same_version_other_content',
        detail: expect.stringContaining(field),
      });
    },
  );

  describe('told of without a version', () => {
    it('is made by it when nothing is stored, and replaced by the first version whatever its instant', () => {
      const { head, reductions } = fold([reply(9, { status: 'pending_new' }), version(1n)]);
      expect(reductions.map((r) => r.outcome)).toEqual(['applied', 'applied']);
      expect(head).toMatchObject({ revision: 2, sourceVersion: 1n, order: { status: 'new' } });
    });

    it('is never changed by it once a version is known, but in doubt when it is newer and another', () => {
      const { head } = fold([version(5n)]);
      expect(reduce(head, reply(9, { status: 'canceled' }))).toEqual({ outcome: 'stale', doubt: 'unversioned' });
      expect(reduce(head, reply(9))).toEqual({ outcome: 'stale' });
      expect(reduce(head, reply(4, { status: 'canceled' }))).toEqual({ outcome: 'stale' });
      expect(reduce(head, reply(5))).toEqual({ outcome: 'duplicate' });
    });

    it('is for a person where two reads confirm it, at the revision that they were held against', () => {
      const { head } = fold([version(5n)]);
      const confirmed = (overrules: number) =>
        ({ ...reply(9, { status: 'canceled' }), correction: true, overrules }) as const;
      expect(reduce(head, confirmed(1))).toMatchObject({ outcome: 'conflict', reason: 'newer_without_version' });
      expect(reduce(head, confirmed(2))).toEqual({ outcome: 'stale', doubt: 'unversioned' });
    });

    it.each([
      ['a later instant', 6, {}, 'applied'],
      ['the same instant and content', 5, {}, 'duplicate'],
      ['the same instant, and content of its own', 5, { cumQty: '0.5' }, 'stale'],
      ['an earlier instant', 4, {}, 'stale'],
    ] as const)('is a revision only where it is newer than a reply before it: %s', (_what, second, over, outcome) => {
      // Of two at one instant the greater content stays, which is this one.
      const { reductions } = fold([reply(5, { cumQty: '1' }), reply(second, { cumQty: '1', ...over })]);
      expect(reductions[1]?.outcome).toBe(outcome);
    });

    it.each([
      ['the same instant and content', 5, {}, { outcome: 'duplicate' }],
      ['the same instant, and other content', 5, { cumQty: '1' }, { outcome: 'stale' }],
      ['an earlier instant', 4, {}, { outcome: 'stale' }],
      ['a later instant', 6, {}, { outcome: 'stale' }],
      ['a later instant, and other content', 6, { cumQty: '1' }, { outcome: 'stale', doubt: 'unversioned' }],
    ] as const)('is no more than evidence beside a version: %s', (_what, second, over, reduction) => {
      const { reductions } = fold([version(5n), reply(second, over)]);
      expect(reductions[1]).toEqual(reduction);
    });

    it('keeps the newest of several replies', () => {
      const { head } = fold([reply(5, { status: 'new' }), reply(3, { status: 'pending_new' })]);
      expect(head.order.status).toBe('new');
    });

    it('keeps the same one of two replies of one instant, whichever came first', () => {
      const [a, b] = [reply(5, { cumQty: '1' }), reply(5, { cumQty: '2' })];
      expect(fold([a, b]).head.order).toEqual(fold([b, a]).head.order);
    });
  });

  describe('after the platform lost its store', () => {
    const epoch1 = { sourceEpoch: 1 };

    it('begins again at a lower version in the new epoch, and says which epoch it is', () => {
      const { head } = fold([version(50n), version(2n, { updatedAt: instantAt(60) }, epoch1)]);
      expect(head).toMatchObject({ revision: 2, sourceVersion: 2n, order: { sourceEpoch: 1 } });
    });

    it('ignores the old epoch from then on', () => {
      const { head } = fold([version(2n, { updatedAt: instantAt(60) }, epoch1)]);
      expect(reduce(head, version(50n))).toEqual({ outcome: 'stale' });
    });

    it('refuses in the new epoch what is older than the row that opened it, also after a restart', () => {
      const { head } = fold([version(50n), version(2n, { updatedAt: instantAt(60) }, epoch1)]);
      const stored = throughStorage(head);
      expect(reduce(stored, version(51n, { updatedAt: instantAt(59) }, epoch1))).toEqual({ outcome: 'stale' });
      const next = applied(reduce(stored, version(3n, { updatedAt: instantAt(61) }, epoch1)));
      expect(reduce(next.head, version(51n, { updatedAt: instantAt(59) }, epoch1))).toEqual({ outcome: 'stale' });
    });

    it('measures against the opening row only: later rows of the new epoch may go back in time', () => {
      const later = [
        version(3n, { updatedAt: instantAt(65) }, epoch1),
        version(4n, { updatedAt: instantAt(63) }, epoch1),
      ];
      expect(fold([version(50n), version(2n, { updatedAt: instantAt(60) }, epoch1), ...later]).head.sourceVersion).toBe(
        4n,
      );
    });

    it('does not let a reply without version open the epoch', () => {
      const { head } = fold([version(50n)]);
      const early = observe({ ...predictionView, updatedAt: instantAt(70) }, { cause: 'reply', sourceEpoch: 1 });
      expect(reduce(head, early)).toEqual({ outcome: 'stale' });
    });
  });

  describe('that fills', () => {
    const cum = (cumQty: string, avgPrice: string) => ({ status: 'partially_filled' as const, cumQty, avgPrice });

    it('tells one streamed version step as one fill, priced by the difference', () => {
      const { reductions } = fold([version(1n), version(2n, cum('4', '0.4')), version(3n, cum('6', '0.5'))]);
      expect(applied(reductions[1]).fill).toEqual({ quantity: '4', price: '0.4', inferred: false });
      expect(applied(reductions[2]).fill).toEqual({ quantity: '2', price: '0.7', inferred: false });
    });

    it('calls it inferred where versions are missing between, or it did not come by the stream', () => {
      const skipped = fold([version(1n), version(3n, cum('4', '0.4'))]).reductions[1];
      const read = fold([version(1n), version(2n, cum('4', '0.4'), { cause: 'snapshot' })]).reductions[1];
      const first = fold([version(1n, cum('4', '0.4'))]).reductions[0];
      for (const reduction of [skipped, read, first]) expect(applied(reduction).fill).toMatchObject({ inferred: true });
    });
  });
});
