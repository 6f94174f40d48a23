import type { Pool } from 'pg';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { LaneKeeper } from '../../../src/service/fleet/lane-keeper.ts';
import { Housekeeping } from '../../../src/service/run/housekeeping.ts';
import { noDatabaseFaults } from '../../simulation/database-rows.ts';
import { MemoryDatabase } from '../../simulation/world/memory-database.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

it('says once for each time who keeps the oldest partition of the log by an old snapshot', async () => {
  const clock = new VirtualClock();
  const said: (readonly string[])[] = [];
  const write = (line: string) => {
    const { keptBy } = JSON.parse(line) as { readonly keptBy?: string[] };
    if (keptBy !== undefined) said.push(keptBy);
  };
  let by: string[] = [];
  const query = async (text: string) => {
    if (text.includes('log_kept_by')) return { rows: [{ result: by }] };
    return { rows: text.includes('ensure_log_partitions') ? [{ made: [] }] : [], rowCount: 0 };
  };
  const housekeeping = new Housekeeping(
    { clock, log: pino({ base: null }, { write }), pool: { query } as unknown as Pool, metrics: createMetrics() },
    { partitionRows: 1_000, retentionMs: 1_000, maintainEveryMs: 60_000, countEveryMs: 60_000 },
  );
  await housekeeping.start();
  onTestFinished(() => housekeeping.drain());
  await clock.advance(120_000);
  for (const holders of [['session 7 (report)'], [], ['replication slot old']]) {
    by = holders;
    await clock.advance(180_000);
  }
  expect(said).toEqual([['session 7 (report)'], ['replication slot old']]);
});

describe('issue: During a database outage the log got a line with a stack trace every two seconds.', () => {
  function world() {
    const lines: string[] = [];
    const log = pino(
      { base: null },
      { write: (line: string) => lines.push((JSON.parse(line) as { msg: string }).msg) },
    );
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
      'counting the dead letters failed; it is tried again',
      'keeping the dead letters bounded failed; it is tried again',
      'keeping the events of halts failed; it is tried again',
      'keeping the partitions of the log failed; it is tried again',
      'measuring the database failed; it is tried again',
    ]);
  });
});

describe('issue: A transaction was left open, and the log got no partition until nothing was stored.', () => {
  it('a move of states that finds no end leaves time for the partitions', async () => {
    const clock = new VirtualClock();
    const asked: string[] = [];
    const query = async (text: string) => {
      asked.push(/ensure_log_partitions|move_order_states/.exec(text)?.[0] ?? '');
      if (text.includes('ensure_log_partitions')) return { rows: [{ made: [] }] };
      // The row of one order is locked: each step looks at it again.
      return text.includes('move_order_states') ? { rows: [{ result: 1 }] } : { rows: [], rowCount: 0 };
    };
    const housekeeping = new Housekeeping(
      { clock, log: silentLog, pool: { query } as unknown as Pool, metrics: createMetrics() },
      { partitionRows: 1_000, retentionMs: 1_000, maintainEveryMs: 60_000, countEveryMs: 60_000 },
    );
    await housekeeping.start();
    onTestFinished(() => housekeeping.drain());
    await clock.advance(300_000);
    const rounds = asked.filter((name) => name === 'ensure_log_partitions').length;
    expect(rounds).toBeGreaterThanOrEqual(2);
    expect(asked.filter((name) => name === 'move_order_states').length).toBeGreaterThan(100);
  });
});
