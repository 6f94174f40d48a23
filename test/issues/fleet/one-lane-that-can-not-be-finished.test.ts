// What a user saw: The accounts of dead processes stayed without service behind one lane that always failed.

import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { OrphanLanes } from '../../../src/service/fleet/orphan-lanes.ts';
import type { Fleet, LaneMember } from '../../../src/store/fleet/shard-store.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const introduction = { holder: 'p9', weight: 1, address: undefined, version: '1', draining: false, drained: false };
const member: LaneMember = { lane: 9, livedMs: 60_000, ...introduction };

/**
 * Looks at these lanes without a process for `forMs`, and gives the times in seconds at which each
 * was tried. Those of `stuck` take 20 s, and fail.
 */
async function triesOf(all: readonly number[], stuck: ReadonlySet<number>, forMs: number) {
  const clock = new VirtualClock();
  const tries = new Map<number, number[]>(all.map((lane) => [lane, []]));
  const left = new Set(all);
  const lanes = new OrphanLanes({
    lease: { lane: 9 },
    finish: async (lane) => {
      tries.get(lane)?.push(clock.monotonicMs() / 1000);
      await clock.sleep(stuck.has(lane) ? 20_000 : 300);
      if (stuck.has(lane)) throw new Error('a row that Kafka refuses');
      left.delete(lane);
    },
    changeLane: () => {},
    metrics: createMetrics().ingest,
    clock,
    log: silentLog,
  });
  const { signal } = new AbortController();
  for (let t = 0; t < forMs; t += 500) {
    const assignments = [...left].map((lane) => ({ shard: lane, lane, pinned: false, epoch: 1n, sinceMs: 0 }));
    const fleet: Fleet = {
      members: [member],
      assignments,
      orphans: [...left].map((lane) => ({ lane, idleMs: 7_000 })),
    };
    lanes.review(fleet, { holds: true, isTroubled: false }, signal);
    await clock.advance(500);
  }
  return { tries, left: [...left] };
}

// Lane 0 alone was tried for as long as it could not be finished.
it('one lane that can not be finished delays none of those behind it', async () => {
  const { tries, left } = await triesOf([0, 1, 2, 3, 4], new Set([0]), 300_000);
  expect(left).toEqual([0]);
  for (const lane of [1, 2, 3, 4]) expect(tries.get(lane)?.at(-1)).toBeLessThan(3);
  // It is tried again and again itself: a try of 20 s, and a rest of 2 s.
  expect(tries.get(0)?.length).toBeGreaterThan(12);
});

it('as many stuck lanes as are tried at once leave the others their turn', async () => {
  const { tries, left } = await triesOf([0, 1, 2, 3, 4, 5], new Set([0, 1, 2, 3]), 120_000);
  expect(left).toEqual([0, 1, 2, 3]);
  // Behind one round of tries.
  for (const lane of [4, 5]) expect(tries.get(lane)?.at(-1)).toBeLessThan(25);
  for (const lane of [0, 1, 2, 3]) expect(tries.get(lane)?.length).toBeGreaterThan(2);
});
