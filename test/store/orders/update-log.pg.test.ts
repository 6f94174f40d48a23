import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { PostgresUpdateLog } from '../../../src/store/orders/update-log.ts';
import { batch, storeRig, update } from '../../support/orders/store-rig.ts';

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
  it('is read on from a seq in the order of commit, updates and continuity marks, as they go to Kafka', async () => {
    await using rig = await logRig();
    await rig.store.applyBatch(
      batch(rig.epoch, 1, [], {
        updates: [
          update('a:1', 1, { stream: 'account' }),
          { stream: 'continuity', orderId: 'mark-1', accountId: 'acct-9', revision: 1, payload: '{"mark":1}' },
        ],
      }),
    );
    await rig.store.applyBatch(batch(rig.epoch, 2, [['b', 1]]));
    const rows = await rig.log.readAfter(0, 0n, 10);
    expect(rows.map(({ topic, key, payload }) => [topic, key, payload])).toEqual([
      ['updates', 'account:a:1', '{"order":"a:1/1"}'],
      ['continuity', 'acct-9', '{"mark":1}'],
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
