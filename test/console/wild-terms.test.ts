import { describe, expect, it } from 'vitest';
import { emptyFields } from '../../src/console/state/commands/ticket-body.ts';
import { OrderStore } from '../../src/console/state/orders/order-store.ts';
import { farPriceOf, isWildSize, largestKnown } from '../../src/console/state/ticket-preview.ts';
import type { Instrument } from '../../src/domain/order.ts';
import { updateOf } from '../support/rest/console-rig.ts';

describe('issue: A price of ten times the market, or a quantity with two zeros too many, got no warning.', () => {
  const contract = 'AAPL261218C00200000';
  const fields = { ...emptyFields(), accountId: 'ACC-1', symbol: ' ko', side: 'BUY', quantity: '5', price: '64' };
  const leg = { symbol: `O:${contract}`, side: 'SELL', ratioQty: '1', positionEffect: 'OPEN' };
  const option = { ...fields, kind: 'option', side: '', symbol: 'AAPL', legs: [leg] } as const;

  describe('a limit price', () => {
    const quotes = [
      { kind: 'equity', symbol: 'KO', bid: '60', ask: '64', last: '50', ageMs: 3_000 },
      { kind: 'equity', symbol: 'PEP', last: '100', ageMs: 3_000 },
      { kind: 'option', symbol: contract, bid: '1.5', ask: '1.6', ageMs: 3_000 },
    ] as const;
    const of = (over: Partial<typeof fields>) => farPriceOf({ ...fields, ...over }, [...quotes]);

    it.each([
      ['BUY', '76.8', undefined, undefined],
      ['BUY', '76.81', 'ask', 20n],
      ['BUY', '640', 'ask', 900n],
      ['BUY', '51.2', undefined, undefined],
      ['BUY_TO_COVER', '6.4', 'ask', -90n],
      ['SELL', '72', undefined, undefined],
      ['SELL_SHORT', '1,600', 'bid', 2566n],
      ['SELL', '47.9', 'bid', -20n],
    ])('is far where it is more than a fifth from its side of the quote: %s at %s', (side, price, name, percent) => {
      const found = of({ side, price });
      expect([found?.name, found?.percent]).toEqual([name, percent]);
    });

    it('goes by the last price without that side, and by the quote of the contract', () => {
      expect(of({ symbol: 'PEP', price: '121' })).toMatchObject({ name: 'last', market: '100', percent: 21n });
      expect(farPriceOf({ ...option, price: '15' }, [...quotes])).toMatchObject({ name: 'bid', percent: 900n });
    });

    it('is not compared where there is nothing to compare', () => {
      for (const over of [{ side: '' }, { symbol: 'KOF' }, { price: '1e9' }, { price: '' }, { type: 'MARKET' }])
        expect(of({ price: '640', ...over })).toBeUndefined();
      expect(farPriceOf({ ...option, legs: [leg, leg], price: '15' }, [...quotes])).toBeUndefined();
      expect(farPriceOf({ ...fields, kind: 'prediction', side: 'buy', price: '0.99' }, [])).toBeUndefined();
    });
  });

  it('a quantity is wild above ten times the largest known order of its instrument', () => {
    const frames: (() => void)[] = [];
    const store = new OrderStore({ frame: (run) => frames.push(run), monotonicMs: () => 0 });
    const equity = { kind: 'equity', symbol: 'KO' } as const;
    const order = (orderId: string, quantity: string, instrument: Instrument) =>
      store.takeUpdate(updateOf({ orderId, quantity, working: { quantity }, instrument }));
    order('a', '9', equity);
    order('b', '100', equity);
    order('c', '7000', { ...equity, symbol: 'KOF' });
    order('d', '3', { kind: 'option', symbol: 'AAPL', legs: [{ symbol: contract, side: 'buy', ratioQty: '1' }] });
    order('e', '8000', { kind: 'option', symbol: 'AAPL', legs: [] });
    for (const run of frames.splice(0)) run();
    const rows = () => store.rows.values();
    expect(largestKnown(fields, rows())).toBe('100');
    expect(largestKnown(option, rows())).toBe('3');
    expect(largestKnown({ ...option, legs: [leg, leg] }, rows())).toBeUndefined();
    for (const symbol of ['', ' ', 'PEP']) expect(largestKnown({ ...fields, symbol }, rows())).toBeUndefined();
    const isWild = (quantity: string, largest?: string) => isWildSize({ ...fields, quantity }, largest);
    expect(['1000', '1,000.5', '', '1e9'].map((quantity) => isWild(quantity, '100'))).toEqual([
      false,
      true,
      false,
      false,
    ]);
    expect(isWild('1000000')).toBe(false);
  });
});
