import type { PlantedBug } from './planted-bug.ts';
import { runSeed } from './run-seed.ts';

export interface Catch {
  readonly seed: number;
  readonly failure: string;
}

/** The first seed from `from` on that shows the bug, and how; undefined when `most` seeds pass in spite of it. */
export async function catchBug(bug: PlantedBug, most: number, from = 1): Promise<Catch | undefined> {
  for (let seed = from; seed < from + most; seed += 1) {
    const { failures } = await runSeed(seed, { bug });
    const [failure] = failures;
    if (failure !== undefined) return { seed, failure };
  }
  return undefined;
}
