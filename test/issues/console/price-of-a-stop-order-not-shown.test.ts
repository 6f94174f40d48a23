// What a user saw: The console showed "stop" in place of the price of a stop order.

import { describe, expect, it } from 'vitest';
import { defaultView, hidingFilters, viewOf } from '../../../src/console/state/orders/blotter-view.ts';
import { csvOf } from '../../../src/console/state/orders/order-csv.ts';
import { priceText, priceTitle, rowOfUpdate, workingText } from '../../../src/console/state/orders/order-row.ts';
import { zoneText } from '../../../src/console/state/text/zone-text.ts';
import { updateOf } from '../../support/rest/console-rig.ts';

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
    expect(priceTitle({ orderType: 'stop_limit', price: long, stopPrice: '205' })).toBe(`stop limit ${long} stop 205`);
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
