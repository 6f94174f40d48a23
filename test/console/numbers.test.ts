import { Decimal } from 'decimal.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultView, filterOf, hidingFilters, viewOf } from '../../src/console/state/orders/blotter-view.ts';
import { csvOf } from '../../src/console/state/orders/order-csv.ts';
import { priceText, priceTitle, rowOfUpdate, workingText } from '../../src/console/state/orders/order-row.ts';
import { addDecimals, compareDecimals, thousandthsOf } from '../../src/console/state/text/decimal-text.ts';
import { zoneText } from '../../src/console/state/text/zone-text.ts';
import type { Instrument } from '../../types/records.d.ts';
import { updateOf } from '../support/rest/console-rig.ts';

describe('issue: The console sorted amounts with more than 12 places wrongly, and cut their sums.', () => {
  const Exact = Decimal.clone({ precision: 200, toExpNeg: -200, toExpPos: 200 });
  const digits = (minLength: number, maxLength: number) =>
    fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength });
  /** As the service sends them: up to 40 digits on each side. */
  const amount = fc
    .tuple(fc.boolean(), digits(1, 40), digits(0, 40))
    .map(([minus, whole, fraction]) =>
      new Exact(`${minus ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`)
        .plus(0)
        .toFixed()
        .replace(/^-0$/, '0'),
    );

  it('amounts of 40 and 40 digits are compared and added up exactly', () => {
    fc.assert(
      fc.property(amount, amount, (a, b) => {
        expect(compareDecimals(a, b)).toBe(new Exact(a).comparedTo(b));
        expect(addDecimals(a, b)).toBe(new Exact(a).plus(b).toFixed().replace(/^-0$/, '0'));
      }),
      {
        examples: [
          ['1.0000000000001', '1'],
          ['9'.repeat(40), '1'],
        ],
      },
    );
  });

  it('the sum of two of the greatest can be added to once more', () => {
    const most = '9'.repeat(40);
    expect(addDecimals(addDecimals(most, most) ?? '', most)).toBe(new Exact(most).times(3).toFixed());
  });

  it('a part below a millionth of a millionth is not nothing', () => {
    const least = `0.${'0'.repeat(39)}1`;
    expect([thousandthsOf(least, '1'), thousandthsOf(least, least), thousandthsOf('0', least)]).toEqual([1, 1000, 0]);
  });
});

describe('issue: The console did not find an order when its symbol was typed in another spelling.', () => {
  const rowOf = (instrument: Instrument) => rowOfUpdate(updateOf({ instrument }), 1, 0);
  const leg = (symbol: string) => ({ symbol, side: 'buy', ratioQty: '1', positionEffect: 'open' });
  const isShown = (name: 'symbol' | 'text', typed: string, instrument: Instrument) =>
    filterOf(viewOf(new URLSearchParams([[name, typed]])))(rowOf(instrument));

  const share: Instrument = { kind: 'equity', symbol: 'BRK/B' };
  const contract: Instrument = { kind: 'option', symbol: 'AAPL  261218C00200000' };
  const oneLeg: Instrument = { kind: 'option', symbol: 'AAPL', legs: [leg('AAPL261218C00200000')] };
  const market: Instrument = { kind: 'prediction', symbol: 'FED-CUT-DEC26', outcome: 'YES' };

  describe('the filter of the blotter finds an order by each spelling of its symbol', () => {
    it.each<[string, Instrument]>([
      ['brk.b', share],
      ['BRK/B', share],
      ['BRK B', share],
      ['AAPL261218C00200000', contract],
      ['aapl  261218c00200000', contract],
      ['O:AAPL261218C00200000', contract],
      ['AAPL', contract],
      ['AAPL261218C00200000', oneLeg],
      ['aapl  261218c00200000', oneLeg],
      ['O:AAPL261218C', oneLeg],
      ['fed-cut', market],
    ])('%s', (typed, instrument) => {
      expect(isShown('symbol', typed, instrument)).toBe(true);
      expect(isShown('text', typed, instrument)).toBe(true);
    });

    it.each<[string, Instrument]>([
      ['BRK.A', share],
      ['AAPL261218P00200000', contract],
      ['AAPL261218C00210000', oneLeg],
      ['---', share],
    ])('and not by %s', (typed, instrument) => {
      expect(isShown('symbol', typed, instrument)).toBe(false);
      expect(isShown('text', typed, instrument)).toBe(false);
    });
  });
});

describe('issue: The console showed "stop" in place of the price of a stop order.', () => {
  describe('the price of an order in the table', () => {
    it('is its limit, its trigger or both, and its type only where it names no price', () => {
      const texts = [
        { orderType: 'limit', price: '191.5' },
        { orderType: 'stop', stopPrice: '190' },
        { orderType: 'stop_limit', price: '189.5', stopPrice: '190' },
        { orderType: 'market' },
      ].map(priceText);
      expect(texts).toEqual(['191.5', 'stop 190', '189.5 stop 190', 'market']);
    });

    it('is whole in its title, with the type, whatever the column cuts', () => {
      const long = `204.${'0'.repeat(39)}1`;
      expect(priceTitle({ orderType: 'stop_limit', price: long, stopPrice: '205' })).toBe(
        `stop limit ${long} stop 205`,
      );
      expect(priceTitle({ orderType: 'market' })).toBe('market');
      const { order } = rowOfUpdate(
        updateOf({ quantity: '9', price: '1', working: { quantity: '8', price: long } }),
        1,
        0,
      );
      expect(workingText(order)).toEqual({ text: `8 @ ${long}`, same: false });
    });

    it('has the trigger in the file too, and the average of the fills in a column of its own', () => {
      const row = rowOfUpdate(updateOf({ stopPrice: '190' }), 1, 0);
      expect(csvOf([row])).toMatch(/,stopPrice,[\s\S]*,190,/);
      expect(defaultView.columns).toContain('average');
    });
  });

  describe('a view that shows nothing', () => {
    const rows = [
      rowOfUpdate(updateOf({ orderId: 'a', status: 'filled', cumQty: '100', leavesQty: '0' }), 1, 0),
      rowOfUpdate(updateOf({ orderId: 'b' }), 2, 0),
    ];

    it('names Open only as what hides filled orders, and the filter that hides open ones', () => {
      const hiding = hidingFilters(viewOf(new URLSearchParams('status=filled')), rows);
      expect(hiding.map(({ filter, without }) => [filter, without])).toEqual([
        ['Open only', { openOnly: false }],
        ['Status filled', { status: undefined }],
      ]);
    });

    it('names the one of several filters that hides all, or each where none of them alone does', () => {
      const namesOf = (query: string) =>
        hidingFilters(viewOf(new URLSearchParams(query)), rows).map(({ filter }) => filter);
      expect(namesOf('open=any&symbol=AAPL&account=none')).toEqual(['Account none']);
      expect(namesOf('open=any&symbol=NONE&account=none')).toEqual(['Account none', 'Symbol NONE']);
    });
  });

  it('the zone of times is said with its offset', () => {
    expect(zoneText(0)).toMatch(/^UTC(?:[+-]\d\d:\d\d)?$/);
  });
});
