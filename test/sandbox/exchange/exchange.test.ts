import { describe, expect, it } from 'vitest';
import { entryAt, present } from '../../../src/sandbox/exchange/change-list.ts';
import { leavesOf } from '../../../src/sandbox/exchange/exchange-order.ts';
import {
  acceptOrder,
  acceptPending,
  askVenue,
  cancelOrder,
  correctFill,
  fillOrder,
  loseSight,
  refusePending,
  regainSight,
  rejectOrder,
} from '../../../src/sandbox/exchange/venue-steps.ts';
import { formatFixed, whole } from '../../../src/sandbox/exchange/wire-text.ts';
import { book } from '../../support/platform/book.ts';

describe('an order on the exchange', () => {
  it('is acknowledged once, with the id of the venue and the instant of the acknowledgement', () => {
    const { exchange, open } = book();
    const order = open();
    expect(order).toMatchObject({ state: 'pending_new', venueOrderId: undefined, firstAckAt: undefined });
    acceptOrder(exchange, order, 'V1');
    expect(order).toMatchObject({ state: 'new', venueOrderId: 'V1', firstAckAt: order.updatedAt });
  });

  it('fills in parts at an exact average, and closes when nothing is left', () => {
    const { exchange, open } = book();
    const order = open();
    const half = order.workingQuantity / 2n;
    fillOrder(exchange, order, half, whole(1) / 2n);
    expect(order.state).toBe('partially_filled');
    expect(leavesOf(order)).toBe(order.workingQuantity - half);
    fillOrder(exchange, order, order.workingQuantity * 10n, whole(1) / 4n);
    expect(order).toMatchObject({ state: 'filled', cumQty: order.workingQuantity, closedAt: order.updatedAt });
    expect(leavesOf(order)).toBe(0n);
    expect(formatFixed(order.notional / order.cumQty)).toMatch(/^0\.37\d*$|^0\.375$/);
  });

  it('keeps working on its present terms while an amend is pending, and takes the new ones when the venue agrees', () => {
    const { exchange, open } = book();
    const order = open();
    const before = order.workingQuantity;
    askVenue(exchange, order, 'replace', { quantity: before + whole(5), price: whole(1) / 2n });
    expect(order).toMatchObject({ pendingAction: 'replace', workingQuantity: before });
    acceptPending(exchange, order);
    expect(order).toMatchObject({
      pendingAction: 'none',
      workingQuantity: before + whole(5),
      workingPrice: whole(1) / 2n,
    });
    expect(order.terms.quantity).toBe(before);
  });

  it('keeps its terms and records the reason when the venue refuses', () => {
    const { exchange, open } = book();
    const order = open();
    const before = order.workingQuantity;
    askVenue(exchange, order, 'cancel');
    refusePending(exchange, order, 'TOO_LATE', 'Order is being executed');
    expect(order).toMatchObject({
      pendingAction: 'none',
      state: 'pending_new',
      workingQuantity: before,
      rejectReason: 'TOO_LATE',
    });
  });

  it('has no pending action and works no more once it is closed', () => {
    const { exchange, open } = book();
    const order = open();
    askVenue(exchange, order, 'replace', { quantity: whole(9) });
    cancelOrder(exchange, order);
    expect(order).toMatchObject({ state: 'canceled', pendingAction: 'none', asked: undefined });
    expect(leavesOf(order)).toBe(0n);
  });

  it('shows as unknown while nobody can confirm it, and as what it was afterwards', () => {
    const { exchange, open } = book();
    const order = open();
    acceptOrder(exchange, order, 'V1');
    loseSight(exchange, order, 'unknown_gap', 'gap');
    expect(order).toMatchObject({ state: 'unknown', certainty: 'unknown_gap', certaintyReason: 'gap' });
    loseSight(exchange, order, 'unknown_store_lost', 'lost');
    regainSight(exchange, order);
    expect(order).toMatchObject({ state: 'new', certainty: 'certain', certaintyReason: undefined });
  });

  it('works again after a trade was taken back', () => {
    const { exchange, open } = book();
    const order = open('account');
    fillOrder(exchange, order, order.workingQuantity, whole(10));
    correctFill(exchange, order, whole(0));
    expect(order).toMatchObject({ state: 'new', cumQty: 0n, notional: 0n, closedAt: undefined });
  });
});

describe('the exchange', () => {
  it('gives every change an instant of its own, even when the wall clock steps back', () => {
    const { exchange, open, clock, changes } = book();
    const seen: number[] = [];
    for (let i = 0; i < 50; i += 1) {
      const order = open();
      clock.stepWall(i % 2 === 0 ? -3_600_000 : 1);
      acceptOrder(exchange, order, `V${i}`);
      seen.push(order.createdAt, order.updatedAt);
    }
    expect(changes).toHaveLength(100);
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
  });

  it('forgets the oldest closed orders beyond its bound, and never an open one', () => {
    const { exchange, open, account } = book({ maxOrders: 10 });
    const working = [open(), open()];
    const closed = Array.from({ length: 30 }, () => {
      const order = open();
      rejectOrder(exchange, order, 'R', 'text');
      return order;
    });
    expect(exchange.orders.size).toBeLessThanOrEqual(11);
    expect(exchange.forgotten).toBeGreaterThan(19);
    expect(working.every((order) => exchange.orders.has(order.terms.orderId))).toBe(true);
    expect(exchange.orders.has(closed.at(-1)?.terms.orderId ?? '')).toBe(true);
    const listed: string[] = [];
    exchange.listOf(account, 'prediction').visit(0, present, ({ order }) => listed.push(order.terms.orderId) > 0);
    expect(new Set(listed)).toEqual(new Set(exchange.orders.keys()));
  });

  it('finds every order of a client reference, oldest first, since references need not be unique', () => {
    const { exchange, market, account } = book();
    const terms = () => ({ ...market.inventor.invent('prediction', account, 0), clientOrderRef: 'mine' });
    const orders = [
      exchange.open(terms(), 'opened'),
      exchange.open(terms(), 'opened'),
      exchange.open(terms(), 'opened'),
    ];
    expect(exchange.byClientReference('mine')).toEqual(orders);
    expect(exchange.byClientReference('yours')).toEqual([]);
  });

  it('can show what was, once it was told to keep it', async () => {
    const { exchange, open, clock } = book();
    const order = open();
    exchange.keepHistory(60_000);
    await clock.advance(1000);
    acceptOrder(exchange, order, 'V1');
    await clock.advance(1000);
    cancelOrder(exchange, order);
    await clock.advance(500);
    expect(entryAt(order, exchange.asOf(0))?.row).toBeUndefined();
    expect(entryAt(order, exchange.asOf(1000))?.row).toContain('"state":"new"');
    expect(entryAt(order, exchange.asOf(2000))?.row).toContain('"state":"pending_new"');
    const young = open();
    expect(entryAt(young, exchange.asOf(1000))).toBeUndefined();
    // Nobody can ask for a time before it was kept.
    expect(entryAt(order, exchange.asOf(5000))?.row).toContain('"state":"pending_new"');
    exchange.keepHistory(0);
    expect(entryAt(young, exchange.asOf(1000))?.order).toBe(young);
  });
});
