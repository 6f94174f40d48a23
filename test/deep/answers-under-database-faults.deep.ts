import { expect, it } from 'vitest';
import { runUnderFaults } from '../support/commands/commands-under-faults.ts';

const seeds = Array.from({ length: 40 }, (_, i) => 100 + i);

it('every answer is true after faults of the database in the middle of statements, forty seeds', async () => {
  const struck = [];
  for (const seed of seeds) struck.push((await runUnderFaults(seed, 10)).database.struck);
  // Faults wait for a statement that not every round has.
  expect(struck.filter((n) => n > 0).length).toBeGreaterThan(seeds.length / 2);
}, 1_800_000);
