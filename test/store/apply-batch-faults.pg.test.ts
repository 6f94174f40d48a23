import { describe, expect, it } from 'vitest';
import { batch, storeRig } from '../support/orders/store-rig.ts';
import { eventually } from '../support/runs/poll.ts';

const state = `select (select count(*)::int from order_updates) as updates, lane_batch(0)::int as batch`;

/**
 * A rival session in a transaction that holds the row of order `a`, so that a
 * batch with `a` waits inside its transaction.
 */
async function holdingOrderA(rig: Awaited<ReturnType<typeof storeRig>>) {
  await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]));
  const rival = await rig.rival();
  await rival.query('begin');
  await rival.query("update orders set symbol = 'HELD' where order_id = 'a'");
  return rival;
}

describe('a batch that the server rolled back is known to be, and passes when tried again', () => {
  it('after it waited too long for a row', async () => {
    await using rig = await storeRig();
    const rival = await holdingOrderA(rig);
    expect(await rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]))).toEqual({ kind: 'retry', code: '55P03' });
    await rival.query('rollback');
    expect((await rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]))).kind).toBe('committed');
  });

  it('after a deadlock', async () => {
    await using rig = await storeRig();
    // Who looks first is the victim: the batch, once, a little before its wait for the lock ends.
    await rig.pool.query(`alter database ${rig.database.name} set deadlock_timeout = '1800ms'`);
    const rival = await holdingOrderA(rig);
    await rival.query("set deadlock_timeout = '1min'");
    const result = rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]));
    await rig.laneBlocked();
    const wanting = rival.query('select from lanes for update');
    expect(await result).toEqual({ kind: 'retry', code: '40P01' });
    await wanting;
    await rival.query('rollback');
    expect((await rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]))).kind).toBe('committed');
  });

  it('after its statement was canceled', async () => {
    await using rig = await storeRig();
    const rival = await holdingOrderA(rig);
    const result = rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]));
    await rival.query('select pg_cancel_backend($1)', [await rig.laneBlocked()]);
    expect(await result).toEqual({ kind: 'retry', code: '57014' });
    await rival.query('rollback');
    expect((await rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]))).kind).toBe('committed');
  });

  it('after a serialization failure', async () => {
    await using rig = await storeRig();
    // Not by the isolation of the database: a session sets its own.
    await rig.pool.query(
      `create function public.conflict() returns trigger language plpgsql as 'begin raise serialization_failure; end'`,
    );
    await rig.pool.query(
      'create trigger conflict before insert on public.order_updates for each row execute function public.conflict()',
    );
    expect(await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]))).toEqual({ kind: 'retry', code: '40001' });
    await rig.pool.query('drop trigger conflict on public.order_updates');
    expect((await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]))).kind).toBe('committed');
  });

  it('when the log has no partition for it, which is made then', async () => {
    await using rig = await storeRig();
    await rig.pool.query("select setval('order_updates_seq', 1000000000)");
    expect(await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]))).toEqual({
      kind: 'retry',
      code: 'NO_PARTITION',
    });
    expect((await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]))).kind).toBe('committed');
  });

  it('when the database could not be reached at all', async () => {
    await using rig = await storeRig({ proxied: true });
    await rig.proxy.refuse();
    expect(await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]))).toEqual({
      kind: 'retry',
      code: 'ECONNREFUSED',
    });
    await rig.proxy.accept();
    expect((await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]))).kind).toBe('committed');
  });

  it('and the one behind it, when its backend had been canceled, is out of order', async () => {
    await using rig = await storeRig();
    const rival = await holdingOrderA(rig);
    const results = Promise.all([
      rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]])),
      rig.store.applyBatch(batch(rig.epoch, 3, [['b', 1]])),
    ]);
    await rival.query('select pg_cancel_backend($1)', [await rig.laneBlocked()]);
    expect(await results).toEqual([{ kind: 'retry', code: '57014' }, { kind: 'out_of_order' }]);
    expect(await rig.rows(state)).toEqual([{ updates: 1, batch: 1 }]);
  });
});

describe('a batch whose answer was lost is unknown, and reclaiming the lane says what became of it', () => {
  it('it did not commit when its backend was terminated in the middle', async () => {
    await using rig = await storeRig();
    const rival = await holdingOrderA(rig);
    const result = rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]));
    await rival.query('select pg_terminate_backend($1)', [await rig.laneBlocked()]);
    expect(await result).toMatchObject({ kind: 'unknown' });
    await rival.query('rollback');
    expect(await rig.lanes.reclaim(0, rig.epoch)).toEqual({ epoch: rig.epoch + 1n, batch: 1n, generation: 1 });
    expect((await rig.store.applyBatch(batch(rig.epoch + 1n, 2, [['a', 2]]))).kind).toBe('committed');
  });

  it('it committed when only the answer was lost', async () => {
    await using rig = await storeRig({ proxied: true });
    await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]));
    rig.proxy.behave({ kind: 'hold' }, 'toClient');
    const result = rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]));
    await eventually(async () => expect(await rig.laneBatch()).toBe(2));
    rig.proxy.cut('reset');
    rig.proxy.behave({ kind: 'pass' });
    expect(await result).toMatchObject({ kind: 'unknown' });
    expect(await rig.lanes.reclaim(0, rig.epoch)).toEqual({ epoch: rig.epoch + 1n, batch: 2n, generation: 1 });
    expect((await rig.store.applyBatch(batch(rig.epoch + 1n, 3, [['a', 3]]))).kind).toBe('committed');
  });

  it('it committed late, in an orphaned backend: a number read without reclaiming would have been wrong', async () => {
    await using rig = await storeRig({ proxied: true });
    const rival = await holdingOrderA(rig);
    const result = rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]));
    await rig.laneBlocked();
    // A reset would drop what the backend has not read yet: without the end of it, no commit.
    rig.proxy.cut('fin');
    expect(await result).toMatchObject({ kind: 'unknown' });
    expect(await rig.laneBatch()).toBe(1);
    const verdict = rig.lanes.reclaim(0, rig.epoch);
    await eventually(async () => {
      const waiting = await rig.rows(
        `select from pg_stat_activity where datname = current_database() and application_name = 'test' and wait_event_type = 'Lock'`,
      );
      expect(waiting).toHaveLength(1);
    });
    await rival.query('commit');
    expect(await verdict).toEqual({ epoch: rig.epoch + 1n, batch: 2n, generation: 1 });
    expect(await rig.rows(state)).toEqual([{ updates: 2, batch: 2 }]);
  });

  it('it never commits when it was still buffered on its way: the reclaimed lane refuses it', async () => {
    await using rig = await storeRig({ proxied: true });
    await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]));
    const [backend] = await rig.rows<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and application_name = 'tidemark-lane'`,
    );
    rig.proxy.behave({ kind: 'hold' }, 'toTarget');
    // The client gives up after its 5 s and closes; what it sent is under way.
    expect(await rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]))).toMatchObject({ kind: 'unknown' });
    expect(await rig.lanes.reclaim(0, rig.epoch)).toEqual({ epoch: rig.epoch + 1n, batch: 1n, generation: 1 });
    rig.proxy.behave({ kind: 'pass' });
    await eventually(async () => {
      expect(await rig.rows('select from pg_stat_activity where pid = $1', [backend?.pid])).toEqual([]);
    });
    expect(await rig.rows(state)).toEqual([{ updates: 1, batch: 1 }]);
    expect((await rig.store.applyBatch(batch(rig.epoch + 1n, 2, [['a', 2]]))).kind).toBe('committed');
  });

  it('both of two batches in flight are unknown, and one number judges them', async () => {
    await using rig = await storeRig({ proxied: true });
    await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]));
    rig.proxy.behave({ kind: 'hold' }, 'toClient');
    const results = Promise.all([
      rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]])),
      rig.store.applyBatch(batch(rig.epoch, 3, [['a', 3]])),
    ]);
    await eventually(async () => expect(await rig.laneBatch()).toBe(3));
    rig.proxy.cut('fin');
    rig.proxy.behave({ kind: 'pass' });
    expect((await results).map((result) => result.kind)).toEqual(['unknown', 'unknown']);
    expect(await rig.lanes.reclaim(0, rig.epoch)).toEqual({ epoch: rig.epoch + 1n, batch: 3n, generation: 1 });
  });

  it('half of it cannot hold the lane: a torn statement is never begun', async () => {
    await using rig = await storeRig({ proxied: true });
    await rig.store.applyBatch(batch(rig.epoch, 1, [['a', 1]]));
    rig.proxy.behave({ kind: 'after', bytes: 300, ending: 'swallow' }, 'toTarget');
    const result = rig.store.applyBatch(batch(rig.epoch, 2, [['a', 2]]));
    expect(await rig.lanes.reclaim(0, rig.epoch)).toEqual({ epoch: rig.epoch + 1n, batch: 1n, generation: 1 });
    expect(await result).toMatchObject({ kind: 'unknown' });
    rig.proxy.behave({ kind: 'pass' });
    expect(await rig.rows(state)).toEqual([{ updates: 1, batch: 1 }]);
  });
});

describe('issue: During a backup the service slowed down from 2,483 to 912 batches a second.', () => {
  // Each batch made a dead version of the lane's row, which the snapshot of a backup kept, and read
  // past all of them: 2,483 batches a second became 912 after 9,000.
  it('a batch beside an open snapshot reads no more versions than the batches before it', async () => {
    await using rig = await storeRig();
    const batches = 300;
    const backup = await rig.rival();
    await backup.query('begin isolation level repeatable read');
    await backup.query('select 1 from lanes');
    for (let number = 1; number <= batches; number += 1)
      expect((await rig.store.applyBatch(batch(rig.epoch, number, []))).kind).toBe('committed');
    // A session adds what it did to the server's counts when it
    // ends, and while it is idle only every 10 s.
    await rig.store.close();
    const read = `select relname::text as table, seq_scan::int, n_tup_upd::int as updated,
    (select sum(idx_tup_read)::int from pg_stat_user_indexes i where i.relid = t.relid) as entries
    from pg_stat_user_tables t where relname in ('lanes', 'lane_batches') order by relname`;
    const [numbers, lanes] = await eventually(async () => {
      const rows = await rig.rows<{ table: string; seq_scan: number; updated: number; entries: number }>(read);
      expect(rows[0]?.updated).toBe(batches - 1);
      return rows;
    });
    expect(numbers?.entries, 'one entry a batch').toBeLessThan(2 * batches);
    expect(numbers?.seq_scan).toBe(0);
    expect(lanes?.updated, 'the row of the lane is locked, not written').toBeLessThan(5);
    expect(await rig.laneBatch()).toBe(batches);
  });
});
