import type { CommandWishes } from '../plan/command-plan.ts';
import { type RunResult, runSeed } from '../run-seed.ts';

/** Runs these seeds, and tells what a person needs to see each failure again. */
export async function failuresOf(seeds: Iterable<number>, wishes: CommandWishes = {}): Promise<string[]> {
  return failuresIn(await runSeeds(seeds, wishes), wishes);
}

/** One after the other, in the order given. */
export async function runSeeds(seeds: Iterable<number>, wishes: CommandWishes = {}): Promise<RunResult[]> {
  const results: RunResult[] = [];
  for (const seed of seeds) results.push(await runSeed(seed, { wishes }));
  return results;
}

/** Of runs with these wishes. */
export function failuresIn(results: readonly RunResult[], wishes: CommandWishes = {}): string[] {
  return results.filter(({ failures }) => failures.length > 0).map((result) => told(result, wishes));
}

export function range(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => from + i);
}

function told({ seed, failures }: RunResult, { crash, ...kinds }: CommandWishes): string {
  const more = [
    ...Object.entries(kinds).flatMap(([kind, wished]) =>
      wished === true ? [`--${kind}`] : typeof wished === 'string' ? [`--${kind} ${wished}`] : [],
    ),
    ...(crash === undefined ? [] : [`--crash ${crash.point}:${crash.time}`]),
  ];
  return [`npm run simulate -- --seed ${seed} --trace`, ...more]
    .join(' ')
    .concat(`\n  ${failures.slice(0, 5).join('\n  ')}`);
}
