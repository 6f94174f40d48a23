import { expect, it } from 'vitest';
import type { Head } from '../../../src/domain/head.ts';
import { auditOrders, newestPayloads } from '../../../src/store/commands/audit-reads.ts';
import { PostgresOutcomeLog } from '../../../src/store/commands/outcome-log.ts';
import { maintainCommands, maintainLog } from '../../../src/store/maintenance.ts';
import { readMigrations } from '../../../src/store/migrations.ts';
import type { StoredUpdate } from '../../../src/store/orders/order-reads.ts';
import { PostgresOrderStore } from '../../../src/store/orders/postgres-orders.ts';
import { PostgresUpdateLog } from '../../../src/store/orders/update-log.ts';
import { ownershipFaults } from '../../../src/store/ownership.ts';
import { missingGrants } from '../../../src/store/role-grants.ts';
import { placesOf } from '../../support/orders/batch-places.ts';
import { all, readRig } from '../../support/orders/read-rig.ts';
import { firstBuildDatabase, migrateFurther, partitionRows } from '../../support/schema/first-build.ts';
import type { TestDatabase } from '../../support/servers/database.ts';
import { onServer } from '../../support/servers/on-server.ts';

/** Tables whose rows the migration does not touch: each row as text. */
const untouched = [
  ...['accounts', 'approvals', 'audit_log', 'cancel_alls', 'cancel_timers', 'command_fence', 'credentials'],
  ...[
    'event_floor',
    'evidence',
    'halt_events',
    'halts',
    'lane_batches',
    'limits',
    'order_bindings',
    'principal_tokens',
  ],
  ...['published_topics', 'quarantine', 'quarantine_jobs', 'relay_positions', 'repair_requests', 'shards'],
];

interface Before {
  readonly orders: readonly { key: string; state: string; revision: number }[];
  readonly log: readonly { seq: string; key: string; revision: number; payload: string }[];
  readonly commands: readonly { id: string; shown: string }[];
  readonly attempts: readonly object[];
  readonly events: readonly { id: string; shown: string }[];
  readonly unpublished: readonly string[];
  readonly untouched: Readonly<Record<string, readonly string[]>>;
}

const readUntouched = (database: TestDatabase) =>
  onServer(database.url, async (client) => {
    const found: Record<string, readonly string[]> = {};
    for (const table of untouched) {
      const { rows } = await client.query<{ row: string }>(`select t::text as row from ${table} t order by 1`);
      found[table] = rows.map(({ row }) => row);
    }
    return found;
  });

const attempts = 'select to_jsonb(a) - array[$$in_doubt$$, $$in_flight$$] as row from attempts a order by attempt_id';

/** What the first build's own statements show. */
async function readBefore(database: TestDatabase): Promise<Before> {
  const rest = await readUntouched(database);
  return onServer(database.url, async (client) => {
    const rows = async (text: string) => (await client.query(text)).rows;
    return {
      orders: await rows(
        `select stream || ':' || order_id as key, state::text, revision::integer from orders order by 1`,
      ),
      log: await rows(
        `select seq, stream || ':' || order_id as key, revision::integer, payload from order_updates order by seq`,
      ),
      commands: await rows('select command_id as id, command_json(c)::text as shown from commands c order by 1'),
      attempts: await rows(attempts),
      events: await rows('select id, snapshot::text as shown from command_events order by id'),
      unpublished: (await rows('select id from command_events where published_at is null order by id')).map(
        ({ id }) => id,
      ),
      untouched: rest,
    };
  });
}

/** The database of the first build, migrated, with what it showed before. */
async function migrated() {
  const database = await firstBuildDatabase();
  const before = await readBefore(database);
  const tags = (await readMigrations()).slice(1).map(({ tag }) => tag);
  expect(await migrateFurther(database)).toEqual({ applied: tags });
  return { database, before };
}

/** Pages of three, so that a page also begins within the rows of before. */
async function historyOf(rig: Awaited<ReturnType<typeof readRig>>, key: string): Promise<StoredUpdate[]> {
  const [stream = '', orderId = ''] = key.split(':');
  const found: StoredUpdate[] = [];
  for (;;) {
    const after = Number(JSON.parse(found.at(-1)?.payload ?? '{"revision":0}').revision);
    const page = (await rig.reads.history(all, stream as 'account', orderId, after, 3)) ?? [];
    found.push(...page);
    if (page.length < 3) return found;
  }
}

/** The log's payloads by order, oldest first. */
function byOrder(log: Before['log']): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { key, payload } of log.toSorted((a, b) => a.revision - b.revision))
    found.set(key, [...(found.get(key) ?? []), payload]);
  return found;
}

it('a migrated database shows every order, history, command and event as the first build did', async () => {
  const { database, before } = await migrated();
  await using rig = await readRig({ database });
  expect(before.orders.length).toBeGreaterThan(50);
  expect(before.log.length).toBeGreaterThan(3 * partitionRows);
  const { shards: _, command_fence: __, halts = [], ...rest } = before.untouched;
  expect(await readUntouched(database).then(({ shards: _, command_fence: __, ...left }) => left)).toEqual({
    ...rest,
    // Without the number that each had last.
    halts: halts.map((row) => row.replace(/,\d+\)$/, ')')),
  });

  for (const sort of ['orderId', '-updatedAt'] as const) {
    const { items } = await rig.reads.listOrders(all, {}, undefined, 500, sort);
    const shown = items.map(({ stream, orderId, state, revision }) => ({
      key: `${stream}:${orderId}`,
      state,
      revision,
    }));
    expect(shown.toSorted((a, b) => (a.key < b.key ? -1 : 1))).toEqual(before.orders);
  }
  const histories = byOrder(before.log);
  for (const { key } of before.orders) {
    const shown = await historyOf(rig, key);
    expect(
      shown.map(({ payload }) => payload),
      key,
    ).toEqual(histories.get(key));
  }
  const streamed = await rig.reads.updatesAfter(all, 0n, 1_000);
  expect(streamed.updates.map(({ seq }) => String(seq))).toEqual(
    before.log.filter(({ key }) => !key.startsWith('continuity')).map(({ seq }) => seq),
  );

  const commands = await rig.rows('select command_id as id, command_json(c)::text as shown from commands c order by 1');
  expect(commands).toEqual(before.commands);
  expect((await rig.reads.listCommands(all, {}, undefined, 100)).items).toHaveLength(before.commands.length);
  expect(await rig.rows(attempts)).toEqual(before.attempts);
  expect(await rig.rows('select id, event_json(e)::text as shown from command_events e order by id')).toEqual(
    before.events,
  );
  const horizon = await rig.reads.eventHorizon();
  const { events, complete } = await rig.reads.eventsAfter({ tx: 0n, number: 0n }, horizon.horizon, 1_000);
  expect([events.length, complete]).toEqual([
    before.events.length + (before.untouched['halt_events']?.length ?? 0),
    true,
  ]);
});

it('a migrated database goes on: revisions, outcomes, a place that was on its way', async () => {
  const { database, before } = await migrated();
  await using rig = await readRig({ database });
  await using stack = new AsyncDisposableStack();
  const store = new PostgresOrderStore(rig.deps, { url: database.url, partitionRows });
  stack.defer(() => store.close());
  const number = Number((await rig.rows<{ batch: string }>('select lane_batch(0) as batch'))[0]?.batch);
  const keys = before.orders.map(({ key }) => key);
  const heads = await store.readHeads(keys);
  const next = keys.map((key) => {
    const { order, revision } = (heads.get(key) as Head | undefined) ?? expect.fail(`${key} has no head`);
    const { stream, orderId, accountId } = order;
    const state = JSON.stringify({ ...order, note: 'later' });
    const whose = { stream, orderId, accountId, revision: revision + 1 };
    return {
      head: {
        ...{ ...whose, symbol: order.instrument.symbol, status: order.status, reducedFrom: revision },
        ...{ sourceVersion: null, state, join: '{"rank":2}' },
      },
      update: { ...whose, payload: `{"revision":${revision + 1},"generation":1,"order":${state}}` },
    };
  });
  const write = (of: number, rows: typeof next) => {
    const written = { heads: rows.map(({ head }) => head), updates: rows.map(({ update }) => update), quarantine: [] };
    return store.applyBatch({
      ...{ lane: 0, epoch: rig.epoch, number: BigInt(of) },
      ...{ ...written, places: placesOf(written) },
    });
  };
  const stale = next
    .slice(0, 1)
    .map(({ head, update }) => ({ head: { ...head, reducedFrom: head.reducedFrom - 1 }, update }));
  expect(await write(number + 1, stale)).toEqual({ kind: 'retry', code: 'TM003' });
  // Every other order: the rest keeps the state that it has.
  const changed = next.filter((_, index) => index % 2 === 0);
  expect((await write(number + 1, changed)).kind).toBe('committed');

  const histories = byOrder(before.log);
  for (const [index, { head, update }] of next.entries()) {
    const key = `${head.stream}:${head.orderId}`;
    const found = (await historyOf(rig, key)).map(({ payload }) => payload);
    expect(found, key).toEqual([...(histories.get(key) ?? []), ...(index % 2 === 0 ? [update.payload] : [])]);
  }
  for await (const order of auditOrders(rig.pool))
    expect(order).toMatchObject({ holes: 0, stateless: false, newest: { revision: order.revision } });
  const newest = await newestPayloads(rig.pool, keys);
  expect(newest.get(keys[0] ?? '')).toBe(changed[0]?.update.payload);
  expect(newest.get(keys[1] ?? '')).toBe(histories.get(keys[1] ?? '')?.at(-1));

  const log = new PostgresOutcomeLog(rig.deps);
  const outcomes = await log.readUnpublished(100, [0, 1, 2, 3]);
  expect(outcomes.map(({ id }) => String(id))).toEqual(before.unpublished);
  await log.markPublished(outcomes);
  expect(await log.readUnpublished(100, [0, 1, 2, 3])).toEqual([]);

  const [sending] = await rig.rows<{ id: string; shard: number; epoch: string }>(
    `select c.command_id as id, c.shard, f.epoch from commands c join attempts a using (command_id) join command_fence f using (shard)
     where a.state = 'sending'`,
  );
  const fence = { shard: sending?.shard ?? -1, epoch: BigInt(sending?.epoch ?? 0) + 1n };
  await rig.journal.takeOver(fence, Date.now(), 0);
  const [unknown] = await log.readUnpublished(100, [fence.shard]);
  expect(unknown?.key).toBe(sending?.id);
  expect(JSON.parse(unknown?.payload ?? '{}')).toMatchObject({ state: 'unknown' });
  expect(unknown?.id).toBeGreaterThan(BigInt(before.events.at(-1)?.id ?? 0));
  expect((await rig.journal.find(sending?.id ?? ''))?.state).toBe('unknown');
});

it('a login of the service reads the history of orders of before, which it may read by the log alone', async () => {
  const { database } = await migrated();
  await using rig = await readRig({ database });
  const client = await rig.pool.connect();
  await client.query('set role tidemark_app');
  const { rows } = await client.query<{ updates: number }>(
    'select count(*)::integer as updates from orders o cross join lateral order_chain(o.stream, o.order_id, 0)',
  );
  client.release(true);
  const ofOrders = "select count(*)::integer as updates from order_updates where stream <> 'continuity'";
  expect(rows).toEqual(await rig.rows(ofOrders));
  expect(rows[0]?.updates).toBeGreaterThan(100);
});

it('retention drops the partitions of before, and every order keeps its state', async () => {
  const { database, before } = await migrated();
  await using rig = await readRig({ database });
  const indexed = `select count(*)::integer as indexed from log_partitions() p join pg_constraint k on k.conrelid = p.name::regclass and k.contype = 'u'`;
  // Those with rows of before; the empty ones have lost theirs, and new ones are made without.
  expect(await rig.rows(indexed)).toEqual([{ indexed: Math.ceil(before.log.length / partitionRows) }]);
  await rig.rows("select setval('order_updates_seq', (select max(until_seq) from log_partitions()))");
  const log = new PostgresUpdateLog(rig.deps);
  for (const cursor of ['log', 'state'] as const) await log.savePosition(0, rig.epoch, cursor, 1_000_000n);
  const dropped: string[] = [];
  for (let rounds = 0; rounds < 20; rounds += 1)
    dropped.push(...(await maintainLog(rig.pool, { partitionRows, retentionMs: 0 })).dropped);
  expect(dropped.length).toBeGreaterThan(3);
  expect(await rig.rows('select from order_updates')).toEqual([]);
  expect(await rig.rows(indexed)).toEqual([{ indexed: 0 }]);

  for (const role of ['tidemark_app', 'tidemark_reader'] as const)
    expect(await missingGrants(rig.pool, role)).toEqual([]);
  expect(await ownershipFaults(rig.pool)).toEqual([]);
  const { items } = await rig.reads.listOrders(all, {}, undefined, 500, 'orderId');
  expect(
    items.map(({ stream, orderId, state, revision }) => ({ key: `${stream}:${orderId}`, state, revision })),
  ).toEqual(before.orders);
  for await (const { holes, stateless } of auditOrders(rig.pool)) expect([holes, stateless]).toEqual([0, false]);
  await maintainCommands(rig.pool, { retentionMs: 0 });
  expect((await rig.rows('select id from command_events order by id')).length).toBe(before.unpublished.length);
});
