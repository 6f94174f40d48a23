import { describe, expect, it } from 'vitest';
import { orderAddress, placeOf } from '../../src/console/state/address.ts';
import {
  defaultView,
  filterOf,
  isFiltered,
  queryOf,
  viewOf,
  withColumn,
  withMoved,
  withoutFilters,
} from '../../src/console/state/orders/blotter-view.ts';
import { keepLayout, keptLayout } from '../../src/console/state/orders/kept-layout.ts';
import { columnNames, columnOf } from '../../src/console/state/orders/order-columns.ts';
import { csvOf } from '../../src/console/state/orders/order-csv.ts';
import { rowOfUpdate } from '../../src/console/state/orders/order-row.ts';
import { rowsInView } from '../../src/console/state/orders/row-slots.ts';
import { ladderOf } from '../../src/console/state/orders/version-ladder.ts';
import { compareDecimals, thousandthsOf } from '../../src/console/state/text/decimal-text.ts';
import { ConsoleRig, updateOf } from '../support/rest/console-rig.ts';

const rowOf = (over: Parameters<typeof updateOf>[0] = {}) => rowOfUpdate(updateOf(over), 1, 0);

describe('the address of a view', () => {
  it('says nothing where the view is the default, and gives back every view that it says', () => {
    expect(queryOf(defaultView)).toBe('');
    const view = viewOf(
      new URLSearchParams('account=A-1&symbol=AA&side=buy&status=new&origin=tidemark&text=x%26y&open=any&sort=price'),
    );
    expect(view).toMatchObject({
      accountId: 'A-1',
      q: 'x&y',
      openOnly: false,
      sort: { column: 'price', descending: false },
    });
    expect(viewOf(new URLSearchParams(queryOf(view)))).toEqual(view);
    const resized = viewOf(new URLSearchParams('widths=price:120,account:80'));
    expect([resized.widths, queryOf(resized)]).toEqual([{ price: 120, account: 80 }, '?widths=price:120,account:80']);
    const columns = viewOf(new URLSearchParams('columns=order,side,order'));
    expect([columns.columns, queryOf(columns)]).toEqual([['order', 'side'], '?columns=order,side']);
  });

  it('loses its filters alone when they are cleared', () => {
    const view = viewOf(new URLSearchParams('account=A-1&text=x&open=any&sort=price&widths=price:120'));
    expect([isFiltered(view), isFiltered(defaultView)]).toEqual([true, false]);
    expect(queryOf({ ...view, ...withoutFilters() })).toBe('?open=any&sort=price&widths=price:120');
  });

  it('takes one column more at its usual place, and leaves the others in their own order', () => {
    expect(withColumn(['price', 'side'], 'order')).toEqual(['price', 'side', 'order']);
    expect(withColumn(['price', 'side'], 'updated')).toEqual(['updated', 'price', 'side']);
    expect(withColumn(['account', 'order', 'side'], 'price')).toEqual(['account', 'price', 'order', 'side']);
  });

  it('moves a column to another place, and not beyond the ends', () => {
    const columns = ['updated', 'side', 'price'] as const;
    const moved = (to: number) => withMoved(columns, 'side', to).join();
    expect([moved(0), moved(2), moved(-1), moved(9)]).toEqual([
      'side,updated,price',
      'updated,price,side',
      'side,updated,price',
      'updated,price,side',
    ]);
  });

  it('never shows an instrument without its outcome', () => {
    const columnsIn = (text: string) => viewOf(new URLSearchParams([['columns', text]])).columns.join();
    expect([columnsIn('instrument,side'), columnsIn('side,outcome,instrument'), columnsIn('side')]).toEqual([
      'instrument,outcome,side',
      'side,outcome,instrument',
      'side',
    ]);
  });

  it('gives each reader their own columns back, unless the address says others', async () => {
    const rig = new ConsoleRig();
    await rig.state.start();
    const mine = viewOf(new URLSearchParams('columns=side,price&widths=price:120'));
    keepLayout(rig.state, mine);
    const opened = (query = '') => viewOf(new URLSearchParams(query), keptLayout(rig.state));
    expect(opened('account=A-1')).toEqual({ ...mine, accountId: 'A-1' });
    expect(opened('columns=order')).toMatchObject({ columns: ['order'], widths: {} });
    const other = new ConsoleRig();
    other.rights.principal = 'ann';
    for (const [name, text] of rig.laidOut) other.laidOut.set(name, text);
    await other.state.start();
    expect(keptLayout(other.state).columns).toEqual(defaultView.columns);
    keepLayout(rig.state, defaultView);
    expect(rig.laidOut.size).toBe(0);
    expect(opened().columns).toBe(defaultView.columns);
  });

  it('passes over words that it does not know', () => {
    expect(
      viewOf(
        new URLSearchParams(
          'sort=__proto__&columns=evil&stream=x&origin=<img>&widths=price:9,side:99999,evil:80,order:1e2',
        ),
      ),
    ).toEqual(defaultView);
    expect(placeOf('/console/orders/account/%E0%A4%A', '')).toMatchObject({ screen: 'unknown' });
    expect(placeOf('/console/nowhere', '')).toMatchObject({ screen: 'unknown' });
  });

  it('carries an order id of any characters', () => {
    const order = { stream: 'account', orderId: '..<img>?#%' } as const;
    expect(placeOf(new URL(orderAddress(order), 'http://x').pathname, '')).toMatchObject({
      screen: 'order',
      params: order,
    });
  });
});

describe('the filters', () => {
  it.each([
    ['account=acc-1', true],
    ['account=ACC', false],
    ['symbol=aa', true],
    ['side=buy', true],
    ['side=sell', false],
    ['status=partially_filled', true],
    ['origin=tidemark', false],
    ['text=ORD', true],
    ['text=nothing', false],
    ['stream=prediction', false],
  ])('%s fits: %s', (query, fits) => {
    expect(filterOf(viewOf(new URLSearchParams(query)))(rowOf())).toBe(fits);
  });

  it('leave out orders that are over unless asked for', () => {
    const row = rowOf({ status: 'canceled', leavesQty: '0' });
    expect([filterOf(defaultView)(row), filterOf({ ...defaultView, openOnly: false })(row)]).toEqual([false, true]);
  });
});

describe('amounts', () => {
  it('are compared beyond the digits of a floating-point number', () => {
    expect(compareDecimals('9007199254740993', '9007199254740992')).toBe(1);
    expect(compareDecimals('0.1', '0.10')).toBe(0);
    expect(compareDecimals('-1', '0.000000000001')).toBe(-1);
    expect(compareDecimals(undefined, '-5')).toBe(-1);
  });

  it('fill a bar only when everything is filled, and leave it empty only when nothing is', () => {
    expect(thousandthsOf('0', '100')).toBe(0);
    expect(thousandthsOf('0.000000000001', '100000000000')).toBe(1);
    expect(thousandthsOf('999999.999999', '1000000')).toBe(999);
    expect(thousandthsOf('100', '100.0')).toBe(1000);
    expect(thousandthsOf('<img>', '5')).toBe(0);
  });
});

describe('CSV', () => {
  it('quotes as RFC 4180 says, and disarms texts that a spreadsheet would run', () => {
    const instrument = { kind: 'equity', symbol: '=HYPERLINK("x")' } as const;
    const [head = '', row = ''] = csvOf([rowOf({ instrument, rejectText: 'a' })]).split('\r\n');
    expect(head.startsWith('\u{feff}stream,orderId,accountId')).toBe(true);
    expect(row).toContain(`,"'=HYPERLINK(""x"")",`);
    expect(row).toContain(',100,191.5,');
  });

  it('has the value of every field and column, whole', () => {
    const long = `0.${'1'.repeat(40)}`;
    const order = { price: long, createdAt: '2026-11-21T14:30:00.000Z', placedBy: 'ann', rejectText: 'no, "no"' };
    const texts = { clOrdId: 'c-1', clientOrderRef: 'r-1', venueOrderId: 'v-1', rejectReason: '99' };
    const row = rowOf({ ...order, ...texts });
    const [head = '', line = ''] = csvOf([row]).split('\r\n');
    for (const text of [long, ...Object.values(texts), 'ann', '"no, ""no"""', order.createdAt])
      expect(line).toContain(text);
    const inFile = new Set(head.replace('\u{feff}', '').split(','));
    const inOther = ['instrument', 'working', 'extra', 'sourceEpoch', 'incarnation'];
    expect(Object.keys(row.order).filter((field) => !inFile.has(field) && !inOther.includes(field))).toEqual([]);
    for (const name of columnNames) {
      const value = columnOf(name).value(row);
      if (value !== undefined && name !== 'certainty' && name !== 'reject') expect(line, name).toContain(value);
    }
  });
});

describe('the window of rows', () => {
  it('has the rows in view and a few more, within the table', () => {
    expect(rowsInView({ top: 0, height: 300, count: 100_000, rowHeight: 30 })).toEqual({ first: 0, end: 18 });
    expect(rowsInView({ top: 30_000, height: 300, count: 100_000, rowHeight: 30 })).toEqual({ first: 992, end: 1018 });
    expect(rowsInView({ top: 30_000, height: 300, count: 5, rowHeight: 30 })).toEqual({ first: 5, end: 5 });
    expect(rowsInView({ top: 0, height: 0, count: 0, rowHeight: 30 })).toEqual({ first: 0, end: 0 });
  });
});

describe('the version ladder', () => {
  it('says from → to, newest first, without the time and the word that stand elsewhere', () => {
    const first = updateOf({ cumQty: '0', leavesQty: '100', status: 'new', statusRaw: 'NEW' });
    const second = {
      ...updateOf({ revision: 2, updatedAt: '2026-11-21T14:30:02.000Z' }),
      changed: ['status', 'statusRaw', 'cumQty', 'updatedAt'],
    };
    const [newest, oldest] = ladderOf([first, second], new Map([[second.eventId, '2026-11-21T14:30:01.255Z']]));
    expect([newest?.storedAfterMs, oldest?.storedAfterMs]).toEqual([5, undefined]);
    expect(newest?.changes).toEqual([
      { field: 'status', from: 'new', to: 'partially_filled' },
      { field: 'cumQty', from: '0', to: '40' },
    ]);
    expect(newest?.delayMs).toBe(-750);
    expect(oldest?.changes.map(({ field }) => field)).toEqual([
      'status',
      'orderType',
      'timeInForce',
      'quantity',
      'price',
      'cumQty',
    ]);
  });
});
