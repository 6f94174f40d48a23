import { expect, it } from 'vitest';
import { runUnderFaults } from '../../support/commands/commands-under-faults.ts';

// Each of these has three faults that meet a statement.
it.each([2, 3])(
  'every answer is true after faults of the database in the middle of statements, seed %i',
  async (seed) => {
    const { database, said } = await runUnderFaults(seed, 5);
    expect(database.struck).toBeGreaterThan(0);
    expect(said.some(({ result }) => result.kind === 'journaled')).toBe(true);
  },
  180_000,
);
