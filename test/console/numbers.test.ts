import { Decimal } from 'decimal.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultView, filterOf, hidingFilters, viewOf } from '../../src/console/state/orders/blotter-view.ts';
import { columnOf, shownValue } from '../../src/console/state/orders/order-columns.ts';
import { csvOf } from '../../src/console/state/orders/order-csv.ts';
import { rowOfUpdate } from '../../src/console/state/orders/order-row.ts';
import {
  addDecimals,
  amountParts,
  compareDecimals,
  placesOf,
  productUnits,
  roundUnits,
  textOfUnits,
  thousandthsOf,
  unitsOf,
} from '../../src/console/state/text/decimal-text.ts';
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

describe('issue: Prices of one instrument stood beside each other with different decimals.', () => {
  const shown = (text: string, places?: number) => Object.values(amountParts(text, places));

  it('an amount has its thousands apart, and its point between its two parts', () => {
    expect([shown('1234567.25'), shown('-1000'), shown('999'), shown('0.00001234')]).toEqual([
      ['1,234,567', '.25'],
      ['-1,000', ''],
      ['999', ''],
      ['0', '.00001234'],
    ]);
  });

  it('a price has the decimals of its instrument, and those of money at least', () => {
    expect([placesOf('63.8'), placesOf('63.8125'), placesOf('64'), placesOf(undefined)]).toEqual([2, 4, 2, 2]);
    expect([shown('63.8', 2), shown('64', 4), shown('63.8125', 2)]).toEqual([
      ['63', '.80'],
      ['64', '.0000'],
      ['63', '.8125'],
    ]);
  });

  it('every digit before the point is shown, and what is left out behind it is marked', () => {
    const most = '9'.repeat(40);
    expect(shown(`${most}.${most}`)).toEqual([`9${',999'.repeat(13)}`, `.${'9'.repeat(18)}…`]);
  });

  it.each(['<img>', '1e5', '', '+5', '1.'])('a text that is no plain decimal stays as it is: %j', (text) => {
    expect(shown(text, 2)).toEqual([text, '']);
  });

  it('a quantity at a price is exact, and nothing needs no price', () => {
    const product = (quantity: string, price: string) =>
      textOfUnits(roundUnits(productUnits(quantity, price) ?? 0n, 2, 80));
    expect([product('0.1', '0.2'), product('0.1', '0.05'), product('-0.1', '0.05')]).toEqual(['0.02', '0.01', '-0.01']);
    expect(product('9007199254740993', '3')).toBe('27021597764222979');
    expect([productUnits('0', undefined), productUnits('5', undefined)]).toEqual([0n, undefined]);
  });
});

describe('issue: A long average began at the edge of the window, and hid the columns behind it.', () => {
  const shown = (avgPrice: string, places: number) =>
    shownValue('average', rowOfUpdate(updateOf({ avgPrice }), 1, 0), places);

  it('it has two decimals more than prices of its instrument, and half of the last one is a whole', () => {
    expect(shown('63.823456789012345678', 2)).toBe('63.8235');
    expect([shown('63.82345', 2), shown('63.82344', 2), shown('-0.00005', 2)]).toEqual([
      '63.8235',
      '63.8234',
      '-0.0001',
    ]);
    expect([shown('63.99999999', 2), shown('0.00000001', 2), shown('63.8', 2)]).toEqual(['64', '0', '63.8']);
    expect(shown('0.123456789', 6)).toBe('0.12345679');
  });

  it('other amounts stay whole, and so does a text that is no plain decimal', () => {
    const row = rowOfUpdate(updateOf({ price: '1.123456789', cumQty: '1.123456789' }), 1, 0);
    expect([shownValue('price', row, 2), shownValue('fill', row, 2)]).toEqual(['1.123456789', '1.123456789']);
    expect(shown('1e-7', 2)).toBe('1e-7');
  });

  it('a rounded amount is at most half of its last decimal from the exact one', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }),
        fc.integer({ min: 0, max: 20 }),
        (cents, decimals) => {
          const exact = new Decimal(cents.toString()).div('1e9').toFixed();
          const rounded = new Decimal(textOfUnits(roundUnits(unitsOf(exact) ?? 0n, decimals)));
          expect(rounded.decimalPlaces()).toBeLessThanOrEqual(decimals);
          expect(rounded.minus(exact).abs().times(2).lte(new Decimal(10).pow(-decimals))).toBe(true);
        },
      ),
    );
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
  it('limit and trigger are columns of their own, also in the file', () => {
    const row = rowOfUpdate(updateOf({ orderType: 'stop_limit', price: '189.5', stopPrice: '190' }), 1, 0);
    expect([columnOf('price').value(row), columnOf('stop').value(row)]).toEqual(['189.5', '190']);
    expect(defaultView.columns).toEqual(expect.arrayContaining(['type', 'price', 'stop', 'average']));
    expect(csvOf([row])).toMatch(/,price,stopPrice,[\s\S]*,189.5,190,/);
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
