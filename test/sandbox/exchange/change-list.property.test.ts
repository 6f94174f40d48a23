import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { present } from '../../../src/sandbox/exchange/change-list.ts';
import { acceptOrder, cancelOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { book } from '../../support/platform/book.ts';

/** Pages through the list by its cursor, letting `between` happen after each page. */
function readAll({ exchange, account }: ReturnType<typeof book>, pageSize: number, between: () => void): string[] {
  const seen: string[] = [];
  let after = 0;
  for (let more = true; more; ) {
    more = false;
    let taken = 0;
    exchange.listOf(account, 'prediction').visit(after, present, (entry) => {
      if (taken === pageSize) {
        more = true;
        return false;
      }
      taken += 1;
      after = entry.at;
      seen.push(entry.order.terms.orderId);
      return true;
    });
    between();
  }
  return seen;
}

function nth<T>(list: readonly T[], pick: number): T {
  return list[pick % list.length] as T;
}

describe('a list of orders by their last change', () => {
  it('shows each order once, the oldest change first, whatever changed before', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 200 }), fc.integer({ min: 1, max: 30 }), (picks, pageSize) => {
        const it = book();
        const orders = Array.from({ length: 30 }, () => it.open());
        for (const pick of picks) acceptOrder(it.exchange, nth(orders, pick), 'V');
        const expected = [...orders].sort((a, b) => a.updatedAt - b.updatedAt).map((order) => order.terms.orderId);
        expect(readAll(it, pageSize, () => {})).toEqual(expected);
      }),
    );
  });

  it('misses no order when orders change while somebody pages', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 60 }), fc.integer({ min: 1, max: 10 }), (picks, pageSize) => {
        const it = book();
        const orders = Array.from({ length: 30 }, () => it.open());
        const changes = [...picks];
        const change = () => {
          const pick = changes.pop();
          if (pick !== undefined) cancelOrder(it.exchange, nth(orders, pick));
        };
        const seen = readAll(it, pageSize, change);
        expect(new Set(seen)).toEqual(new Set(orders.map((order) => order.terms.orderId)));
      }),
    );
  });

  it('shows at any past instant what stood there then, while history is kept and however often it is compacted', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 40 }), fc.nat(), (picks, seed) => {
        const it = book();
        it.exchange.keepHistory(3_600_000);
        const orders = Array.from({ length: 10 }, () => it.open());
        const snapshots: { at: number; rows: Map<string, bigint> }[] = [];
        // Enough changes that superseded entries are dropped in between.
        for (const pick of picks) {
          for (let i = 0; i < 60; i += 1) acceptOrder(it.exchange, nth(orders, pick + i), 'V');
          const at = Math.max(...orders.map((order) => order.updatedAt));
          snapshots.push({ at, rows: new Map(orders.map((order) => [order.terms.orderId, order.version])) });
        }
        const snapshot = nth(snapshots, seed);
        const found = new Map<string, bigint>();
        it.exchange.listOf(it.account, 'prediction').visit(0, snapshot.at, (entry) => {
          const version =
            entry.row === undefined ? entry.order.version : BigInt(/"version":(\d+)/.exec(entry.row)?.[1] ?? -1);
          found.set(entry.order.terms.orderId, version);
          return true;
        });
        expect(found).toEqual(snapshot.rows);
      }),
      { numRuns: 30 },
    );
  });
});
