import { runSeed } from '../run-seed.ts';
import type { PlantedBug } from './planted-bug.ts';
import { forgetCalls, plantedCalls } from './replaced.ts';

interface Catch {
  readonly seed: number;
  readonly failure: string;
}

/**
 * The first seed from `from` on that shows the bug for what it is, and how;
 * undefined when none of `most` seeds does. Rejects where no planted method was ever called: such
 * a bug plants nothing, whatever a seed shows.
 */
export async function catchBug(bug: PlantedBug, most: number, from = 1): Promise<Catch | undefined> {
  forgetCalls();
  for (let seed = from; seed < from + most; seed += 1) {
    const { failures } = await runSeed(seed, {
      bug,
      wishes: {
        ...(bug.seeds && { [bug.seeds]: true }),
        ...(bug.moves && { moving: true }),
        ...(bug.venue && { venue: bug.venue }),
      },
    });
    const failure = failures.find((what) => bug.shows.test(what));
    if (failure === undefined) continue;
    mustBeCalled(bug);
    return { seed, failure };
  }
  mustBeCalled(bug);
  return undefined;
}

function mustBeCalled({ name }: PlantedBug): void {
  const { called, never } = plantedCalls();
  if (called.length === 0 && never.length > 0)
    throw new Error(`"${name}" plants nothing: ${never.join(', ')} is never called`);
}
