import { describe, expect, it } from 'vitest';
import type { AccountPlaceTerms, PredictionPlaceTerms } from '../../src/domain/command.ts';
import { measurePlace, quotedBy } from '../../src/domain/measure-command.ts';

const quote = { price: '200', ageMs: 5 };
const leg = { symbol: 'aapl261218C00200000', side: 'BUY', ratioQty: '2', positionEffect: 'OPEN' };

function place(over: Partial<AccountPlaceTerms>) {
  const terms: AccountPlaceTerms = { symbol: 'aapl', side: 'BUY', type: 'LIMIT', qty: '10', timeInForce: 'DAY', ...over };
  return { kind: 'place', stream: 'account', accountId: 'acct-1', terms } as const;
}

function predict(over: Partial<PredictionPlaceTerms>) {
  const base = { symbol: 'FED-CUT', outcome: 'YES', side: 'buy', orderType: 'limit', timeInForce: 'gtc', quantity: '10' };
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
    ['several legs are their net price for 100 shares, without the sign', { price: '-1.5', legs: [leg, leg] }, '1500'],
    ['several legs without a price is not known', { type: 'MARKET', legs: [leg, leg] }, null],
  ])('of %s', (_what, over, value) => {
    expect(measurePlace(place(over), quote)).toMatchObject({ notional: value, exposure: value });
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
      symbols: ['AAPL', symbol, symbol],
      instrument: 'option',
      quantity: '40',
    });
  });

  it.each<[string, Partial<AccountPlaceTerms>, string | null]>([
    ['the price', { price: '210' }, '5'],
    ['the one that is further away', { type: 'STOP_LIMIT', price: '199', stopPrice: '180' }, '10'],
    ['none of a market order', { type: 'MARKET' }, '0'],
    ['several legs, which have no quote', { price: '1', legs: [leg, leg] }, null],
  ])('says in percent how far from the quote it lies: %s', (_what, over, percent) => {
    expect(measurePlace(place(over), quote)).toMatchObject({ deviationPercent: percent, quoteAgeMs: 5 });
  });

  it('is quoted where it is one equity or one contract', () => {
    expect(quotedBy(place({}))).toEqual({ kind: 'equity', symbol: 'aapl' });
    expect(quotedBy(place({ legs: [leg] }))).toEqual({ kind: 'option', symbol: leg.symbol });
    expect([quotedBy(place({ legs: [leg, leg] })), quotedBy(predict({}))]).toEqual([undefined, undefined]);
  });
});
