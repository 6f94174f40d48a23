import type { CommandWishes } from '../plan/command-plan.ts';
import { type RunResult, runSeed } from '../run-seed.ts';

/** Runs these seeds, and tells what a person needs to see each failure again. */
export async function failuresOf(seeds: Iterable<number>, wishes: CommandWishes = {}): Promise<string[]> {
  const failed: string[] = [];
  for (const seed of seeds) {
    const result = await runSeed(seed, { wishes });
    if (result.failures.length > 0) failed.push(told(result, wishes));
  }
  return failed;
}

export function range(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => from + i);
}

function told({ seed, failures }: RunResult, { crash, ...kinds }: CommandWishes): string {
  const more = [
    ...Object.entries(kinds).flatMap(([kind, wished]) => (wished === true ? [`--${kind}`] : [])),
    ...(crash === undefined ? [] : [`--crash ${crash.point}:${crash.time}`]),
  ];
  return [`npm run simulate -- --seed ${seed} --trace`, ...more]
    .join(' ')
    .concat(`\n  ${failures.slice(0, 5).join('\n  ')}`);
}
