import { describe, expect, it } from 'vitest';
import { formatUpdate, type LineWidth, parseUpdate } from '../../../src/cli/io/tail-records.ts';
import { sampleUpdate } from '../../support/orders/sample-update.ts';

const lineOf = (payload: string, width: LineWidth = 'whole') => {
  const update = parseUpdate(payload);
  return update === undefined ? undefined : formatUpdate(update, width);
};

it('is one line: when, whose, which, what it is now, and last what was filled', () => {
  expect(lineOf(sampleUpdate())).toBe(
    '14:30:01.250  ACC-1  account:ord-1  r1   partially_filled  buy  40/100 AAPL  ~40 at 191.25',
  );
});

it('has the terms where nothing was filled, and leaves out what is not there', () => {
  const nothing = { status: 'new', cumQty: '0', leavesQty: '100' } as const;
  const market = { ...nothing, orderType: 'market', working: { quantity: '100' } } as const;
  expect(lineOf(sampleUpdate(nothing))).toBe(
    '14:30:01.250  ACC-1  account:ord-1  r1   new               buy  0/100 AAPL  limit 191.5',
  );
  expect(lineOf(sampleUpdate(market))).toBe(
    '14:30:01.250  ACC-1  account:ord-1  r1   new               buy  0/100 AAPL  market',
  );
});

it('marks a fill that the platform reported with a plus', () => {
  const update = { ...JSON.parse(sampleUpdate()), fill: { quantity: '40', price: '191.25', inferred: false } };
  expect(lineOf(JSON.stringify(update))).toMatch(/ {2}\+40 at 191\.25$/);
});

it('shows which outcome a prediction order is on', () => {
  const instrument = { kind: 'prediction', symbol: 'FED-CUT', outcome: 'YES' } as const;
  expect(lineOf(sampleUpdate({ instrument }))).toContain('buy  40/100 FED-CUT/YES  ');
});

it('does not let a text from elsewhere command the terminal', () => {
  expect(lineOf(sampleUpdate({ accountId: '\u001b[2Jgone\u009b' }))).toContain('  ?[2Jgone?  ');
});

it('is painted by word, padding included, and keeps its columns', () => {
  const update = parseUpdate(sampleUpdate());
  const painted = update && formatUpdate(update, 'short', (word) => `<${word}>`);
  expect(painted).toBe('14:30:01 ACC-1    ord-1 r1  <partially_filled> <buy > 40/100 AAPL ~40 at 191.25');
});

describe('a short line', () => {
  const orderId = '301c73d7-a906-427d-af06-725ff8476cec';

  it('has the end of each id, and seconds', () => {
    expect(lineOf(sampleUpdate({ orderId, accountId: 'SIM-1001' }), 'short')).toBe(
      '14:30:01 SIM-1001 f8476cec r1  partially_filled buy  40/100 AAPL ~40 at 191.25',
    );
    expect(lineOf(sampleUpdate({ orderId, accountId: orderId }), 'short')).toContain(' f8476cec f8476cec r1 ');
  });

  it.each([
    { symbol: 'AAPL261218C00200000', working: { quantity: '100', price: '12.35' }, side: 'sell' },
    {
      symbol: 'CPI-ABOVE-3-NOV26',
      outcome: 'YES',
      working: { quantity: '1700', price: '0.46' },
      orderType: 'stop_limit',
    },
  ])('fits 100 columns with the long instrument $symbol', ({ symbol, outcome, ...terms }) => {
    const instrument = { kind: 'prediction', symbol, ...(outcome && { outcome }) } as const;
    const update = JSON.parse(sampleUpdate({ orderId, accountId: orderId, instrument, cumQty: '1000', revision: 12 }));
    for (const fill of [undefined, { quantity: '100', price: '12.35', inferred: true }]) {
      const line = lineOf(JSON.stringify({ ...update, fill, order: { ...update.order, ...terms } }), 'short');
      expect(line?.length).toBeLessThanOrEqual(100);
      expect(line).not.toContain('…');
    }
  });

  it('is cut at 100 columns where even that is too little', () => {
    const fill = { quantity: '23', price: '249.712608695652', inferred: true };
    const update = { ...JSON.parse(sampleUpdate({ orderId, accountId: 'SIM-1001', side: 'sell_short' })), fill };
    update.order.instrument.symbol = 'AAPL261218C00200000';
    const line = lineOf(JSON.stringify(update), 'short');
    expect(line).toHaveLength(100);
    expect(line).toMatch(/ ~23 at 249\.\d+…$/);
  });
});
