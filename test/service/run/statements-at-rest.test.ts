import type { Pool } from 'pg';
import { expect, it, vi } from 'vitest';
import { fitnessRules } from '../../../src/domain/judge-fitness.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { shardKeeperDefaults } from '../../../src/service/fleet/shard-keeper.ts';
import { relayDefaults } from '../../../src/service/log/relay-options.ts';
import { Housekeeping } from '../../../src/service/run/housekeeping.ts';
import { housekeepingTimes } from '../../../src/service/run/watch-parts.ts';
import { streamTimingDefaults } from '../../../src/service/sources/stream-timings.ts';
import { CommandWorld } from '../../support/commands/command-world.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

const minutes = 10;

/** A process with its default times that follows accounts in which nothing happens. */
async function askedByLane(): Promise<number> {
  const world = await CommandWorld.start({ auditMs: streamTimingDefaults.auditMs });
  const { settings, database } = world.simulated;
  Object.assign(settings.relay, relayDefaults);
  Object.assign(settings.shards, shardKeeperDefaults);
  Object.assign(settings.timings, streamTimingDefaults);
  Object.assign(settings.fitness, fitnessRules);
  await world.restart();
  await world.pass(30_000);
  const lane = ['acquire', 'renew', 'reclaim', 'applyBatch', 'readHeads', 'readBindings', 'readUnproven'] as const;
  const log = ['readAfter', 'readNewestAfter', 'loadPosition', 'savePosition', 'pendingAfter', 'backlog'] as const;
  const accounts = ['load', 'save', 'openOrders'] as const;
  const shards = ['look', 'introduce', 'resume', 'take', 'free', 'freeAll'] as const;
  const calls = [
    ...[...lane, ...log, ...accounts].map((name) => vi.spyOn(database, name)),
    ...shards.map((name) => vi.spyOn(database.shards, name)),
  ];
  await world.pass(minutes * 60_000);
  return calls.reduce((sum, { mock }) => sum + mock.calls.length, 0);
}

/** The same process's housekeeping, where it finds nothing to do. */
async function askedByHousekeeping(): Promise<number> {
  const clock = new VirtualClock();
  const query = vi.fn(async () => ({ rows: [], rowCount: 0 }));
  const housekeeping = new Housekeeping(
    { clock, log: silentLog, pool: { query, waitingCount: 0 } as unknown as Pool, metrics: createMetrics() },
    { ...housekeepingTimes, partitionRows: 1_000, retentionMs: 1_000 },
  );
  await housekeeping.start();
  await clock.advance(30_000);
  query.mockClear();
  await clock.advance(minutes * 60_000);
  await housekeeping.drain();
  return query.mock.calls.length;
}

it('asks the database three times a second at most, where nothing happens', async () => {
  const [lane, housekeeping] = [await askedByLane(), await askedByHousekeeping()];
  expect(Math.min(lane / 1_500, housekeeping / 100), 'the parts were at work').toBeGreaterThan(1);
  expect(lane + housekeeping).toBeLessThanOrEqual(3 * minutes * 60);
});
