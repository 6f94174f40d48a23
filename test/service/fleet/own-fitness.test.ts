import { describe, expect, it } from 'vitest';
import { fitnessRules } from '../../../src/domain/judge-fitness.ts';
import { emptyReport } from '../../../src/domain/member-report.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { sumOfSeries as sumOf } from '../../../src/observability/read-metric.ts';
import { OwnFitness } from '../../../src/service/fleet/own-fitness.ts';
import type { LaneMember } from '../../../src/store/fleet/shard-store.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const other: LaneMember = {
  ...{
    lane: 1,
    holder: 'other',
    address: undefined,
    weight: 1,
    livedMs: 60_000,
    version: '1',
    draining: false,
    drained: false,
  },
  report: { follows: true, unfollowed: 0, unusableLogins: 0, works: ['kafka', 'sockets'] },
};

function rig() {
  const clock = new VirtualClock();
  const metrics = createMetrics();
  const lossCheck: { failingForMs: number | undefined } = { failingForMs: undefined };
  const state = { streams: [{ connected: true, accounts: 1 }], isLate: false, lossCheck };
  const loop = {
    get isLate() {
      return state.isLate;
    },
  };
  const fitness = new OwnFitness(
    { sources: { connections: () => state.streams }, loop, lossCheck, metrics, clock, log: silentLog },
    fitnessRules,
  );
  /** As it is shown after this time, looked at every half second. */
  const shownAfter = async (seconds: number, others: readonly LaneMember[] = [other]) => {
    let shown = await fitness.review(others);
    for (let look = 0; look < seconds * 2; look += 1) {
      await clock.advance(500);
      shown = await fitness.review(others);
    }
    return shown;
  };
  return { clock, metrics, state, shownAfter };
}

describe('the fitness of this process', () => {
  it('is troubled while none of the sockets with accounts is open, and unhealthy after 20 s', async () => {
    const { state, shownAfter, metrics } = rig();
    state.streams = [
      { connected: false, accounts: 1 },
      { connected: true, accounts: 0 },
    ];
    expect(await shownAfter(1)).toEqual({ trouble: 'sockets_down', unhealthy: false });
    expect(await shownAfter(20)).toEqual({ trouble: 'sockets_down', unhealthy: true });
    expect(await sumOf(metrics.ingest.unhealthy)).toBe(1);
    state.streams = [];
    expect(await shownAfter(50)).toEqual({ trouble: 'sockets_down', unhealthy: true });
    expect(await shownAfter(11)).toBeUndefined();
    expect(await sumOf(metrics.ingest.unhealthy)).toBe(0);
  });

  it('is well while one of its sockets is open, and while it has no account', async () => {
    const { state, shownAfter } = rig();
    state.streams.push({ connected: false, accounts: 1 });
    expect(await shownAfter(30)).toBeUndefined();
    state.streams = [{ connected: false, accounts: 0 }];
    expect(await shownAfter(30)).toBeUndefined();
  });

  it('is troubled while a row waits for Kafka for more than 3 s, while Kafka could not be asked, and while the event loop is late', async () => {
    const { clock, state, metrics, shownAfter } = rig();
    metrics.relay.oldestPending.set({ topic: 'updates' }, clock.nowMs() / 1000);
    expect(await shownAfter(2)).toBeUndefined();
    expect(await shownAfter(2)).toEqual({ trouble: 'relay_stuck', unhealthy: false });
    metrics.relay.oldestPending.set({ topic: 'updates' }, 0);
    expect(await shownAfter(1)).toBeUndefined();
    state.lossCheck.failingForMs = 0;
    expect(await shownAfter(1)).toEqual({ trouble: 'relay_stuck', unhealthy: false });
    state.lossCheck.failingForMs = undefined;
    state.isLate = true;
    expect(await shownAfter(1)).toEqual({ trouble: 'loop_late', unhealthy: false });
  });

  it.each([-3_600_000, -10_000])('sees that rows wait although its clock is set by %i ms', async (byMs) => {
    const { clock, metrics, shownAfter } = rig();
    metrics.relay.oldestPending.set({ topic: 'updates' }, clock.nowMs() / 1000);
    clock.stepWall(byMs);
    expect(await shownAfter(2)).toBeUndefined();
    expect(await shownAfter(2)).toEqual({ trouble: 'relay_stuck', unhealthy: false });
    expect(await shownAfter(20)).toEqual({ trouble: 'relay_stuck', unhealthy: true });
    metrics.relay.oldestPending.set({ topic: 'updates' }, 0);
    expect(await shownAfter(61)).toBeUndefined();
  });

  it('is well behind a clock that is behind while rows come and are acknowledged', async () => {
    const { clock, metrics, shownAfter } = rig();
    clock.stepWall(-60_000);
    for (let second = 0; second < 30; second += 1) {
      metrics.relay.oldestPending.set({ topic: 'updates' }, clock.nowMs() / 1000 + 60);
      metrics.relay.records.inc({ topic: 'updates', result: 'acknowledged' });
      expect(await shownAfter(1)).toBeUndefined();
    }
  });

  it.each([
    ['there is no other process', []],
    ['the others take no shards', [{ ...other, weight: 0 }]],
    ['the others have nothing to do, and so no socket that could be down', [{ ...other, report: emptyReport }]],
    ['the others have a trouble too', [{ ...other, unwell: { trouble: 'sockets_down', unhealthy: false } as const }]],
  ])('is not unhealthy where %s', async (_, others) => {
    const { state, shownAfter } = rig();
    state.streams = [{ connected: false, accounts: 1 }];
    expect(await shownAfter(120, others)).toEqual({ trouble: 'sockets_down', unhealthy: false });
  });
});
