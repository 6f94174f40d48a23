import { describe, expect, it } from 'vitest';
import { type CrashPoint, crashPoints, type PlannedCrash } from '../simulation/plan/crash-points.ts';
import { runSeed } from '../simulation/run-seed.ts';

const seeds = 25;
const times = [1, 2, 3, 5];

const crashed = (seed: number, crash: PlannedCrash) => runSeed(seed, { wishes: { crash } });

/**
 * How often a run reaches each point without the crash. What reaches a point less often than its
 * crash asks for is this run again.
 */
const reachedBy = new Map<number, ReadonlyMap<CrashPoint, number>>();
async function reaches(seed: number, { point, time }: PlannedCrash): Promise<boolean> {
  let reached = reachedBy.get(seed);
  if (reached === undefined) {
    const whole = await crashed(seed, { point, time: Number.POSITIVE_INFINITY });
    expect(whole.failures, `seed ${seed}`).toEqual([]);
    reached = whole.reached;
    reachedBy.set(seed, reached);
  }
  return (reached.get(point) ?? 0) >= time;
}

describe('a process that ends in the middle of a command', () => {
  it.each(crashPoints)('keeps every promise when it ends at %s', async (point) => {
    const failed: string[] = [];
    let happened = 0;
    for (const time of times) {
      for (let seed = 1; seed <= seeds; seed += 1) {
        if (!(await reaches(seed, { point, time }))) continue;
        const result = await crashed(seed, { point, time });
        if (result.crashedAtPoint) happened += 1;
        if (result.failures.length > 0)
          failed.push(`seed ${seed}, time ${time}: ${result.failures.slice(0, 3).join(' | ')}`);
      }
    }
    expect(failed).toEqual([]);
    expect(happened).toBeGreaterThan(2);
  });
});
