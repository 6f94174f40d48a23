import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { maintainDeadLetters, maintainLog } from '../../src/store/maintenance.ts';
import { migrate } from '../../src/store/migrate.ts';
import { PostgresUpdateLog } from '../../src/store/orders/update-log.ts';
import { createPool } from '../../src/store/session/pool.ts';
import { droppedInTurns } from '../support/orders/dropped-in-turns.ts';
import { batch, deadLetter, storeRig } from '../support/orders/store-rig.ts';
import { testLog } from '../support/runs/test-log.ts';
import { emptyDatabase } from '../support/servers/database.ts';

const hour = 3_600_000;
const options = { partitionRows: 10, retentionMs: hour };

/** A log whose partitions hold ten rows, from the first one on. */
async function smallLog() {
  const rig = await storeRig();
  await rig.pool.query('drop table order_updates_1, order_updates_5000001, order_updates_10000001');
  const log = new PostgresUpdateLog(rig.deps);
  let number = 0;
  return Object.assign(rig, {
    log,
    partitions: () =>
      rig.rows<{ name: string; from: number; until: number }>(
        'select name, from_seq::int as from, until_seq::int as until from log_partitions()',
      ),
    /** Batches of five updates. */
    async fill(batches: number): Promise<void> {
      for (let i = 0; i < batches; i += 1) {
        number += 1;
        const orders = Array.from({ length: 5 }, (_, k): [string, number] => [`order-${k}`, number]);
        expect((await rig.store.applyBatch(batch(rig.epoch, number, orders))).kind).toBe('committed');
        await maintainLog(rig.pool, options);
      }
    },
    async acknowledge(seq: bigint): Promise<void> {
      await log.savePosition(0, rig.epoch, 'log', seq);
      await log.savePosition(0, rig.epoch, 'state', seq);
    },
    age: () => rig.pool.query("update order_updates set recorded_at = now() - interval '2 hours'"),
  });
}

describe("the log's partitions", () => {
  it('are two ahead after the migration, and each further one is made before it is needed', async () => {
    await using rig = await smallLog();
    expect(await maintainLog(rig.pool, options)).toMatchObject({
      made: ['order_updates_1', 'order_updates_11', 'order_updates_21'],
    });
    expect(await maintainLog(rig.pool, options)).toEqual({ made: [], dropped: [] });
    await rig.fill(6);
    expect(await rig.partitions()).toEqual(
      [1, 11, 21, 31, 41].map((from) => ({ name: `order_updates_${from}`, from, until: from + 10 })),
    );
    expect(
      await rig.rows('select distinct tableoid::regclass::text as name from order_updates order by 1'),
    ).toHaveLength(3);
  });

  it('have one index, which is the key', async () => {
    await using rig = await smallLog();
    await maintainLog(rig.pool, options);
    await rig.fill(1);
    expect(
      await rig.rows(
        "select distinct substring(indexdef from '\\(.*') as key from pg_indexes where tablename like 'order_updates_%'",
      ),
    ).toEqual([{ key: '(lane, seq)' }]);
  });

  it('are made once when several processes make them at the same moment, while batches go on', async () => {
    await using rig = await smallLog();
    await maintainLog(rig.pool, options);
    const answers = await Promise.all([
      rig.fill(8),
      ...Array.from({ length: 4 }, () => maintainLog(rig.pool, options)),
    ]);
    expect(answers).toHaveLength(5);
    const found = await rig.partitions();
    expect(found.slice(1).every((part, i) => part.from === found[i]?.until)).toBe(true);
  });

  it('are dropped once their newest row is old and every cursor has passed them', async () => {
    await using rig = await smallLog();
    await maintainLog(rig.pool, options);
    await rig.fill(5);
    await rig.age();
    await rig.acknowledge(19n);
    expect(await droppedInTurns(() => maintainLog(rig.pool, options), 1)).toEqual(['order_updates_1']);
    await rig.acknowledge(24n);
    expect(await droppedInTurns(() => maintainLog(rig.pool, options), 1)).toEqual(['order_updates_11']);
    expect((await rig.log.readAfter(0, 0n, 100)).map((row) => row.seq)).toEqual([21n, 22n, 23n, 24n, 25n]);
  });

  it('stay while one cursor of one lane has not passed them', async () => {
    await using rig = await smallLog();
    await maintainLog(rig.pool, options);
    await rig.fill(5);
    await rig.age();
    await rig.log.savePosition(0, rig.epoch, 'log', 25n);
    expect((await maintainLog(rig.pool, options)).dropped).toEqual([]);
    await rig.log.savePosition(0, rig.epoch, 'state', 25n);
    const other = await rig.lanes.acquire(1, 'another lane', 6_000);
    await rig.pool.query('update order_updates set lane = 1 where seq = 3');
    expect((await maintainLog(rig.pool, options)).dropped).toEqual([]);
    const epoch = other.kind === 'held' ? other.epoch : 0n;
    await rig.log.savePosition(1, epoch, 'log', 3n);
    await rig.log.savePosition(1, epoch, 'state', 3n);
    expect(await droppedInTurns(() => maintainLog(rig.pool, options), 2)).toEqual([
      'order_updates_1',
      'order_updates_11',
    ]);
  });

  it('stay while their newest row is younger than the retention', async () => {
    await using rig = await smallLog();
    await maintainLog(rig.pool, options);
    await rig.fill(5);
    await rig.acknowledge(25n);
    await rig.pool.query("update order_updates set recorded_at = now() - interval '2 hours' where seq <> 10");
    expect((await maintainLog(rig.pool, options)).dropped).toEqual([]);
  });

  it('stay for the next time while somebody reads the log', async () => {
    await using rig = await smallLog();
    await maintainLog(rig.pool, options);
    await rig.fill(5);
    await rig.age();
    await rig.acknowledge(25n);
    const reader = await rig.rival();
    await reader.query('begin');
    await reader.query('select count(*) from order_updates');
    expect((await maintainLog(rig.pool, options)).dropped).toEqual([]);
    await reader.query('commit');
    expect(await droppedInTurns(() => maintainLog(rig.pool, options), 2)).toEqual([
      'order_updates_1',
      'order_updates_11',
    ]);
  });

  it('have the size that the migration was told', async () => {
    await using database = await emptyDatabase();
    await migrate({ url: database.url, log: testLog, clock: systemClock, partitionRows: 7 });
    const pool = createPool({ log: testLog }, { url: database.url, applicationName: 'test', maxConnections: 1 });
    const { rows } = await pool.query('select from_seq::int as from, until_seq::int as until from log_partitions()');
    await pool.end();
    expect(rows).toEqual([
      { from: 1, until: 8 },
      { from: 8, until: 15 },
      { from: 15, until: 22 },
    ]);
  });
});

describe('the dead letters', () => {
  it('forgets what was dealt with and is older than the retention, nothing else', async () => {
    await using rig = await storeRig();
    const rows = ['old', 'dealt with just now', 'open'].map((reason) => deadLetter({ reason }));
    await rig.store.applyBatch(batch(rig.epoch, 1, [], { deadLetters: rows }));
    await rig.pool.query("update dead_letters set recorded_at = now() - interval '2 hours'");
    await rig.pool.query("update dead_letters set dealt_at = now() - interval '2 hours' where reason = 'old'");
    await rig.pool.query("update dead_letters set dealt_at = now() where reason = 'dealt with just now'");
    expect(await maintainDeadLetters(rig.pool, { ...options, maxUndealt: 1 })).toBe(0);
    expect(await rig.rows('select reason from dead_letters order by 1')).toEqual([
      { reason: 'dealt with just now' },
      { reason: 'open' },
    ]);
  });
});
