import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { Exchange } from '../../../src/sandbox/exchange/exchange.ts';
import { type ExchangeOrder, isClosed, leavesOf } from '../../../src/sandbox/exchange/exchange-order.ts';
import { acceptOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { type Fixed, whole } from '../../../src/sandbox/exchange/wire-text.ts';
import { equities, type Instrument } from '../../../src/sandbox/market/instruments.ts';
import { priceOf } from '../../../src/sandbox/market/invent-terms.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { type Matchable, matchOrder } from '../../../src/sandbox/venue/match-order.ts';
import { MatchingEngine } from '../../../src/sandbox/venue/matching-engine.ts';

const ticks = fc.integer({ min: 1, max: 400 });
const units = fc.integer({ min: 1, max: 1000 }).map((n) => BigInt(n) * 10n ** 11n);
const types = ['market', 'limit', 'stop', 'stop_limit'] as const;
const times = ['day', 'gtc', 'ioc', 'fok', 'gtd'] as const;

const matchable: fc.Arbitrary<Matchable> = fc
  .record({
    buys: fc.boolean(),
    type: fc.constantFrom(...types),
    limit: ticks,
    stop: ticks,
    left: units,
    timeInForce: fc.constantFrom(...times),
  })
  .map(({ limit, stop, ...rest }) => ({
    ...rest,
    limit: rest.type.endsWith('limit') ? priceOf(limit) : undefined,
    stop: rest.type.startsWith('stop') ? priceOf(stop) : undefined,
  }));
const print = fc.record({ price: ticks.map(priceOf), available: units });

describe('one print', () => {
  it('never fills more than is left or offered, nor at a price worse than the limit', () => {
    fc.assert(
      fc.property(matchable, print, (order, at) => {
        const { quantity } = matchOrder(order, at);
        expect(quantity >= 0n && quantity <= order.left && quantity <= at.available).toBe(true);
        if (quantity === 0n || order.limit === undefined) return;
        expect(order.buys ? at.price <= order.limit : at.price >= order.limit).toBe(true);
      }),
    );
  });

  it('leaves a stop alone until its price is touched', () => {
    fc.assert(
      fc.property(matchable, print, (order, at) => {
        const stopped = order.stop !== undefined;
        const touched = order.stop !== undefined && (order.buys ? at.price >= order.stop : at.price <= order.stop);
        const match = matchOrder(order, at);
        expect(match.triggered).toBe(stopped && touched);
        if (stopped && !touched) expect(match).toEqual({ triggered: false, quantity: 0n, hungry: false, ends: false });
      }),
    );
  });

  it('fills fok whole or not at all, and lets neither fok nor ioc rest', () => {
    fc.assert(
      fc.property(matchable, print, (order, at) => {
        const match = matchOrder(order, at);
        if (order.stop !== undefined && !match.triggered) return;
        if (order.timeInForce === 'fok') expect([0n, order.left]).toContain(match.quantity);
        const mayRest = order.timeInForce !== 'ioc' && order.timeInForce !== 'fok';
        expect(match.ends).toBe(!mayRest && match.quantity < order.left);
      }),
    );
  });
});

const placed = fc.record({
  side: fc.constantFrom('BUY', 'SELL'),
  type: fc.constantFrom(...types),
  limit: ticks,
  stop: ticks,
  quantity: units,
  timeInForce: fc.constantFrom('DAY', 'GTC', 'IOC', 'FOK'),
});

type Placed = typeof placed extends fc.Arbitrary<infer T> ? T : never;

function engineOn(instrument: Instrument, depth: number) {
  const account = { id: 'a', owner: 'o', traded: false, predictions: false, status: 'OPEN' };
  const steps: string[] = [];
  const exchange = new Exchange(
    { clock: systemClock, onChange: (_order, step) => void steps.push(step) },
    { maxOrders: 1000 },
  );
  exchange.addAccount(account);
  const engine = new MatchingEngine(
    { exchange, random: seededRandom(1), instrumentOf: () => instrument, priceOf: (_order, it) => priceOf(it.ticks) },
    { depth },
  );
  let count = 0;
  const enter = (it: Placed): ExchangeOrder => {
    count += 1;
    const type = it.type.toUpperCase();
    const order = exchange.open(
      {
        stream: 'account',
        orderId: `o${count}`,
        account,
        symbol: instrument.symbol,
        side: it.side,
        orderType: type,
        timeInForce: it.timeInForce,
        quantity: it.quantity,
        ...(type.endsWith('LIMIT') ? { price: priceOf(it.limit) } : {}),
        ...(type.startsWith('STOP') ? { stopPrice: priceOf(it.stop) } : {}),
        clOrdId: `c${count}`,
      },
      'placed',
    );
    acceptOrder(exchange, order, `V${count}`);
    engine.enter(order);
    return order;
  };
  return { engine, enter };
}

function average(order: ExchangeOrder): Fixed {
  return order.notional / order.cumQty;
}

describe('orders over a walk of the price', () => {
  it('never trade beyond their quantity nor worse than their limit, leaves is quantity less cumQty, and closed is final', () => {
    fc.assert(
      fc.property(
        fc.array(placed, { minLength: 1, maxLength: 6 }),
        fc.array(ticks, { maxLength: 12 }),
        fc.integer({ min: 1, max: 60 }),
        (orders, walk, depth) => {
          const instrument = equities()[0] as Instrument;
          instrument.ticks = 200;
          const { engine, enter } = engineOn(instrument, depth);
          const entered = orders.map(enter);
          const closedAt = new Map<ExchangeOrder, bigint>();
          for (const price of walk) {
            instrument.ticks = price;
            engine.print(instrument);
            for (const order of entered) {
              expect(order.cumQty <= order.terms.quantity).toBe(true);
              expect(leavesOf(order)).toBe(isClosed(order.state) ? 0n : order.terms.quantity - order.cumQty);
              if (isClosed(order.state)) {
                expect(closedAt.get(order) ?? order.version).toBe(order.version);
                closedAt.set(order, order.version);
              }
              expect(order.state === 'filled').toBe(order.cumQty === order.terms.quantity);
              const limit = order.terms.price;
              if (limit === undefined || order.cumQty === 0n) continue;
              expect(order.terms.side === 'BUY' ? average(order) <= limit : average(order) >= limit).toBe(true);
            }
          }
        },
      ),
    );
  });

  it('are served in the order in which they came to the book, from one offer', () => {
    const instrument = equities()[0] as Instrument;
    instrument.ticks = 200;
    const { engine, enter } = engineOn(instrument, 5);
    const resting = {
      side: 'BUY',
      type: 'limit',
      limit: 100,
      stop: 1,
      quantity: whole(40),
      timeInForce: 'GTC',
    } as const;
    const first = enter(resting);
    const second = enter(resting);
    instrument.ticks = 100;
    for (let i = 0; i < 100; i += 1) {
      engine.print(instrument);
      if (first.state !== 'filled') expect(second.cumQty).toBe(0n);
    }
    expect([first.state, second.state]).toEqual(['filled', 'filled']);
  });
});
