import { describe, expect, it } from 'vitest';
import { encodeRow } from '../../../src/sandbox/exchange/encode-row.ts';
import { isClosed } from '../../../src/sandbox/exchange/exchange-order.ts';
import { seedOrders } from '../../../src/sandbox/market/seed-orders.ts';
import { book } from '../../support/book.ts';

describe('the market', () => {
  it('makes the same orders from the same seed, and others from another', () => {
    const story = (seed: number) => {
      const it = book({ seed });
      const rows: string[] = [];
      it.onChange(({ order, step }) => rows.push(`${step} ${encodeRow(order)}`));
      for (let i = 0; i < 500; i += 1) it.market.step();
      return rows;
    };
    expect(story(7)).toEqual(story(7));
    expect(story(7)).not.toEqual(story(8));
  });

  it('keeps as many orders working as it was told', () => {
    const { market, exchange } = book({ openOrders: 33 });
    for (let i = 0; i < 5000; i += 1) market.step();
    expect(market.workingCount).toBeGreaterThanOrEqual(32);
    expect(market.workingCount).toBeLessThanOrEqual(35);
    expect([...exchange.orders.values()].filter((order) => !isClosed(order.state))).toHaveLength(market.workingCount);
  });

  it('never lets cumQty fall, exceed the working quantity, or a closed order change', () => {
    const { market, onChange } = book();
    const seen = new Map<string, { cumQty: bigint; version: bigint; closed: boolean }>();
    onChange(({ order }) => {
      const before = seen.get(order.terms.orderId);
      if (before !== undefined) {
        expect(before.closed).toBe(false);
        expect(order.cumQty).toBeGreaterThanOrEqual(before.cumQty);
        expect(order.version).toBeGreaterThan(before.version);
      }
      expect(order.cumQty).toBeLessThanOrEqual(order.workingQuantity);
      expect(order.state === 'filled').toBe(order.cumQty === order.workingQuantity);
      seen.set(order.terms.orderId, { cumQty: order.cumQty, version: order.version, closed: isClosed(order.state) });
    });
    for (let i = 0; i < 20_000; i += 1) market.step();
    expect(seen.size).toBeGreaterThan(1000);
  });

  it('skips versions now and then, and begins some of them near 2^53 and 2^63', () => {
    const { market, onChange } = book({ predictionShare: 1 });
    const last = new Map<string, bigint>();
    let gaps = 0;
    onChange(({ order }) => {
      const before = last.get(order.terms.orderId);
      if (before !== undefined && order.version > before + 1n) gaps += 1;
      last.set(order.terms.orderId, order.version);
    });
    for (let i = 0; i < 2000; i += 1) market.step();
    expect(gaps).toBeGreaterThan(20);
    const versions = [...last.values()];
    expect(versions.some((version) => version < 1000n)).toBe(true);
    expect(versions.some((version) => version > 2n ** 53n && version < 2n ** 54n)).toBe(true);
    expect(versions.some((version) => version > 2n ** 62n)).toBe(true);
  });

  it('trades equities, single options and options of several legs, and replaces orders by others', () => {
    const { market, changes } = book({ predictionShare: 0 });
    for (let i = 0; i < 3000; i += 1) market.step();
    const legs = new Set(changes.map(({ order }) => order.terms.legs?.length ?? 0));
    expect([...legs].sort()).toEqual([0, 1, 2, 3, 4]);
    expect(changes.some(({ step }) => step === 'succeeded')).toBe(true);
    for (const leg of changes.flatMap(({ order }) => order.terms.legs ?? []))
      expect(leg.symbol).toMatch(/^[A-Z]{1,6}\d{6}[CP]\d{8}$/);
  });

  it('leaves an order alone that was made uncertain by a fault', () => {
    const { market, changes } = book({ openOrders: 1, predictionShare: 1 });
    market.step();
    const order = changes[0]?.order;
    if (order === undefined) throw new Error('no order');
    order.certainty = 'unknown_gap';
    expect(market.step()).toBe(false);
    expect(changes).toHaveLength(1);
  });
});

describe('the orders of before the start', () => {
  it('are as many as asked for, in the past, without an event', () => {
    const { exchange, market, random, clock, changes, account } = book();
    seedOrders({ exchange, market, random, clock }, { knownOrders: 500, openOrders: 120 });
    expect(changes).toHaveLength(0);
    expect(exchange.orders.size).toBe(500);
    expect(market.workingCount).toBe(120);
    const orders = [...exchange.orders.values()];
    expect(orders.filter((order) => !isClosed(order.state))).toHaveLength(120);
    const nowUs = clock.nowMs() * 1000;
    expect(orders.every((order) => order.updatedAt < nowUs && order.updatedAt > nowUs - 7 * 86_400_000_000)).toBe(true);
    expect(orders.every((order) => order.terms.account === account)).toBe(true);
  });
});
