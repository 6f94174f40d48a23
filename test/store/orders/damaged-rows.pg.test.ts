import { describe, expect, it } from 'vitest';
import { decodeUpdate } from '../../../src/domain/encode-update.ts';
import type { Doubt } from '../../../src/domain/head.ts';
import type { Observation } from '../../../src/domain/observation.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { Backoff } from '../../../src/runtime/backoff.ts';
import { systemClock as clock } from '../../../src/runtime/clock.ts';
import { Lease } from '../../../src/runtime/lease.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { Ingest } from '../../../src/service/orders/ingest.ts';
import type { UnreadableCommand } from '../../../src/store/commands/decode-command.ts';
import { PostgresResultLog } from '../../../src/store/commands/result-log.ts';
import { postgresAccountRegistry } from '../../../src/store/fleet/account-registry.ts';
import { PostgresLaneStore } from '../../../src/store/fleet/lane-store.ts';
import { maintainLog } from '../../../src/store/maintenance.ts';
import { PostgresOrderStore } from '../../../src/store/orders/postgres-orders.ts';
import { attemptId, fence, newPlace } from '../../support/commands/journal-fixtures.ts';
import { droppedInTurns } from '../../support/orders/dropped-in-turns.ts';
import { orderAt } from '../../support/orders/ingest-rig.ts';
import { observe } from '../../support/orders/observe.ts';
import { all, readRig } from '../../support/orders/read-rig.ts';
import { stateRig } from '../../support/orders/state-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { testLog } from '../../support/runs/test-log.ts';
import { onServer } from '../../support/servers/on-server.ts';

describe('issue: One damaged order stopped every order of its lane, its lists and its cancel-all.', () => {
  type Rig = Awaited<ReturnType<typeof readRig>>;

  /** As a disk, a restore or a person may leave it: no guard of the database sees it. */
  function damage(rig: Rig, statements: string): Promise<unknown> {
    return onServer(rig.database.url, (client) =>
      client.query(`set session_replication_role = replica; ${statements}`),
    );
  }

  /**
   * A term of the lane with nothing in memory: what it is offered is committed when it resolves.
   */
  async function ingested(rig: Rig, epoch: bigint, observations: readonly Observation[]): Promise<void> {
    const store = new PostgresOrderStore(rig.deps, { url: rig.database.url, partitionRows: 1_000 });
    const lease = new Lease(clock, 1e9);
    lease.confirm(epoch, clock.monotonicMs());
    const ingest = new Ingest(
      {
        ...{ store, lease, clock, log: testLog.child({}, { level: 'silent' }) },
        metrics: createMetrics().ingest,
        lane: { reclaim: async () => undefined, reportLost: () => {} },
        onCommitted: () => {},
        onCommitUnseen: () => {},
        backoff: new Backoff(systemRandom, { firstMs: 5, maxMs: 50 }),
      },
      { queueMaxCount: 4000, queueMaxBytes: 33_554_432, batchMaxCount: 500, headCacheCount: 50_000 },
    );
    ingest.begin({ epoch, batch: BigInt(await rig.laneBatch()), generation: 1 });
    for (const observation of observations) ingest.offer(observation);
    await ingest.committed();
    await ingest.end();
    await store.close();
  }

  const ids = Array.from({ length: 12 }, (_, i) => `ord-${i}`);
  const damaged = ['ord-3', 'ord-4', 'ord-5', 'ord-6', 'ord-7'];
  const others = ids.filter((id) => !damaged.includes(id));
  const spoil = `
  update order_updates set payload = 'no json' where order_id = 'ord-3';
  delete from order_updates where order_id = 'ord-4';
  update orders set join_state = '5' where order_id = 'ord-5';
  update order_updates set payload = replace(payload, '"cumQty":"0"', '"cumQty":0') where order_id = 'ord-6';
  update orders set state = '"text"' where order_id = 'ord-7';`;

  it('damage of some orders is theirs alone, and a read from REST brings each back', async () => {
    await using rig = await readRig();
    const place = newPlace({ attemptId: attemptId() });
    await rig.journal.open(place, fence);
    const view = (id: string, step: number) => orderAt(Number(id.slice(4)), step, { accountId: 'acct-1' });
    const ours = { clOrdId: place.attemptId };
    await ingested(
      rig,
      rig.epoch,
      ids.map((id) => observe({ ...view(id, 0), ...(id === 'ord-4' && ours) })),
    );
    await damage(rig, spoil);

    const doubts: [string, Doubt, number][] = [];
    // That the row became a dead letter holds the mark of its account back, and is another test's.
    const onDoubt: Observation['onDoubt'] = ({ view: { orderId } }, doubt, revision) =>
      doubt === 'dead_lettered' ? undefined : void doubts.push([orderId, doubt, revision]);
    await ingested(
      rig,
      rig.epoch,
      ids.map((id) => observe(view(id, 1), { onDoubt })),
    );
    const revisions = () => rig.rows<{ order_id: string; revision: string }>('select order_id, revision from orders');
    const at = async (revision: number) =>
      (await revisions()).filter((row) => Number(row.revision) === revision).map((row) => row.order_id);
    expect((await at(2)).sort()).toEqual([...others].sort());
    expect(doubts).toEqual(damaged.map((id) => [id, 'contradicted', 1]));
    expect(await rig.rows('select order_id, reason from dead_letters order by order_id')).toEqual(
      damaged.map((id) => ({ order_id: id, reason: 'state_unreadable' })),
    );

    for (const sort of ['orderId', '-updatedAt'] as const) {
      const page = await rig.reads.listOrders(all, {}, undefined, 50, sort);
      expect(page.items.length + (page.unreadable?.length ?? 0)).toBe(ids.length);
      expect(page.unreadable?.map((item) => 'orderId' in item && item.orderId).sort()).toEqual([
        'ord-3',
        'ord-4',
        'ord-7',
      ]);
    }
    expect((await rig.reads.listOrders(all, { side: 'buy' }, undefined, 50)).items.length).toBeGreaterThan(0);
    await expect(rig.reads.getOrder(all, 'account', 'ord-4')).rejects.toMatchObject({ code: 'UNREADABLE_ROW' });
    expect(await rig.reads.getOrder(all, 'account', 'ord-1')).toMatchObject({ revision: 2 });
    const open = await rig.journal.openOrders('acct-1', undefined, 50);
    expect(open.map(({ orderId }) => orderId).sort()).toEqual([...ids].sort());
    expect(open.find(({ orderId }) => orderId === 'ord-4')).toMatchObject({
      ...{ principal: 'desk', side: 'buy', references: [place.attemptId] },
    });
    expect(await rig.journal.readOrder('account', 'ord-3')).toBeUndefined();
    const silent = await postgresAccountRegistry(rig.deps).openOrders('account', 'acct-1', 0, '', 50);
    expect(silent).toHaveLength(ids.length);
    expect((await rig.reads.exposure(all, undefined)).reduce((sum, row) => sum + row.openOrders, 0)).toBe(ids.length);

    await ingested(
      rig,
      rig.epoch,
      damaged.map((id) => observe({ ...view(id, 1), ...(id === 'ord-4' && ours) }, { cause: 'probe', onDoubt })),
    );
    expect((await at(2)).sort()).toEqual([...ids].sort());
    expect(await rig.reads.listOrders(all, {}, undefined, 50)).not.toHaveProperty('unreadable');
    const healed = await rig.reads.getOrder(all, 'account', 'ord-4');
    expect(JSON.parse(healed?.state ?? '')).toMatchObject({
      commandId: place.commandId,
      origin: 'tidemark',
      cumQty: '1',
    });
    const [row] = await rig.rows<{ payload: string }>(
      "select payload from order_updates where order_id = 'ord-4' order by revision desc limit 1",
    );
    expect(decodeUpdate(row?.payload ?? '')).toMatchObject({ cause: 'correction', revision: 2 });
    expect(row?.payload).not.toContain('"fill"');
  });

  it('a payload that cannot be read holds up no partition of the log, and is kept', async () => {
    await using rig = await readRig();
    await rig.store({ orderId: 'a' }, { orderId: 'b' });
    await damage(rig, "update order_updates set payload = 'no json' where order_id = 'a'");
    await rig.rows("select setval('order_updates_seq', 5000001)");
    await maintainLog(rig.pool, { partitionRows: 10, retentionMs: 1e12 });
    await rig.rows(
      "insert into relay_positions (lane, cursor, seq) values (0, 'log', 5000000), (0, 'state', 5000000) on conflict (lane, cursor) do update set seq = excluded.seq",
    );
    const lane = await new PostgresLaneStore(rig.deps).acquire(1, 'second', 6_000);
    expect(lane.kind).toBe('held');
    await rig.rows(
      "insert into relay_positions (lane, cursor, seq) values (1, 'log', 5000000), (1, 'state', 5000000) on conflict (lane, cursor) do update set seq = excluded.seq",
    );
    expect(await rig.rows("select move_order_states('0', 100) as looked")).toEqual([{ looked: 2 }]);
    expect(await rig.rows("select move_order_states('0', 100) as looked")).toEqual([{ looked: 0 }]);
    expect(await rig.rows("select state from orders where order_id = 'a'")).toEqual([{ state: 'no json' }]);
    expect((await rig.reads.listOrders(all, {}, undefined, 50)).unreadable).toHaveLength(1);
  });

  it('a command that cannot be read is named, and keeps no other from its takeover, its list and its topic', async () => {
    await using rig = await readRig();
    const places = [newPlace(), newPlace(), newPlace(), newPlace()];
    for (const place of places) await rig.journal.open(place, fence);
    const [broken, event] = places;
    await damage(
      rig,
      `update journal set body = jsonb_set(body::jsonb, '{request}', '{"kind":"place"}')::text where command_id = '${broken?.commandId}'`,
    );
    const unreadable: UnreadableCommand[] = [];
    const taken = await rig.journal.takeOver({ shard: 0, epoch: 2n }, Date.now(), 0, undefined, (each) =>
      unreadable.push(each),
    );
    await damage(
      rig,
      `update journal set body = jsonb_set(body::jsonb, '{reason}', '5')::text where command_id = '${event?.commandId}' and number = 1`,
    );
    const rest = places.slice(1).map(({ commandId }) => commandId);
    const known = await rig.journal.unresolved(50);
    expect(taken.map(({ commandId }) => commandId).sort()).toEqual([...rest].sort());
    expect(unreadable).toMatchObject([{ commandId: broken?.commandId, accountId: 'acct-1' }]);
    expect(known.every(({ commandId }) => rest.includes(commandId))).toBe(true);
    const page = await rig.reads.listCommands(all, {}, undefined, 50);
    expect(page.items).toHaveLength(3);
    expect(page.unreadable).toEqual([{ commandId: broken?.commandId }]);
    await expect(rig.reads.findCommand(all, broken?.commandId ?? '')).rejects.toMatchObject({ code: 'UNREADABLE_ROW' });
    const results = new PostgresResultLog({ ...rig.deps, log: testLog.child({}, { level: 'silent' }) });
    const published = new Set<string>();
    for (let round = 0; round < 10; round += 1) {
      const rows = await results.readUnpublished(2, [0]);
      for (const { key } of rows) published.add(key);
      await results.markPublished(rows);
    }
    // The step that came before the takeover's own is missing of the second one alone.
    expect([...published].sort()).toEqual([...rest].sort());
    const { horizon } = await rig.reads.eventHorizon();
    const { events } = await rig.reads.eventsAfter({ tx: 0n, number: 0n }, horizon, 50);
    expect(events.length).toBeGreaterThan(0);
  });
});

describe('issue: A report in one transaction showed orders without any state, and no error.', () => {
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
      await eventually(async () =>
        expect((await maintain(rig)).keptBy).toEqual([expect.stringContaining(`session ${pid} (`)]),
      );
      expect((await reader.query(statesSeen)).rows).toEqual(shown(rig));
      await reader.query('commit');
      expect(await droppedInTurns(() => maintain(rig), 1)).toEqual(['order_updates_1']);
      expect((await maintain(rig)).keptBy).toBeUndefined();
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
      expect(await rig.dropped()).toBe('order_updates_1');
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
      expect(await rig.dropped()).toBe('order_updates_1');
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
        expect(await rig.dropped()).toBe('order_updates_1');
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
      expect(await rig.dropped()).toBe('order_updates_1');
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
      expect(await rig.dropped()).toBe('order_updates_1');
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
      const states = () => rig.rows('select order_id as id from orders where state is not null order by order_id');
      // A turn that finds a table held does nothing: the next one does the work.
      await eventually(async () => {
        let steps = 0;
        const pause = async () => {
          steps += 1;
          return steps < 100;
        };
        const { dropped } = await maintainLog(rig.pool, { partitionRows: 10, retentionMs: 0, pause });
        expect(dropped).toEqual([]);
        expect(steps).toBeLessThan(5);
        expect(await states()).toEqual(['b', 'd', 'e'].map((id) => ({ id })));
      });
      await person.query('rollback');
      expect(await droppedInTurns(() => maintain(rig), 1)).toEqual(['order_updates_1']);
      await rig.expectStates();
    });
  });
});
