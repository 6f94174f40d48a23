// What a user saw: A list of REST by BRK/B did not show the orders of BRK.B, nor an option by its contract.

import { expect, it } from 'vitest';
import type { Leg } from '../../../src/domain/order.ts';
import { namesInstrument } from '../../../src/domain/symbol.ts';
import { rowsRead } from '../../store/rows-read.ts';
import { all, only, readRig } from '../../support/orders/read-rig.ts';

const contract = 'AAPL261218C00200000';
const leg = (symbol: string): Leg => ({ symbol, side: 'buy', ratioQty: '1', positionEffect: 'open' }) as Leg;

const instruments = [
  { symbol: 'BRK.B' },
  { symbol: 'BRK/B' },
  { symbol: 'BRK.A' },
  { symbol: 'AAPL' },
  { symbol: 'AAPL', legs: [leg(contract)] },
  { symbol: 'AAPL', legs: [leg('AAPL261218C00210000'), leg('AAPL  261218C00200000')] },
  { symbol: contract },
];

const searched = ['BRK/B', 'brk.b', 'BRK B', 'BRKB', contract, `O:${contract}`, 'aapl  261218c00200000', 'AAPL', '---'];

it.each(['orderId', '-updatedAt'] as const)(
  'the list by %s finds what the rule of the console names',
  async (sort) => {
    await using rig = await readRig();
    await rig.store(
      ...instruments.map(({ symbol, legs }, at) => ({
        ...{ orderId: `o-${at}`, stream: 'account' as const, accountId: 'A', symbol },
        ...(legs !== undefined && { legs }),
      })),
    );
    for (const symbol of searched) {
      const wanted = instruments.flatMap((each, at) => (namesInstrument(symbol, each) ? [`account:o-${at}`] : []));
      for (const scope of [all, only('A')])
        expect((await rig.ids(scope, { symbol }, 50, sort)).toSorted(), symbol).toEqual(wanted);
    }
    expect((await rig.ids(all, { symbol: 'BRK/B' }, 50, sort)).toSorted()).toEqual(['account:o-0', 'account:o-1']);
    expect((await rig.ids(all, { symbol: contract }, 50, sort)).toSorted()).toEqual(
      [4, 5, 6].map((at) => `account:o-${at}`),
    );
    // The keys of a page come from an index (a scan of the table throws), and each row is read
    // for its own key and for the state alone.
    for (const asked of rig.queries.filter(({ text }) => text.includes('symbol_letters')))
      expect(await rowsRead(rig.readPool, asked)).toBeLessThanOrEqual(3 * instruments.length);
  },
  60_000,
);
