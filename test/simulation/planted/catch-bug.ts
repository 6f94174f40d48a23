import { runSeed } from '../run-seed.ts';
import type { PlantedBug } from './planted-bug.ts';

interface Catch {
  readonly seed: number;
  readonly failure: string;
}

/**
 * The first seed from `from` on that shows the bug for what it is, and how;
 * undefined when none of `most` seeds does.
 */
export async function catchBug(bug: PlantedBug, most: number, from = 1): Promise<Catch | undefined> {
  for (let seed = from; seed < from + most; seed += 1) {
    const { failures } = await runSeed(seed, {
      bug,
      ...(bug.seeds && { wishes: { [bug.seeds]: true, ...(bug.moves && { moving: true }) } }),
    });
    const failure = failures.find((what) => bug.shows.test(what));
    if (failure !== undefined) return { seed, failure };
  }
  return undefined;
}
