import { describe, expect, it } from 'vitest';
import type { AccountPlaceTerms, PredictionPlaceTerms, ReplaceTerms } from '../../src/domain/command.ts';
import { measurePlace, measureReplace, quotedBy } from '../../src/domain/measure-command.ts';
import type { Order } from '../../src/domain/order.ts';
import { equityView, predictionView } from '../support/orders/arbitrary-orders.ts';

const quote = { price: '200', ageMs: 5 };
const leg = { symbol: 'aapl261218C00200000', side: 'BUY', ratioQty: '2', positionEffect: 'OPEN' };
const sold = { ...leg, side: 'SELL' };
const quotes = [quote];
const two = [quote, { price: '2', ask: '3', ageMs: 9 }];

function place(over: Partial<AccountPlaceTerms>) {
  const terms: AccountPlaceTerms = {
    symbol: 'aapl',
    side: 'BUY',
    type: 'LIMIT',
    qty: '10',
    timeInForce: 'DAY',
    ...over,
  };
  return { kind: 'place', stream: 'account', accountId: 'acct-1', terms } as const;
}

function predict(over: Partial<PredictionPlaceTerms>) {
  const base = {
    symbol: 'FED-CUT',
    outcome: 'YES',
    side: 'buy',
    orderType: 'limit',
    timeInForce: 'gtc',
    quantity: '10',
  };
  return { kind: 'place', stream: 'prediction', accountId: 'acct-1', terms: { ...base, ...over } } as const;
}

describe('the value of a place', () => {
  it.each<[string, Partial<AccountPlaceTerms>, string | null]>([
    ['a buy with a price is its price, whatever the quote', { price: '150' }, '1500'],
    ['a buy to cover likewise', { side: 'BUY_TO_COVER', price: '150' }, '1500'],
    ['a market order is the quote', { type: 'MARKET' }, '2000'],
    ['a sell below the market is the quote', { side: 'SELL', price: '0.01' }, '2000'],
    ['a sell above the market is its price', { side: 'SELL_SHORT', price: '210' }, '2100'],
    ['a stop is the higher of its price and the quote', { type: 'STOP', stopPrice: '220' }, '2200'],
    ['an option is its premium for 100 shares a contract', { price: '3', legs: [leg] }, '6000'],
    ['several legs that are bought is their net price for 100 shares', { price: '1.5', legs: [leg, sold] }, '1500'],
    ['a part of a contract is a whole one', { qty: '9.5', price: '3', legs: [{ ...leg, ratioQty: '0.001' }] }, '3000'],
    ['an option by its own symbol', { symbol: 'aapl  261218C00200000', price: '3' }, '3000'],
    ['money in another currency is not known', { price: '150', currency: 'EUR' }, null],
  ])('of %s', (_what, over, value) => {
    expect(measurePlace(place(over), quotes)).toMatchObject({ notional: value, exposure: value });
  });

  // Each leg at its quote: (200 + 3) * 2 contracts * 100 shares * 10 lots.
  it.each<[string, Partial<AccountPlaceTerms>]>([
    ['a market order', { type: 'MARKET', legs: [leg, leg] }],
    ['a stop, whatever its price', { type: 'STOP', stopPrice: '0.01', legs: [leg, leg] }],
    ['a net price of zero', { price: '0', legs: [leg, sold] }],
    ['a credit', { price: '-1.5', legs: [leg, sold] }],
    ['a sale', { side: 'SELL', price: '0.01', legs: [sold, leg] }],
    ['a buy of fewer contracts than it sells', { price: '0.01', legs: [leg, { ...sold, ratioQty: '2.1' }] }],
    [
      'a part of one bought',
      {
        price: '0.01',
        legs: [
          { ...leg, ratioQty: '0.01' },
          { ...sold, ratioQty: '1' },
        ],
      },
    ],
  ])('of several legs that no price bounds counts each leg by its quote: %s', (_what, over) => {
    const ratios = (over.legs ?? []).map(({ ratioQty }) => Math.ceil(Number(ratioQty)));
    const value = String((200 * (ratios[0] ?? 0) + 3 * (ratios[1] ?? 0)) * 1000);
    expect(measurePlace(place(over), two)).toMatchObject({ notional: value, valuedByQuote: true, quoteAgeMs: 9 });
    for (const known of [[], [quote]])
      expect(measurePlace(place(over), known)).toMatchObject({ notional: null, exposure: null, valuedByQuote: true });
  });

  it('takes the price at which it is offered, where that is above the last price', () => {
    const offered = [{ price: '200', ask: '201', ageMs: 5 }];
    expect(measurePlace(place({ type: 'MARKET' }), offered)).toMatchObject({ notional: '2010' });
    expect(measurePlace(place({ type: 'MARKET' }), [{ ask: '201', ageMs: 5 }])).toMatchObject({
      notional: '2010',
      deviationPercent: null,
    });
  });

  it.each<[string, Partial<PredictionPlaceTerms>, string]>([
    ['a buy at its price', { price: '0.4' }, '4'],
    ['a buy without one at what a contract can be worth', { orderType: 'market' }, '10'],
    ['a sell at what a contract can be worth', { side: 'sell', price: '0.4' }, '10'],
  ])('of a prediction: %s', (_what, over, value) => {
    expect(measurePlace(predict(over))).toMatchObject({ notional: value, exposure: value, valuedByQuote: false });
  });

  it('is not known without a quote where an order can trade beyond its prices', () => {
    for (const over of [{ type: 'MARKET' }, { side: 'SELL', price: '1' }, { type: 'STOP', stopPrice: '1' }])
      expect(measurePlace(place(over))).toMatchObject({ notional: null, exposure: null, valuedByQuote: true });
  });
});

describe('what a place is measured by', () => {
  it('names each symbol in upper case, and counts contracts of all legs', () => {
    const symbol = 'AAPL261218C00200000';
    expect(measurePlace(place({ price: '3', legs: [leg, leg] }))).toMatchObject({
      symbols: ['AAPL', symbol],
      underlyings: ['AAPL'],
      instrument: 'option',
      quantity: '40',
    });
  });

  it.each<[string, Partial<AccountPlaceTerms>, string | null]>([
    ['the price', { price: '210' }, '5'],
    ['the one that is further away', { type: 'STOP_LIMIT', price: '199', stopPrice: '180' }, '10'],
    ['none of a market order', { type: 'MARKET' }, '0'],
  ])('says in percent how far from the quote it lies: %s', (_what, over, percent) => {
    expect(measurePlace(place(over), quotes)).toMatchObject({ deviationPercent: percent, quoteAgeMs: 5 });
  });

  it('never says less of a distance than it is', () => {
    expect(measurePlace(place({ price: '3.1' }), [{ price: '3', ageMs: 5 }])).toMatchObject({
      deviationPercent: '3.333333333334',
    });
    const several = measurePlace(place({ price: '1', legs: [leg, leg] }), two);
    expect(several).toMatchObject({
      deviationPercent: null,
      notCompared: 'an order of several legs has no quote of its own',
    });
  });

  it.each<[string, string, readonly string[]]>([
    ['AAPL', 'AAPL261218C00200000', ['AAPL']],
    ['AAPL', 'AAPL1261218C00200000', ['AAPL']],
    ['BRK.B', 'BRKB  261218C00200000', ['BRK.B']],
    ['AAPL', 'TSLA261218C00200000', ['AAPL', 'TSLA']],
    ['SPX', 'SPXW261218C05000000', ['SPX', 'SPXW']],
    ['AAPL', 'ANYTHING', ['AAPL', 'ANYTHING']],
  ])('is of %s with a leg %s', (symbol, named, underlyings) => {
    expect(measurePlace(place({ symbol, price: '1', legs: [{ ...leg, symbol: named }] })).underlyings).toEqual(
      underlyings,
    );
  });

  it('is quoted where it is one equity or one contract', () => {
    const option = { kind: 'option', symbol: leg.symbol };
    expect(quotedBy(place({}))).toEqual([{ kind: 'equity', symbol: 'aapl' }]);
    expect(quotedBy(place({ legs: [leg] }))).toEqual([option]);
    expect([quotedBy(place({ legs: [leg, leg] })), quotedBy(predict({}))]).toEqual([[option, option], []]);
  });
});

describe('a replace', () => {
  const { price: _price, ...unpriced } = predictionView;
  const order = { ...unpriced, origin: 'external', side: 'buy', working: { quantity: '10' } } as const;
  const measure = (terms: { quantity?: string; price?: string }) =>
    measureReplace({ kind: 'replace', stream: 'prediction', accountId: 'acct-1', orderId: 'p-1', terms }, order);

  it('of an order whose price is not known is a rise where it names a price, and none where it lowers the quantity', () => {
    expect(measure({ price: '0.4' })).toMatchObject({ notional: '4', exposure: '4' });
    expect(measure({ quantity: '9' })).not.toHaveProperty('notional');
    expect(measure({ quantity: '11' })).toMatchObject({ quantity: '11', notional: '11' });
  });
});

describe('a replace that makes a new order', () => {
  const stream = 'alpaca_paper' as const;
  const equity: Order = {
    ...{ ...equityView, stream, origin: 'external', side: 'buy', quantity: '10', price: '100', cumQty: '4' },
    working: { quantity: '10', price: '100', orderType: 'limit' },
  };
  const measure = (terms: ReplaceTerms, order: Order = equity) =>
    measureReplace({ kind: 'replace', stream, accountId: 'acct-1', orderId: 'o-1', terms }, order);

  it('adds what its rest is worth more than the rest of the order before', () => {
    const both = { symbols: ['AAPL'], underlyings: ['AAPL'], instrument: 'equity', valuedByQuote: false };
    expect(measure({ price: '110' })).toEqual({ ...both, notional: '1100', exposure: '60', deviationPercent: null });
    expect(measure({ quantity: '12' })).toEqual({ ...both, quantity: '12', notional: '1200', exposure: '200' });
    expect(measure({ quantity: '12', price: '50' })).toMatchObject({ quantity: '12', exposure: '0' });
    expect(measure({ price: '90' })).toEqual({ ...both, exposure: '0', deviationPercent: null });
  });

  it('has no known value where more is sold, or bought without a limit', () => {
    const unknown = { quantity: '12', notional: null, exposure: null };
    expect(measure({ quantity: '12' }, { ...equity, side: 'sell' })).toMatchObject(unknown);
    const { price: _price, ...rest } = equity;
    const market = { ...rest, orderType: 'market', working: { quantity: '10', orderType: 'market' } };
    expect(measure({ quantity: '12' }, market)).toMatchObject(unknown);
    expect(measure({ price: '110' }, { ...equity, side: 'sell' })).toMatchObject({ exposure: '60', notional: '1100' });
  });

  it('counts a contract as a hundred shares, and names what it is on', () => {
    const [symbol, side] = ['AAPL261218C00200000', 'buy'];
    const instrument = { kind: 'option', symbol: 'AAPL', legs: [{ symbol, side, ratioQty: '1' }] } as const;
    const measured = measure({ price: '110' }, { ...equity, instrument });
    expect(measured).toMatchObject({ instrument: 'option', symbols: ['AAPL', symbol], exposure: '6000' });
  });
});
