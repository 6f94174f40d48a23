// What a user saw: The console did not find an order when its symbol was typed in another spelling.

import { describe, expect, it } from 'vitest';
import { filterOf, viewOf } from '../../../src/console/state/orders/blotter-view.ts';
import { rowOfUpdate } from '../../../src/console/state/orders/order-row.ts';
import type { Instrument } from '../../../types/records.d.ts';
import { updateOf } from '../../support/rest/console-rig.ts';

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
