// What a user saw: A report in one transaction showed orders without any state, and no error.

import { describe, expect, it } from 'vitest';
import { maintainLog } from '../../../src/store/maintenance.ts';
import { stateRig } from '../../support/orders/state-rig.ts';
import { eventually } from '../../support/runs/poll.ts';

type Rig = Awaited<ReturnType<typeof stateRig>>;

/** Two orders have their newest update in the first partition, which may go. */
async function dueRig(): Promise<Rig> {
  const rig = await stateRig();
  await rig.write(0, ['a', 'b', 'c'], 2);
  await rig.write(0, ['c'], 8);
  await rig.acknowledge();
  return rig;
}

async function moveAll(rig: Rig): Promise<void> {
  while ((await rig.move(100)) > 0);
}

const maintain = (rig: Rig) => maintainLog(rig.pool, { partitionRows: 10, retentionMs: 0 });
const statesSeen = `select order_id as id, state::text as state, coalesce(kept_state::text, payload) is null as nothing
  from public.current_orders order by 1`;
const shown = (rig: Rig) => [...rig.newest].sort().map(([id, { state }]) => ({ id, state, nothing: false }));

describe('a partition of the log stays while a snapshot is from before its last move:', () => {
  it.each([
    ['of an idle transaction that has read the orders', 'begin isolation level repeatable read'],
    ['of a read-only transaction', 'begin isolation level serializable, read only, deferrable'],
  ])('%s', async (_, begin) => {
    await using rig = await dueRig();
    const reader = await rig.rival();
    await reader.query(begin);
    await reader.query('select count(*) from public.orders');
    await moveAll(rig);
    expect(await rig.drop()).toBeNull();
    const [{ pid } = { pid: 0 }] = (await reader.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
    expect((await maintain(rig)).keptBy).toEqual([expect.stringContaining(`session ${pid} (`)]);
    expect((await reader.query(statesSeen)).rows).toEqual(shown(rig));
    await reader.query('commit');
    expect(await maintain(rig)).toMatchObject({ dropped: ['order_updates_1'], keptBy: undefined });
    await rig.expectStates();
  });

  it('of a statement that has not come to the log yet', async () => {
    await using rig = await dueRig();
    const reader = await rig.rival();
    const gate = await rig.rival();
    await gate.query('select pg_advisory_lock(7)');
    const late = reader.query<{ payload: string | null }>(
      `select h.payload from (select pg_advisory_lock_shared(7) is null as never offset 0) w
       cross join lateral public.heads_of(case when w.never then '{}' else array['prediction:a'] end) h`,
    );
    await eventually(async () =>
      expect(await rig.rows("select 1 from pg_locks where locktype = 'advisory' and not granted")).toHaveLength(1),
    );
    await moveAll(rig);
    expect(await rig.drop()).toBeNull();
    await gate.query('select pg_advisory_unlock(7)');
    expect((await late).rows).toEqual([{ payload: rig.newest.get('a')?.payload }]);
    expect(await rig.drop()).toBe('order_updates_1');
  });

  it('also where a newer update took the order away, and nothing was left to move', async () => {
    await using rig = await dueRig();
    const reader = await rig.rival();
    await reader.query('begin isolation level repeatable read');
    await reader.query('select count(*) from public.orders');
    const before = shown(rig);
    await rig.write(0, ['a', 'b']);
    await rig.acknowledge();
    await moveAll(rig);
    expect(await rig.drop()).toBeNull();
    expect((await reader.query(statesSeen)).rows).toEqual(before);
    await reader.query('rollback');
    expect(await rig.drop()).toBe('order_updates_1');
    await rig.expectStates();
  });

  it('not one from after it, however old its transaction, and not one of another database', async () => {
    await using rig = await dueRig();
    const reader = await rig.rival();
    await reader.query('begin; select count(*) from public.orders');
    await using other = await stateRig();
    const elsewhere = await other.rival();
    await elsewhere.query('begin isolation level repeatable read; select count(*) from public.orders');
    await moveAll(rig);
    const late = await rig.rival();
    // Who writes in another database of this server makes each snapshot look as old as that.
    await eventually(async () => {
      await late.query('rollback; begin isolation level repeatable read; select count(*) from public.orders');
      expect(await rig.drop()).toBe('order_updates_1');
    });
    expect((await late.query(statesSeen)).rows).toEqual(shown(rig));
  });

  it('though the owner of the tables may not look into the sessions of others', async () => {
    await using rig = await dueRig();
    expect(
      await rig.rows(`select r.rolsuper as all, pg_has_role(r.oid, 'pg_read_all_stats', 'member') as stats
        from pg_proc p join pg_roles r on r.oid = p.proowner where p.oid = 'public.drop_log_partition'::regproc`),
    ).toEqual([{ all: false, stats: false }]);
  });
});

describe('a snapshot that never ends', () => {
  it('keeps a partition for a day, and then its reader gets an error in place of nothing', async () => {
    await using rig = await dueRig();
    const reader = await rig.rival();
    await reader.query('begin isolation level repeatable read');
    await reader.query('select count(*) from public.orders');
    await moveAll(rig);
    await rig.rows("update moved_states set moved_at = now() - interval '25 hours'");
    expect(await rig.drop()).toBe('order_updates_1');
    const read = reader.query(statesSeen);
    await expect(read).rejects.toMatchObject({ code: '40001', message: expect.stringContaining('prediction:a') });
    await reader.query('rollback');
    expect((await reader.query(statesSeen)).rows).toEqual(shown(rig));
  });

  it('is no reason for an error where a state is nowhere', async () => {
    await using rig = await dueRig();
    await rig.rows('drop table order_updates_1');
    expect((await rig.rows<{ nothing: boolean }>(statesSeen)).map(({ nothing }) => nothing)).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('does not keep it where the tables were copied from a cluster that had counted further', async () => {
    await using rig = await dueRig();
    await moveAll(rig);
    await rig.rows("update moved_states set moved_by = '9000000000'");
    expect(await rig.drop()).toBe('order_updates_1');
  });
});

describe('moving states past orders that are held', () => {
  it('takes a step for each lane that can go on, and then rests', async () => {
    await using rig = await stateRig();
    await rig.write(0, ['a', 'b']);
    await rig.write(1, ['d', 'e']);
    await rig.write(0, ['c'], 8);
    await rig.acknowledge();
    const person = await rig.rival();
    await person.query("begin; select from orders where order_id = 'a' for update");
    let steps = 0;
    const pause = async () => {
      steps += 1;
      return steps < 100;
    };
    const { dropped } = await maintainLog(rig.pool, { partitionRows: 10, retentionMs: 0, pause });
    expect(dropped).toEqual([]);
    expect(steps).toBeLessThan(5);
    expect(await rig.rows('select order_id as id from orders where state is not null order by order_id')).toEqual(
      ['b', 'd', 'e'].map((id) => ({ id })),
    );
    await person.query('rollback');
    expect((await maintain(rig)).dropped).toEqual(['order_updates_1']);
    await rig.expectStates();
  });
});
