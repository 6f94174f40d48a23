import { expect, it } from 'vitest';
import { brokenClaims, sidesTable } from '../../../src/demo/lost-answer/sides.ts';

const sides = [
  { who: 'the SDK', told: 'placed', words: 'pending_new', sent: 3, orders: ['new', 'new', 'new'] },
  { who: 'the SDK, by id', told: 'refused', words: 'must be unique', sent: 3, orders: ['new'] },
  { who: 'Tidemark', told: 'unknown, then applied', words: 'found', sent: 1, orders: ['new'] },
];

it('a comparison has a line for each side, and nothing to say against the claims where they hold', () => {
  expect(brokenClaims(sides)).toEqual([]);
  expect(sidesTable(sides).split('\n')).toEqual([
    'ONE ORDER BY    SENT  AT THE VENUE    TOLD',
    'the SDK         3     3 orders (new)  placed: pending_new',
    'the SDK, by id  3     1 order (new)   refused: must be unique',
    'Tidemark        1     1 order (new)   unknown, then applied: found',
    '',
  ]);
});

it('each claim that does not hold is said: another word, a second request, a second order, none', () => {
  const [first, second, third] = sides.map((side) => ({ ...side }));
  expect(
    brokenClaims([
      { ...first, orders: [] } as (typeof sides)[number],
      { ...second, orders: ['canceled'] } as (typeof sides)[number],
      { ...third, told: 'unknown', sent: 2, orders: ['new', 'new'] } as (typeof sides)[number],
    ]),
  ).toEqual([
    'the SDK: at the venue no order, claimed was 3 orders (new)',
    'the SDK, by id: at the venue 1 order (canceled), claimed was 1 order (new)',
    'Tidemark: told unknown, claimed was unknown, then applied',
    'Tidemark: sent 2, claimed was 1',
    'Tidemark: at the venue 2 orders (new), claimed was 1 order (new)',
  ]);
});
