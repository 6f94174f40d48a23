import type pg from 'pg';
import type { Pool } from 'pg';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { maintainLog } from '../../../src/store/maintenance.ts';
import { PostgresUpdateLog } from '../../../src/store/orders/update-log.ts';
import { droppedInTurns } from '../../support/orders/dropped-in-turns.ts';
import { batch, head, storeRig, update } from '../../support/orders/store-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

async function logRig() {
  const rig = await storeRig();
  return Object.assign(rig, { log: new PostgresUpdateLog(rig.deps) });
}

/**
 * The plans of the statements that `work` runs on a log of its own, as the server explains them.
 */
async function queriesPlanned(
  rig: Awaited<ReturnType<typeof storeRig>>,
  work: (log: PostgresUpdateLog) => Promise<void>,
) {
  const plans: string[] = [];
  const explaining = {
    query: async (text: string, values: unknown[]) => {
      const { rows } = await rig.pool.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values);
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
      return rig.pool.query(text, values);
    },
  };
  await work(new PostgresUpdateLog({ ...rig.deps, pool: explaining as unknown as pg.Pool }));
  return plans;
}

describe('the log', () => {
  it('is read on from a seq in the order of commit, updates and watermarks, as they go to Kafka', async () => {
    await using rig = await logRig();
    await rig.store.applyBatch(
      batch(rig.epoch, 1, [], {
        updates: [
          update('a:1', 1, { stream: 'account' }),
          { stream: 'watermarks', orderId: 'mark-1', accountId: 'acct-9', revision: 1, payload: '{"mark":1}' },
        ],
      }),
    );
    await rig.store.applyBatch(batch(rig.epoch, 2, [['b', 1]]));
    const rows = await rig.log.readAfter(0, 0n, 10);
    expect(rows.map(({ topic, key, payload }) => [topic, key, payload])).toEqual([
      ['updates', 'account:a:1', '{"order":"a:1/1"}'],
      ['watermarks', 'acct-9', '{"mark":1}'],
      ['updates', 'prediction:b', '{"order":"b/1"}'],
    ]);
    expect(await rig.log.readAfter(0, rows[0]?.seq ?? 0n, 1)).toEqual([rows[1]]);
    expect(await rig.log.readAfter(0, rows[2]?.seq ?? 0n, 10)).toEqual([]);
    expect(await rig.log.readAfter(1, 0n, 10)).toEqual([]);
  });

  it('shows the newest row of each order among those looked at, and how far it looked', async () => {
    await using rig = await logRig();
    await rig.store.applyBatch(
      batch(rig.epoch, 1, [
        ['a', 1],
        ['b', 1],
        ['c', 1],
      ]),
    );
    await rig.store.applyBatch(
      batch(rig.epoch, 2, [
        ['a', 2],
        ['b', 2],
      ]),
    );
    const all = await rig.log.readAfter(0, 0n, 10);
    const seq = (place: number) => all[place]?.seq ?? 0n;
    const whole = await rig.log.readNewestAfter(0, 0n, 100, 1e6);
    expect(whole.rows.map((row) => row.payload).sort()).toEqual([
      '{"order":"a/2"}',
      '{"order":"b/2"}',
      '{"order":"c/1"}',
    ]);
    expect(whole.lastSeq).toBe(seq(4));
    // The newest that there is, also behind the rows that are looked at.
    const part = await rig.log.readNewestAfter(0, seq(0), 2, 1e6);
    expect(part.rows.map((row) => [row.seq, row.payload]).sort()).toEqual([
      [seq(2), '{"order":"c/1"}'],
      [seq(4), '{"order":"b/2"}'],
    ]);
    expect([part.lastSeq, part.endSeq]).toEqual([seq(2), seq(4)]);
    expect(await rig.log.readNewestAfter(0, seq(4), 100, 1e6)).toEqual({
      rows: [],
      lastSeq: seq(4),
      endSeq: seq(4),
    });
  });

  it('leaves an order whose newest row another lane has to that lane, and takes the rows of builds that named none', async () => {
    await using rig = await logRig();
    await rig.store.applyBatch(
      batch(rig.epoch, 1, [
        ['a', 1],
        ['b', 1],
        ['c', 1],
      ]),
    );
    await rig.rows("update orders set lane = 1, seq = 1000 where order_id = 'a'");
    await rig.rows(`update orders set lane = 1, seq = null, state = '"kept"' where order_id = 'b'`);
    await rig.rows("delete from orders where order_id = 'c'");
    const { rows, lastSeq, endSeq } = await rig.log.readNewestAfter(0, 0n, 100, 1e6);
    expect(rows.map((row) => row.payload).sort()).toEqual(['{"order":"b/1"}', '{"order":"c/1"}']);
    expect([lastSeq, endSeq]).toEqual([3n, 3n]);
  });

  it('looks at fewer rows when what it would give is large, at least at one order', async () => {
    await using rig = await logRig();
    await rig.store.applyBatch(
      batch(rig.epoch, 1, [
        ['a', 1],
        ['b', 1],
      ]),
    );
    await rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]));
    await rig.store.applyBatch(batch(rig.epoch, 3, [['c', 1]]));
    const rows = await rig.log.readAfter(0, 0n, 10);
    const place = (seq: bigint) => rows.findIndex((row) => row.seq === seq);
    const bytes = rows[0]?.payload.length ?? 0;
    const read = async (after: bigint, maxBytes: number) => {
      const found = await rig.log.readNewestAfter(0, after, 100, maxBytes);
      return [found.rows.map(({ seq }) => place(seq)).sort(), place(found.lastSeq)];
    };
    expect(await read(0n, 1)).toEqual([[2], 0]);
    expect(await read(rows[0]?.seq ?? 0n, 1)).toEqual([[1], 1]);
    expect(await read(0n, bytes + 1)).toEqual([[1, 2], 2]);
    expect(await read(0n, 2 * bytes + 1)).toEqual([[1, 2, 3], 3]);
  });

  it('never shows a row while one before it may still commit', async () => {
    await using rig = await logRig();
    await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]));
    const rival = await rig.rival();
    await rival.query('begin');
    await rival.query("update orders set symbol = 'HELD' where order_id = 'a'");
    const held = rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]));
    const behind = rig.store.applyBatch(batch(rig.epoch, 3, [['b', 1]]));
    await rig.laneBlocked();
    expect(await rig.log.readAfter(0, 0n, 10)).toHaveLength(1);
    await rival.query('commit');
    expect([(await held).kind, (await behind).kind]).toEqual(['committed', 'committed']);
    expect((await rig.log.readAfter(0, 0n, 10)).map((row) => row.payload)).toEqual([
      '{"order":"a/1"}',
      '{"order":"a/2"}',
      '{"order":"b/1"}',
    ]);
  });

  it('is read by its index alone, a part of a large backlog that nobody analysed, and not in the partitions before it', async () => {
    await using rig = await logRig();
    const rival = await rig.rival();
    await rival.query('alter table order_updates_5000001 set (autovacuum_enabled = off)');
    await rival.query("select setval('order_updates_seq', 5000001)");
    await rival.query(`insert into order_updates (lane, batch, stream, order_id, account_id, revision, payload)
      select 0, 1, 'prediction', 'order-' || n % 100, 'acct-1', n, repeat('x', 500) from generate_series(1, 20000) n`);
    const plans = await queriesPlanned(rig, async (log) => {
      await log.readAfter(0, 5_000_100n, 100);
      await log.readNewestAfter(0, 5_000_100n, 1_000, 1e6);
      await log.pendingAfter(0, 5_000_100n);
    });
    expect(plans).toHaveLength(3);
    for (const plan of plans) {
      expect(plan).toContain('Index Scan using order_updates_5000001_pkey');
      expect(plan).not.toMatch(/Seq Scan|Bitmap|Sort Key: [^(]*seq/);
    }
    expect(plans[0]).not.toContain('order_updates_1_pkey');
  });

  it('says how many rows are pending and since when', async () => {
    await using rig = await logRig();
    expect(await rig.log.pendingAfter(0, 0n)).toEqual({ rows: 0, oldestMs: undefined });
    await rig.store.applyBatch(
      batch(rig.epoch, 1, [
        ['a', 1],
        ['b', 1],
      ]),
    );
    await rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]));
    const [oldest] = await rig.rows<{ ms: string }>(
      'select floor(extract(epoch from min(recorded_at)) * 1000) as ms from order_updates',
    );
    expect(await rig.log.pendingAfter(0, 0n)).toEqual({ rows: 3, oldestMs: Number(oldest?.ms) });
    const [first] = await rig.log.readAfter(0, 0n, 1);
    expect((await rig.log.pendingAfter(0, first?.seq ?? 0n)).rows).toBe(2);
    const many = Array.from({ length: 1_500 }, (_, i) => update(`order-${i}`, 1));
    await rig.store.applyBatch(batch(rig.epoch, 3, [], { updates: many }));
    expect((await rig.log.pendingAfter(0, 0n)).rows).toBe(1_503);
  });
});

describe('a position', () => {
  it('is 0 at first, and never moves back', async () => {
    await using rig = await logRig();
    expect(await rig.log.loadPosition(0, 'log')).toBe(0n);
    await rig.pool.query("insert into relay_positions (lane, cursor, seq) values (0, 'log', 9007199254740993)");
    expect(await rig.log.savePosition(0, rig.epoch, 'log', 5n)).toBe(true);
    expect(await rig.log.loadPosition(0, 'log')).toBe(9_007_199_254_740_993n);
    expect(await rig.log.loadPosition(0, 'state')).toBe(0n);
  });

  it('is not saved under an epoch that is no longer ours', async () => {
    await using rig = await logRig();
    await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]));
    const hold = await rig.lanes.reclaim(0, rig.epoch);
    expect(await rig.log.savePosition(0, rig.epoch, 'state', 1n)).toBe(false);
    expect(await rig.log.loadPosition(0, 'state')).toBe(0n);
    expect(await rig.log.savePosition(0, hold?.epoch ?? 0n, 'state', 1n)).toBe(true);
  });
});

describe('issue: The database grew without end, because a lane that was used once kept the whole log.', () => {
  /**
   * Two partitions of five million rows that the log has left behind, both cursors of lane 0 past
   * them, and a lane 1 that was held once.
   */
  async function logOfTwoLanes() {
    const rig = await storeRig();
    const log = new PostgresUpdateLog(rig.deps);
    expect((await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]))).kind).toBe('committed');
    const tried = await rig.lanes.acquire(1, 'tried once', 6_000);
    await rig.pool.query("select setval('order_updates_seq', 12000000)");
    for (const cursor of ['log', 'state'] as const) await log.savePosition(0, rig.epoch, cursor, 1n);
    const epoch = tried.kind === 'held' ? tried.epoch : 0n;
    return Object.assign(rig, {
      maintain: () => maintainLog(rig.pool, { partitionRows: 1_000, retentionMs: 0 }),
      log,
      tried: epoch,
    });
  }

  it('a lane that was tried once, and has nothing left to publish, does not keep the log', async () => {
    await using rig = await logOfTwoLanes();
    expect(await droppedInTurns(rig.maintain, 2)).toEqual(['order_updates_1', 'order_updates_5000001']);
  });

  it('a lane that left something unpublished keeps it', async () => {
    await using rig = await logOfTwoLanes();
    await rig.pool.query('update order_updates set lane = 1');
    expect((await rig.maintain()).dropped).toEqual([]);
    await rig.log.savePosition(1, rig.tried, 'log', 1n);
    expect((await rig.maintain()).dropped, 'the state topic lacks it still').toEqual([]);
    await rig.log.savePosition(1, rig.tried, 'state', 1n);
    expect(await droppedInTurns(rig.maintain, 2)).toHaveLength(2);
  });

  it('what is written and not yet committed is waited for, and kept', async () => {
    await using rig = await logOfTwoLanes();
    const writer = await rig.rival();
    await writer.query('begin');
    await writer.query(
      "insert into order_updates (seq, lane, batch, stream, order_id, account_id, revision, payload) values (7, 1, 1, 'account', 'late', 'A', 1, '{}')",
    );
    expect((await rig.maintain()).dropped).toEqual([]);
    await writer.query('commit');
    await eventually(async () => {
      expect((await rig.maintain()).dropped).toEqual([]);
      expect(await rig.rows('select seq from order_updates where lane = 1')).toEqual([{ seq: '7' }]);
    });
  });
});

describe('issue: A lane that came back read all rows of the other lanes before it could publish its own.', () => {
  interface PlanNode {
    readonly 'Relation Name'?: string;
    readonly 'Actual Rows': number;
    readonly 'Actual Loops': number;
    readonly 'Rows Removed by Filter'?: number;
    readonly 'Rows Removed by Join Filter'?: number;
    readonly 'Shared Hit Blocks': number;
    readonly 'Shared Read Blocks': number;
    readonly Plans?: readonly PlanNode[];
  }

  /** Rows of the log that a plan read. */
  function logRowsOf(node: PlanNode): number {
    const below = (node.Plans ?? []).reduce((sum, each) => sum + logRowsOf(each), 0);
    if (!/^order_updates/.test(node['Relation Name'] ?? '')) return below;
    return below + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
  }

  const others = 30_000;

  /**
   * A row of lane 0, then many of lane 1, then another row of lane
   * 0; in partitions that were never analysed.
   */
  async function lanesOfOneLog() {
    const rig = await storeRig();
    await rig.pool.query('alter table order_updates_1 set (autovacuum_enabled = false)');
    await rig.lanes.acquire(1, 'other', 6_000);
    await rig.store.applyBatch(batch(rig.epoch, 1, [['mine', 1]]));
    await rig.pool.query(
      `insert into order_updates (lane, batch, stream, order_id, account_id, revision, payload)
     select 1, n, 'prediction', 'o-' || n, 'a', 1, rpad('', 500, 'x') from generate_series(1, ${others}) n`,
    );
    await rig.store.applyBatch(batch(rig.epoch, 2, [['mine', 2]]));
    const read: { rows: number; blocks: number }[] = [];
    const explaining = {
      query: async (text: string, values: unknown[]) => {
        const { rows } = await rig.pool.query(`explain (analyze, buffers, format json) ${text}`, values);
        const plan: PlanNode = rows[0]['QUERY PLAN'][0].Plan;
        read.push({ rows: logRowsOf(plan), blocks: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'] });
        return rig.pool.query(text, values);
      },
    } as unknown as Pool;
    const log = new PostgresUpdateLog({ pool: explaining, clock: systemClock, random: systemRandom });
    return Object.assign(rig, { log, read });
  }

  describe('a lane that was away while another one wrote', () => {
    it('reads its own rows, and none of the other lane', async () => {
      await using rig = await lanesOfOneLog();
      const rows = await rig.log.readAfter(0, 1n, 1_000);
      expect(rows.map(({ payload }) => payload)).toEqual(['{"order":"mine/2"}']);
      expect((await rig.log.readNewestAfter(0, 1n, 1_000, 1e6)).rows).toHaveLength(1);
      expect(await rig.log.pendingAfter(0, 1n)).toMatchObject({ rows: 1 });
      expect(rig.read).toHaveLength(3);
      for (const { rows, blocks } of rig.read) {
        expect(rows).toBeLessThan(10);
        // Entries of an index that are passed over are no rows: 30,000 of
        // the other lane are more than 100 blocks.
        expect(blocks).toBeLessThan(50);
      }
    });
  });

  // Two contents of one revision were committed: each partition has a unique index of its own, and
  // nothing compared the revision before.
  it('an account that two lanes follow by mistake is refused to the second, also in another partition', async () => {
    await using rig = await storeRig();
    const other = await rig.lanes.acquire(1, 'second', 6_000);
    const put = async (lane: number, epoch: bigint, number: number, revision: number, payload: string) => {
      const heads = [head('X', revision, { state: JSON.stringify({ payload }) })];
      return rig.store.applyBatch(
        batch(epoch, number, [], { lane, heads, updates: [update('X', revision, { payload })] }),
      );
    };
    expect((await put(0, rig.epoch, 1, 1, 'r1 of lane 0')).kind).toBe('committed');
    expect((await put(0, rig.epoch, 2, 2, 'r2 of lane 0')).kind).toBe('committed');
    await rig.pool.query("select setval('order_updates_seq', 5000001)");
    expect(await put(1, other.epoch, 1, 2, 'r2 of lane 1')).toEqual({ kind: 'retry', code: 'TM003' });
    expect(await put(1, other.epoch, 1, 1, 'r1 of lane 1'), 'as if it were new').toEqual({
      kind: 'retry',
      code: 'TM003',
    });
    const several = { lane: 1, heads: [head('X', 3, { reducedFrom: 1 })], updates: [update('X', 2), update('X', 3)] };
    expect(await rig.store.applyBatch(batch(other.epoch, 1, [], several)), 'higher, from an old one').toEqual({
      kind: 'retry',
      code: 'TM003',
    });
    expect((await put(1, other.epoch, 1, 3, 'r3 of lane 1')).kind, 'once it has read what is stored').toBe('committed');
    expect(await rig.rows("select payload from order_updates where order_id = 'X' order by revision")).toEqual([
      { payload: 'r1 of lane 0' },
      { payload: 'r2 of lane 0' },
      { payload: 'r3 of lane 1' },
    ]);
  });

  // Each round waited 250 ms for a lock that a backup keeps until its end,
  // and every batch queued behind that wait.
  it('a partition that is due waits for a backup to end, and no batch waits for the partition', async () => {
    await using rig = await storeRig();
    const log = new PostgresUpdateLog(rig.deps);
    await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]));
    await rig.pool.query("select setval('order_updates_seq', 12000000)");
    for (const cursor of ['log', 'state'] as const) await log.savePosition(0, rig.epoch, cursor, 1n);
    const backup = await rig.rival();
    await backup.query('begin');
    await backup.query('select count(*) from order_updates');
    const waits = `select count(*)::int as waits from pg_locks where relation = 'order_updates'::regclass and not granted`;
    const maintaining = maintainLog(rig.pool, { partitionRows: 1_000, retentionMs: 0 });
    let waited = 0;
    let over = false;
    void maintaining.finally(() => {
      over = true;
    });
    while (!over) waited += (await rig.rows<{ waits: number }>(waits))[0]?.waits ?? 0;
    expect((await maintaining).dropped).toEqual([]);
    expect(waited).toBe(0);
    await backup.query('rollback');
    expect(await droppedInTurns(() => maintainLog(rig.pool, { partitionRows: 1_000, retentionMs: 0 }), 2)).toHaveLength(
      2,
    );
  });
});
