import { expect } from 'vitest';
import { eventually } from '../runs/poll.ts';

/**
 * The partitions that the next turns of maintenance drop, up to `count` of them. The server's own
 * vacuum may hold one for a moment: that one goes with a later turn.
 */
export async function droppedInTurns(
  maintain: () => Promise<{ readonly dropped: readonly string[] }>,
  count: number,
): Promise<readonly string[]> {
  const dropped: string[] = [];
  return eventually(async () => {
    dropped.push(...(await maintain()).dropped);
    expect(dropped.length).toBeGreaterThanOrEqual(count);
    return dropped;
  });
}
