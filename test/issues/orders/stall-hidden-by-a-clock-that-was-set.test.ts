// What a user saw: Readiness said that all was well while nothing was stored, since a clock was set back.

import { expect, it } from 'vitest';
import { ingestCheck } from '../../../src/service/run/add-health-checks.ts';
import { equityView } from '../../support/orders/arbitrary-orders.ts';
import { ingestRig } from '../../support/orders/ingest-rig.ts';
import { observe } from '../../support/orders/observe.ts';

const hourMs = 3_600_000;

async function stalled() {
  const rig = await ingestRig(11);
  rig.ingest.begin(rig.hold);
  rig.database.faults = { ...rig.database.faults, retry: 1 };
  const offer = () => {
    const at = { observedAtMs: rig.clock.nowMs(), receivedMs: rig.clock.monotonicMs() };
    rig.offer(observe(equityView, at));
  };
  return { ...rig, offer, isOk: () => ingestCheck(rig).ok };
}

it.each([hourMs, -hourMs])('a clock that is set by %i ms neither makes a stall nor hides one', async (byMs) => {
  const { offer, clock, ingest, isOk, database } = await stalled();
  offer();
  await clock.advance(2_000);
  clock.stepWall(byMs);
  expect(isOk(), 'what has waited for 2 s').toBe(true);
  await clock.advance(5_000);
  clock.stepWall(-2 * byMs);
  expect(isOk(), 'what has waited for 7 s').toBe(true);
  await clock.advance(5_000);
  expect(isOk(), 'what has waited for 12 s').toBe(false);
  expect(clock.nowMs() - (ingest.oldestUncommittedMs ?? 0)).toBeCloseTo(12_000, -3);
  database.faults = { ...database.faults, retry: 0 };
  await clock.advance(5_000);
  expect([isOk(), ingest.oldestUncommittedMs]).toEqual([true, undefined]);
});

it('a mark that speaks of a time long ago has not waited since then', async () => {
  const { offer, ingest, clock, isOk } = await stalled();
  const markId = '7d9f0a52-4c1e-4a53-9d0e-000000000001';
  const atMs = clock.nowMs() - 120_000;
  ingest.offer({ kind: 'continuity', markId, stream: 'account', accountIds: ['acct-1'], event: 'heartbeat', atMs });
  await clock.advance(2_000);
  expect(isOk()).toBe(true);
  offer();
  await clock.advance(12_000);
  expect(isOk()).toBe(false);
});
