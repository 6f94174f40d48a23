import { describe, expect, it } from 'vitest';
import { BudgetedMap, ByteBudget, entryBytes } from '../../src/runtime/byte-budget.ts';

describe('a map in a byte budget', () => {
  const fullWithTwo = () => {
    const budget = new ByteBudget({ maxBytes: 2 * entryBytes('a') });
    return { budget, map: new BudgetedMap<number>(budget.share({ signal: new AbortController().signal })) };
  };

  it('keeps no entry without room, and still changes one that it has', () => {
    const { map } = fullWithTwo();
    expect(['a', 'b', 'c', 'a'].map((name, at) => map.keep(name, at))).toEqual([true, true, false, true]);
    expect([...map]).toEqual([
      ['a', 3],
      ['b', 1],
    ]);
  });

  it('gives the room of an entry back with it, once', () => {
    const { budget, map } = fullWithTwo();
    map.keep('a', 1);
    map.keep('b', 2);
    expect([map.delete('a'), map.delete('a')]).toEqual([true, false]);
    expect(budget.usedBytes).toBe(entryBytes('b'));
    map.clear();
    expect([budget.usedBytes, map.size]).toEqual([0, 0]);
  });
});
