import { describe, expect, it } from 'vitest';
import { crashPoints } from '../simulation/plan/crash-points.ts';
import { runSeed } from '../simulation/run-seed.ts';

const seeds = 25;
const times = [1, 2, 3, 5];

describe('a process that ends in the middle of a command', () => {
  it.each(crashPoints)('keeps every promise when it ends at %s', async (point) => {
    const failed: string[] = [];
    let happened = 0;
    for (const time of times) {
      for (let seed = 1; seed <= seeds; seed += 1) {
        const result = await runSeed(seed, { wishes: { crash: { point, time } } });
        if (result.crashedAtPoint) happened += 1;
        if (result.failures.length > 0)
          failed.push(`seed ${seed}, time ${time}: ${result.failures.slice(0, 3).join(' | ')}`);
      }
    }
    expect(failed).toEqual([]);
    expect(happened).toBeGreaterThan(2);
  });
});
