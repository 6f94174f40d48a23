// What a user saw: The answer to a wrong body named one fault at a time, so the caller needed many tries.

import { expect, it } from 'vitest';
import { parsePlaceAccount, parsePlacePrediction, parseReplace } from '../../../src/contract/command-bodies.ts';

type Parsed =
  | ReturnType<typeof parsePlaceAccount>
  | ReturnType<typeof parsePlacePrediction>
  | ReturnType<typeof parseReplace>;
const pathsOf = (parsed: Parsed) => (parsed.ok ? [] : parsed.faults.map(({ path }) => path).sort());

it.each([
  ['equity', parsePlaceAccount, {}, ['accountId', 'qty', 'side', 'symbol', 'timeInForce', 'type']],
  [
    'ticket for a stop limit order that nobody filled in',
    parsePlaceAccount,
    { side: 'BUY', type: 'STOP_LIMIT', timeInForce: 'DAY' },
    ['accountId', 'price', 'qty', 'stopPrice', 'symbol'],
  ],
  [
    'option ticket of another side than its leg',
    parsePlaceAccount,
    {
      side: 'SELL',
      type: 'LIMIT',
      timeInForce: 'DAY',
      legs: [{ symbol: '', side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' }],
    },
    ['accountId', 'legs[0].symbol', 'price', 'qty', 'side', 'symbol'],
  ],
  [
    'prediction',
    parsePlacePrediction,
    { outcome: 'YES', side: 'buy', orderType: 'stop_limit', timeInForce: 'gtd' },
    ['accountId', 'expireTime', 'price', 'quantity', 'stopPx', 'symbol'],
  ],
  ['replace', parseReplace, {}, ['', 'accountId']],
] as const)('an empty %s gets all its faults in one answer', (_name, parse, body, faults) => {
  expect(pathsOf(parse(body))).toEqual(faults);
});

it('a rule between fields says nothing of a value that is no word of its field', () => {
  for (const body of [
    null,
    [],
    'x',
    { type: 7 },
    { type: 'EVIL', price: '1', stopPrice: '1', legs: 'x' },
    { side: 'EVIL', legs: [7, null] },
  ]) {
    const parsed = parsePlaceAccount(body);
    expect(parsed.ok).toBe(false);
    expect(JSON.stringify(parsed)).not.toContain('EVIL');
  }
});
