import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AccountPlaceTerms, PredictionPlaceTerms } from '../../src/domain/command.ts';
import {
  addDecimals,
  compareDecimals,
  divideRoundingUp,
  multiplyDecimals,
  subtractDecimals,
} from '../../src/domain/decimal.ts';
import { measurePlace, measureReplace, type Quote, quotedBy } from '../../src/domain/measure-command.ts';
import type { Order } from '../../src/domain/order.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { contractsAround, optionContract, theoreticalTicks } from '../../src/sandbox/data/option-contracts.ts';
import { newYorkDay } from '../../src/sandbox/data/trading-days.ts';
import { Exchange } from '../../src/sandbox/exchange/exchange.ts';
import {
  type AskedTerms,
  type ExchangeOrder,
  isClosed,
  type OrderTerms,
} from '../../src/sandbox/exchange/exchange-order.ts';
import { acceptOrder, acceptPending, askVenue, refusePending } from '../../src/sandbox/exchange/venue-steps.ts';
import { formatFixed, parseFixed } from '../../src/sandbox/exchange/wire-text.ts';
import { equities, type Instrument, predictionMarkets } from '../../src/sandbox/market/instruments.ts';
import { priceOf } from '../../src/sandbox/market/invent-terms.ts';
import { seededRandom } from '../../src/sandbox/seeded-random.ts';
import { referencePrice } from '../../src/sandbox/venue/match-order.ts';
import { MatchingEngine } from '../../src/sandbox/venue/matching-engine.ts';
import { predictionView } from '../support/orders/arbitrary-orders.ts';

// What a limit of money compares is never below what the sandbox's own exchange makes of the order,
// from the moment of the quote on.

const today = newYorkDay(systemClock.nowMs());
const account = { id: 'a', owner: 'o', traded: false, predictions: true, status: 'OPEN' };

/** The order meets the market as it is, and then each tick on the way to each of `turns`. */
function tradedOn(instrument: Instrument, terms: OrderTerms, turns: readonly number[]): ExchangeOrder {
  const exchange = new Exchange({ clock: systemClock, onChange: () => {} }, { maxOrders: 10 });
  exchange.addAccount(account);
  const engine = new MatchingEngine(
    {
      exchange,
      random: seededRandom(1),
      instrumentOf: () => instrument,
      priceOf: (order, it) => referencePrice(order.terms, it, today),
    },
    { depth: 1_000_000_000 },
  );
  const order = exchange.open(terms, 'placed');
  acceptOrder(exchange, order, 'V1');
  engine.enter(order);
  for (const turn of turns)
    while (instrument.ticks !== turn) {
      instrument.ticks += Math.sign(turn - instrument.ticks);
      engine.print(instrument);
    }
  return order;
}

/** One prediction market with an order of ours in it. */
class Market {
  private readonly instrument = predictionMarkets()[0] as Instrument;
  private readonly exchange = new Exchange({ clock: systemClock, onChange: () => {} }, { maxOrders: 10 });
  private readonly engine: MatchingEngine;

  constructor(depth: number) {
    this.exchange.addAccount(account);
    this.engine = new MatchingEngine(
      {
        exchange: this.exchange,
        random: seededRandom(depth),
        instrumentOf: () => this.instrument,
        priceOf: (order, it) => referencePrice(order.terms, it, today),
      },
      { depth },
    );
  }

  open(terms: Partial<OrderTerms> & Pick<OrderTerms, 'side' | 'orderType' | 'quantity'>): ExchangeOrder {
    const names = { stream: 'prediction', orderId: 'p1', account, clOrdId: 'c1', version: 1n } as const;
    const order = this.exchange.open(
      { ...names, symbol: 'FED-CUT-DEC26', outcome: 'YES', timeInForce: 'gtc', ...terms },
      'placed',
    );
    acceptOrder(this.exchange, order, 'V1');
    this.engine.enter(order);
    return order;
  }

  ask(order: ExchangeOrder, terms: AskedTerms): void {
    if (!isClosed(order.state)) askVenue(this.exchange, order, 'replace', terms);
  }

  /** As the venue grants it: less than what was filled meanwhile it refuses. */
  grant(order: ExchangeOrder): void {
    const { asked } = order;
    if (isClosed(order.state) || order.pendingAction !== 'replace') return;
    if ((asked?.quantity ?? order.cumQty) < order.cumQty) refusePending(this.exchange, order, 'X', 'late');
    else acceptPending(this.exchange, order);
    if (!isClosed(order.state)) this.engine.enter(order);
  }

  move(turns: readonly number[]): void {
    for (const turn of turns)
      while (this.instrument.ticks !== turn) {
        this.instrument.ticks += Math.sign(turn - this.instrument.ticks);
        this.engine.print(this.instrument);
      }
  }
}

/** As the platform shows it. */
function orderOf(it: ExchangeOrder): Order {
  const { side, orderType, quantity, price, stopPrice } = it.terms;
  return {
    ...{ ...predictionView, side, orderType, origin: 'tidemark', quantity: formatFixed(quantity) },
    ...{ price: undefined, ...(price !== undefined && { price: formatFixed(price) }) },
    ...(stopPrice !== undefined && { stopPrice: formatFixed(stopPrice) }),
    working: {
      quantity: formatFixed(it.workingQuantity),
      orderType: it.workingOrderType,
      ...(it.workingPrice !== undefined && { price: formatFixed(it.workingPrice) }),
    },
    cumQty: formatFixed(it.cumQty),
    leavesQty: formatFixed(it.workingQuantity - it.cumQty),
    // A limit is as exact as the average that the platform shows.
    ...(it.cumQty > 0n && { avgPrice: divideRoundingUp(moneyOf(it, 1n), formatFixed(it.cumQty)) ?? '1' }),
  } as Order;
}

function worthNow({ side, cumQty, avgPrice = '1', working }: Order): string {
  const isBounded = side === 'buy' && working.orderType?.endsWith('limit') === true;
  const rest = multiplyDecimals(
    subtractDecimals(working.quantity ?? '0', cumQty),
    isBounded ? (working.price ?? '1') : '1',
  );
  return addDecimals(multiplyDecimals(cumQty, side === 'buy' ? avgPrice : '1'), rest);
}

/** Money that changed hands: a contract is for 100 shares. */
function moneyOf({ notional }: ExchangeOrder, shares: bigint): string {
  return multiplyDecimals(String(notional * shares), '0.000000000000000000000001');
}

const tick = (most: number) => fc.integer({ min: 1, max: most }).map((ticks) => formatFixed(priceOf(ticks)));
const fixedOf = (text: string) => parseFixed(text) ?? 0n;
const quantity = fc.constantFrom('1', '7', '0.5', '2.25', '1000');
const words = {
  type: fc.constantFrom('MARKET', 'LIMIT', 'STOP', 'STOP_LIMIT'),
  timeInForce: fc.constantFrom('DAY', 'GTC', 'IOC'),
};
const side = fc.constantFrom('BUY', 'SELL', 'SELL_SHORT', 'BUY_TO_COVER');
const contract = fc.constantFrom(...contractsAround('AAPL', 22_150, today).map(({ symbol }) => symbol));
const leg = fc.record({
  symbol: contract,
  side,
  ratioQty: fc.constantFrom('1', '2', '3', '0.5', '0.001', '1.5'),
  positionEffect: fc.constantFrom('OPEN' as const, 'CLOSE' as const),
});

const accountTerms = (legs: fc.Arbitrary<(typeof leg extends fc.Arbitrary<infer L> ? L : never)[]>, most: number) =>
  fc.record({ side, qty: quantity, price: tick(most), stopPrice: tick(most), legs, ...words }).map(
    ({ price, stopPrice, legs: of, ...rest }): AccountPlaceTerms => ({
      ...rest,
      symbol: 'AAPL',
      ...(rest.type.endsWith('LIMIT') && { price }),
      ...(rest.type.startsWith('STOP') && { stopPrice }),
      ...(of[0] !== undefined && { side: of[0].side, legs: of }),
    }),
  );

function exchangeTerms(terms: AccountPlaceTerms): OrderTerms {
  const { symbol, type, timeInForce, qty, price, stopPrice, legs = [] } = terms;
  return {
    ...{
      stream: 'account',
      orderId: 'o1',
      account,
      symbol,
      side: terms.side,
      orderType: type,
      timeInForce,
      clOrdId: 'c1',
    },
    quantity: fixedOf(qty),
    ...(price !== undefined && { price: fixedOf(price) }),
    ...(stopPrice !== undefined && { stopPrice: fixedOf(stopPrice) }),
    ...(legs.length > 0 && { legs: legs as NonNullable<OrderTerms['legs']> }),
  };
}

function quotesOf(terms: AccountPlaceTerms, stockTicks: number): Quote[] {
  return quotedBy({ kind: 'place', stream: 'account', accountId: 'a', terms }).map(({ kind, symbol }) => {
    const option = kind === 'option' ? optionContract(symbol) : undefined;
    const ticks = option === undefined ? stockTicks : theoreticalTicks(option, stockTicks, today);
    return { price: formatFixed(priceOf(ticks)), ageMs: 0 };
  });
}

/** The worst over all that was tried, so that a property whose orders never trade can be seen. */
function expectBounded(measured: string | null | undefined, money: string): void {
  expect(measured).toEqual(expect.any(String));
  expect([measured, money, compareDecimals(String(measured), money) >= 0]).toEqual([measured, money, true]);
}

describe('the measured value of an order', () => {
  it('is never below the money of an equity, wherever the market goes from its quote', () => {
    let traded = 0;
    fc.assert(
      fc.property(
        accountTerms(fc.constant([]), 400),
        fc.integer({ min: 1, max: 400 }),
        fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 3 }),
        (terms, start, turns) => {
          const instrument = equities()[0] as Instrument;
          instrument.ticks = start;
          // A market order goes at once; a price of its own is met on the way.
          const measure = measurePlace(
            { kind: 'place', stream: 'account', accountId: 'a', terms },
            quotesOf(terms, start),
          );
          const order = tradedOn(instrument, exchangeTerms(terms), turns);
          if (order.cumQty > 0n) traded += 1;
          expectBounded(measure.notional, moneyOf(order, 1n));
        },
      ),
      { numRuns: 500 },
    );
    expect(traded).toBeGreaterThan(100);
  });

  it('is never below the money of options of one to four legs, in whatever ratio', () => {
    let traded = 0;
    fc.assert(
      fc.property(accountTerms(fc.array(leg, { minLength: 1, maxLength: 4 }), 1_500), (terms) => {
        const instrument = equities()[0] as Instrument;
        const measure = measurePlace(
          { kind: 'place', stream: 'account', accountId: 'a', terms },
          quotesOf(terms, instrument.ticks),
        );
        const order = tradedOn(instrument, exchangeTerms(terms), []);
        if (order.cumQty > 0n) traded += 1;
        expectBounded(measure.notional, moneyOf(order, 100n));
      }),
      { numRuns: 1_000 },
    );
    expect(traded).toBeGreaterThan(200);
  });

  it('is never below the money of a prediction order, of either outcome', () => {
    const prediction = fc
      .record({
        symbol: fc.constant('FED-CUT-DEC26'),
        outcome: fc.constantFrom('YES', 'NO'),
        side: fc.constantFrom('buy', 'sell'),
        orderType: fc.constantFrom('market', 'limit', 'stop', 'stop_limit'),
        timeInForce: fc.constantFrom('day', 'gtc', 'ioc'),
        quantity,
        price: tick(99),
        stopPx: tick(99),
      })
      .map(
        ({ price, stopPx, ...rest }): PredictionPlaceTerms => ({
          ...rest,
          ...(rest.orderType.endsWith('limit') && { price }),
          ...(rest.orderType.startsWith('stop') && { stopPx }),
        }),
      );
    fc.assert(
      fc.property(prediction, fc.array(fc.integer({ min: 1, max: 99 }), { maxLength: 4 }), (terms, turns) => {
        const instrument = predictionMarkets()[0] as Instrument;
        const { symbol, outcome, orderType, timeInForce, price, stopPx } = terms;
        const order = tradedOn(
          instrument,
          {
            ...{
              stream: 'prediction',
              orderId: 'p1',
              account,
              symbol,
              outcome,
              side: terms.side,
              orderType,
              timeInForce,
            },
            ...{ quantity: fixedOf(terms.quantity), clOrdId: 'c1', version: 1n },
            ...(price !== undefined && { price: fixedOf(price) }),
            ...(stopPx !== undefined && { stopPrice: fixedOf(stopPx) }),
          },
          turns,
        );
        const measure = measurePlace({ kind: 'place', stream: 'prediction', accountId: 'a', terms });
        expectBounded(measure.notional, moneyOf(order, 1n));
      }),
      { numRuns: 500 },
    );
  });

  it('is never below the money of a replaced prediction order, also of what trades before the grant', () => {
    let traded = 0;
    let cheaper = 0;
    const order = fc.record({
      side: fc.constantFrom('buy', 'sell'),
      orderType: fc.constantFrom('market', 'limit', 'stop', 'stop_limit'),
      quantity: fc.constantFrom('2', '40', '100'),
      price: tick(99),
      stopPx: tick(99),
    });
    const terms = fc.record(
      { quantity: fc.constantFrom('1', '60', '100', '900'), price: tick(99) },
      { requiredKeys: [] },
    );
    const turns = fc.array(fc.integer({ min: 1, max: 99 }), { maxLength: 2 });
    fc.assert(
      fc.property(
        order,
        terms,
        fc.integer({ min: 1, max: 60 }),
        turns,
        turns,
        turns,
        (placed, asked, depth, ...ways) => {
          const market = new Market(depth);
          const { side, orderType } = placed;
          const it = market.open({
            ...{ side, orderType, quantity: fixedOf(placed.quantity) },
            ...(orderType.endsWith('limit') && { price: fixedOf(placed.price) }),
            ...(orderType.startsWith('stop') && { stopPrice: fixedOf(placed.stopPx) }),
          });
          market.move(ways[0]);
          if (isClosed(it.state)) return;
          const seen = orderOf(it);
          const request = {
            kind: 'replace',
            stream: 'prediction',
            accountId: 'a',
            orderId: 'p1',
            terms: asked,
          } as const;
          const measure = measureReplace(request, seen);
          // As order entry: a price belongs to a limit, and no total is below the fills.
          const of = { ...asked, ...(!it.workingOrderType.endsWith('limit') && { price: undefined }) };
          if (of.quantity !== undefined && fixedOf(of.quantity) < it.cumQty) return;
          market.ask(it, {
            ...(of.quantity !== undefined && { quantity: fixedOf(of.quantity) }),
            ...(of.price !== undefined && { price: fixedOf(of.price) }),
          });
          market.move(ways[1]);
          market.grant(it);
          market.move(ways[2]);
          if (it.cumQty > 0n) traded += 1;
          if (of.price !== undefined && compareDecimals(of.price, seen.working.price ?? '1') < 0) cheaper += 1;
          // What raises nothing is compared with no bound: it is worth what the order was.
          if (measure.notional !== undefined) expectBounded(measure.notional, moneyOf(it, 1n));
          else expectBounded(worthNow(seen), moneyOf(it, 1n));
        },
      ),
      { numRuns: 2_000 },
    );
    expect(traded).toBeGreaterThan(300);
    expect(cheaper).toBeGreaterThan(100);
  });
});
