// What a user saw: During a database outage the log got a line with a stack trace every two seconds.

import type { Pool } from 'pg';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { LaneKeeper } from '../../../src/service/fleet/lane-keeper.ts';
import { Housekeeping } from '../../../src/service/run/housekeeping.ts';
import { noDatabaseFaults } from '../../simulation/database-rows.ts';
import { MemoryDatabase } from '../../simulation/world/memory-database.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

function world() {
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line: string) => lines.push((JSON.parse(line) as { msg: string }).msg) });
  return { lines, log, clock: new VirtualClock(), metrics: createMetrics() };
}

// Found by reading: a database that was away for an hour wrote a line with a stack every two
// seconds from the keeper, and five a minute from the housekeeping.
it('says once that the lane cannot be asked for, and once that it can', async () => {
  const { lines, log, clock, metrics } = world();
  const database = new MemoryDatabase(clock, seededRandom(1));
  const work = { begin: async () => undefined, end: async () => undefined };
  const keeper = new LaneKeeper(
    { store: database, lease: new Lease(clock, 3000), work, clock, metrics: metrics.ingest, log },
    { holder: 'a', renewEveryMs: 2000, expireAfterMs: 6000, acquireEveryMs: 1000 },
  );
  await keeper.start();
  await clock.advance(100);
  lines.length = 0;
  database.faults = { ...noDatabaseFaults, unreachable: 1 };
  await clock.advance(3_600_000);
  database.faults = noDatabaseFaults;
  await clock.advance(10_000);
  expect(lines).toEqual(['the lane could not be asked for; trying again', 'the lane can be asked for again']);
});

it('says once that housekeeping fails', async () => {
  const { lines, log, clock, metrics } = world();
  const pool = { waitingCount: 0, query: () => Promise.reject(new Error('the database is away')) } as unknown as Pool;
  const housekeeping = new Housekeeping(
    { pool, clock, metrics, log },
    { partitionRows: 1000, retentionMs: 1000, maintainEveryMs: 60_000, countEveryMs: 15_000 },
  );
  await housekeeping.start();
  await clock.advance(3_600_000);
  await housekeeping.drain();
  expect(lines.sort()).toEqual([
    'counting orders failed; it is tried again',
    'keeping the outbox of commands failed; it is tried again',
    'keeping the partitions of the log failed; it is tried again',
    'keeping the quarantine failed; it is tried again',
    'measuring the database failed; it is tried again',
  ]);
});
