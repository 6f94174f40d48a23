import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AccountPlaceTerms, PredictionPlaceTerms } from '../../src/domain/command.ts';
import { compareDecimals, multiplyDecimals } from '../../src/domain/decimal.ts';
import { measurePlace, type Quote, quotedBy } from '../../src/domain/measure-command.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { contractsAround, optionContract, theoreticalTicks } from '../../src/sandbox/data/option-contracts.ts';
import { newYorkDay } from '../../src/sandbox/data/trading-days.ts';
import { Exchange } from '../../src/sandbox/exchange/exchange.ts';
import type { ExchangeOrder, OrderTerms } from '../../src/sandbox/exchange/exchange-order.ts';
import { acceptOrder } from '../../src/sandbox/exchange/venue-steps.ts';
import { formatFixed, parseFixed } from '../../src/sandbox/exchange/wire-text.ts';
import { equities, type Instrument, predictionMarkets } from '../../src/sandbox/market/instruments.ts';
import { priceOf } from '../../src/sandbox/market/invent-terms.ts';
import { seededRandom } from '../../src/sandbox/seeded-random.ts';
import { referencePrice } from '../../src/sandbox/venue/match-order.ts';
import { MatchingEngine } from '../../src/sandbox/venue/matching-engine.ts';

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
});
