import { expect, it } from 'vitest';
import { formatUpdate, parseUpdate } from '../../../src/cli/tail/tail-records.ts';
import { sampleUpdate } from '../../support/sample-update.ts';

const lineOf = (payload: string) => {
  const update = parseUpdate(payload);
  return update === undefined ? undefined : formatUpdate(update);
};

it('is one line: when, whose, which, what it is now, and what was filled', () => {
  expect(lineOf(sampleUpdate())).toBe(
    '14:30:01.250  ACC-1  account:ord-1  r1    partially_filled  40 of 100 buy AAPL limit at 191.5, +40 at 191.25 (inferred)',
  );
});

it('leaves out what is not there', () => {
  const market = { status: 'new', cumQty: '0', leavesQty: '100', orderType: 'market', working: { quantity: '100' } } as const;
  expect(lineOf(sampleUpdate(market))).toBe(
    '14:30:01.250  ACC-1  account:ord-1  r1    new               0 of 100 buy AAPL market',
  );
});

it('shows which outcome a prediction order is on', () => {
  const instrument = { kind: 'prediction', symbol: 'FED-CUT', outcome: 'YES' } as const;
  expect(lineOf(sampleUpdate({ instrument }))).toContain('buy FED-CUT/YES limit');
});

it('does not let a text from elsewhere command the terminal', () => {
  expect(lineOf(sampleUpdate({ accountId: '\u001b[2Jgone\u009b' }))).toContain('  ?[2Jgone?  ');
});
