import { expect, it } from 'vitest';
import { dropOldest } from '../../src/runtime/drop-oldest.ts';

it.each([
  [3, ['a', 'b', 'c']],
  [2, ['b', 'c']],
  [0, []],
])('of three, %s are kept: those that were put in last', (most, kept) => {
  const map = new Map(['a', 'b', 'c'].map((key) => [key, 1]));
  map.set('a', 2);
  dropOldest(map, most);
  expect([...map.keys()]).toEqual(kept);
});
