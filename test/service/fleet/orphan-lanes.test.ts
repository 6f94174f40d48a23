import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { OrphanLanes } from '../../../src/service/fleet/orphan-lanes.ts';
import type { Fleet, LaneMember } from '../../../src/store/fleet/shard-store.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const member = (lane: number, more: Partial<LaneMember> = {}): LaneMember => {
  const introduction = {
    holder: `process-${lane}`,
    weight: 1,
    address: undefined,
    version: '1',
    draining: false,
    drained: false,
  };
  return { lane, ...introduction, livedMs: 60_000, ...more };
};
const trouble = { unwell: { trouble: 'relay_stuck', unhealthy: false } } as const;

/** Lane 2 has no process, and one shard; this process is on lane 0. */
function rig() {
  const metrics = createMetrics().ingest;
  const state = { changes: 0, given: [] as unknown[], begun: 0 };
  const lanes = new OrphanLanes({
    lease: { lane: 0 },
    finish: async (_lane, ...signals) => {
      state.begun += 1;
      await new Promise((_, reject) => {
        for (const signal of signals) signal.addEventListener('abort', () => reject(signal.reason));
      }).catch((reason: unknown) => {
        state.given.push(reason);
        throw reason;
      });
    },
    changeLane: () => {
      state.changes += 1;
    },
    metrics,
    clock: new VirtualClock(),
    log: silentLog,
  });
  const over = new AbortController();
  const look = (members: readonly LaneMember[], own: { holds?: boolean; isTroubled?: boolean } = {}) => {
    const assignments = [{ shard: 0, lane: 2, pinned: false, epoch: 1n, sinceMs: 0 }];
    const fleet: Fleet = { members, assignments, orphans: [{ lane: 2, idleMs: 7_000 }] };
    lanes.review(fleet, { holds: true, isTroubled: false, ...own }, over.signal);
    return new Promise((resolve) => setImmediate(resolve));
  };
  return { state, look, over };
}

describe('lanes without a process', () => {
  it('are left to a process that is well by one in trouble, also one that it has begun', async () => {
    const { state, look } = rig();
    await look([member(0), member(1)]);
    expect([state.begun, state.given]).toEqual([1, []]);
    await look([member(0, trouble), member(1)], { isTroubled: true });
    expect(state.given).toEqual([new Error('this process is in trouble, and another one is well')]);
    await look([member(0, trouble), member(1)], { isTroubled: true });
    expect(state.begun).toBe(1);
  });

  it('are finished in trouble too where no other process is well, or only one that shall have no shards', async () => {
    const { state, look } = rig();
    await look([member(0), member(1, trouble), member(3, { weight: 0 })], { isTroubled: true });
    expect(state.begun).toBe(1);
    await look([member(0, trouble), member(1, trouble)], { isTroubled: true });
    expect(state.given).toEqual([]);
  });

  it('are not taken whole by a process in trouble that holds nothing', async () => {
    const { state, look } = rig();
    await look([member(0, trouble), member(1)], { holds: false, isTroubled: true });
    expect(state).toMatchObject({ changes: 0, begun: 0 });
    await look([member(0), member(1)], { holds: false });
    expect(state).toMatchObject({ changes: 1, begun: 0 });
  });

  it('are taken whole by one of those that hold nothing, and finished by the next one', async () => {
    const { state, look } = rig();
    await look([member(0), member(1)], { holds: false });
    expect(state).toMatchObject({ changes: 1, begun: 0 });
    const other = rig();
    await other.look([member(-1), member(0)], { holds: false });
    expect(other.state).toMatchObject({ changes: 0, begun: 1 });
  });

  it('are given up when the lane of this process is over', async () => {
    const { state, look, over } = rig();
    await look([member(0), member(1)]);
    over.abort(new Error('over'));
    await look([member(0), member(1)]);
    expect(state.given).toEqual([new Error('over')]);
  });
});
