import { describe, expect, it } from 'vitest';
import type { Head } from '../../src/domain/head.ts';
import type { Order, OrderView } from '../../src/domain/order.ts';
import { reduce, reduceOwned } from '../../src/domain/reduce.ts';
import { equityView, instantAt, predictionView } from '../support/orders/arbitrary-orders.ts';
import { observe } from '../support/orders/observe.ts';

const own = { origin: 'tidemark', commandId: 'c-1', callerRef: 'my-1' } as const;
const seen = (view: OrderView, version?: bigint) =>
  observe(view, version === undefined ? {} : { sourceVersion: version });
function headOf(view: OrderView, version?: bigint): Head {
  const first = reduce(undefined, seen(view, version));
  if (first.result !== 'applied') throw new Error(first.result);
  return first.head;
}
const ref = 'tm-1';
const named: OrderView = { ...predictionView, clientOrderRef: ref };
const { clientOrderRef: _none, ...bare } = named;
const ownedFields = ['origin', 'clientOrderRef', 'commandId', 'callerRef'];

describe('an observation that first shows the reference of a prediction order', () => {
  const head = headOf(bare, 7n);

  it('at a higher version makes the revision that it would, with its owner', () => {
    const next = { ...named, cumQty: '3', status: 'partially_filled', updatedAt: instantAt(9) } as const;
    const owned = reduceOwned(head, seen(next, 8n), own);
    expect(owned).toMatchObject({
      result: 'applied',
      head: { revision: 2, sourceVersion: 8n, order: { ...own, cumQty: '3' } },
    });
    expect(owned).toMatchObject({ fill: { quantity: '3' } });
    const plain = reduce(head, seen(next, 8n));
    const [with_, without] = [owned, plain].map((each) => (each.result === 'applied' ? each.changed : []));
    expect(with_?.filter((field) => !['origin', 'commandId', 'callerRef'].includes(field))).toEqual(without);
    expect(with_).toEqual(expect.arrayContaining(ownedFields));
  });

  it.each([
    ['the version that we have', 7n],
    ['an older version', 5n],
    ['no version', undefined],
  ])('at %s makes a revision of what we have, with reference and owner', (_what, version) => {
    const owned = reduceOwned(head, seen(version === 5n ? { ...named, cumQty: '1' } : named, version), own);
    expect(owned).toEqual({
      result: 'applied',
      changed: ownedFields,
      head: { ...head, revision: 2, order: { ...head.order, ...own, clientOrderRef: ref } },
    });
    if (owned.result !== 'applied') return;
    // Field by field in the order in which every order is written.
    const anew = reduce(undefined, seen(named, 7n), own);
    expect(JSON.stringify(owned.head.order)).toBe(JSON.stringify(anew.result === 'applied' && anew.head.order));
  });

  it('keeps its owner when a later version leaves the reference out again', () => {
    const owned = reduceOwned(head, seen(named, 7n), own);
    if (owned.result !== 'applied') throw new Error(owned.result);
    const later = reduce(owned.head, seen({ ...bare, cumQty: '2' }, 9n));
    expect(later).toMatchObject({ result: 'applied', head: { revision: 3, order: own } });
  });

  it('binds nothing where it contradicts what we have', () => {
    expect(reduceOwned(head, seen({ ...named, accountId: 'acct-2' }, 8n), own)).toMatchObject({ result: 'conflict' });
    expect(reduceOwned(head, seen({ ...named, cumQty: '9' }, 7n), own)).toMatchObject({ result: 'conflict' });
  });

  it('of somebody else’s order is learnt, and makes it nobody’s', () => {
    const learnt = reduceOwned(head, seen(named, 7n), { origin: 'external' });
    expect(learnt).toMatchObject({
      result: 'applied',
      changed: ['clientOrderRef'],
      head: { order: { origin: 'external' } },
    });
  });
});

describe('an observation that first shows the reference of an account order', () => {
  const { clOrdId: _reference, ...unnamed } = equityView;
  const head = headOf(unnamed);

  it('makes it ours with the revision that learns the reference, and keeps the join’s memory', () => {
    const owned = reduceOwned(head, seen({ ...unnamed, clOrdId: ref }), own);
    expect(owned).toMatchObject({
      result: 'applied',
      changed: ['origin', 'clOrdId', 'commandId', 'callerRef'],
      head: { revision: 2, order: { ...own, clOrdId: ref } },
    });
    if (owned.result !== 'applied') return;
    expect(owned.head.join).toEqual(head.join);
    const filled: Order | OrderView = { ...unnamed, cumQty: '4', updatedAt: instantAt(99) };
    expect(reduce(owned.head, seen(filled))).toMatchObject({
      result: 'applied',
      head: { revision: 3, order: { ...own, clOrdId: ref } },
    });
  });

  it('also where an older view brings it', () => {
    const newer = headOf({ ...unnamed, cumQty: '5', updatedAt: instantAt(50) });
    const owned = reduceOwned(newer, seen({ ...unnamed, clOrdId: ref, updatedAt: instantAt(2) }), own);
    expect(owned).toMatchObject({
      result: 'applied',
      head: { revision: 2, order: { ...own, cumQty: '5', clOrdId: ref } },
    });
  });
});
