import { expect, it } from 'vitest';
import type { Head } from '../../../src/domain/head.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { auditOrders, newestPayloads } from '../../../src/store/commands/audit-reads.ts';
import { PostgresResultLog } from '../../../src/store/commands/result-log.ts';
import { maintainCommands, maintainLog } from '../../../src/store/maintenance.ts';
import type { StoredUpdate } from '../../../src/store/orders/order-reads.ts';
import { PostgresOrderStore } from '../../../src/store/orders/postgres-orders.ts';
import { PostgresUpdateLog } from '../../../src/store/orders/update-log.ts';
import { ownershipFaults } from '../../../src/store/ownership.ts';
import { PostgresPrincipalStore } from '../../../src/store/principals.ts';
import { missingGrants } from '../../../src/store/role-grants.ts';
import { PostgresTokenStore } from '../../../src/store/token-store.ts';
import { newPlace } from '../../support/commands/journal-fixtures.ts';
import { placesOf } from '../../support/orders/batch-places.ts';
import { droppedInTurns } from '../../support/orders/dropped-in-turns.ts';
import { all, readRig } from '../../support/orders/read-rig.ts';
import { eventually } from '../../support/runs/poll.ts';
import { applied, buildsOfBefore, migrateFurther, partitionRows } from '../../support/schema/builds-of-before.ts';
import type { TestDatabase } from '../../support/servers/database.ts';
import { onServer } from '../../support/servers/on-server.ts';

/** Tables whose rows the migrations do not touch, but for columns that come, go or get a name. */
const untouched = [
  ...['accounts', 'approvals', 'audit_log', 'cancel_alls', 'cancel_timers', 'credentials'],
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
  ...['published_topics', 'dead_letters', 'dead_letter_jobs', 'relay_positions', 'repair_requests', 'shards'],
];

/** As they were named before. */
const formerNames: Readonly<Record<string, string>> = {
  dead_letters: 'quarantine',
  dead_letter_jobs: 'quarantine_jobs',
};

/** A command or an event as text, in the words of now. */
const inNewWords = (shown: string) => shown.replaceAll('"settledAtMs"', '"resolvedAtMs"');

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
      found[table] = [];
      const { rows: there } = await client.query<{ name: string }>(
        'select relname as name from pg_class where oid in (to_regclass($1), to_regclass($2))',
        [table, formerNames[table] ?? table],
      );
      const [named] = there;
      if (named === undefined) continue;
      const { rows } = await client.query<{ row: string }>(
        `select ((to_jsonb(t) - array['number', 'change', 'changes', 'deed', 'action', 'discarded', 'topic_id', 'ends', 'lost', 'outcome'${table === 'published_topics' ? ", 'since'" : ''}]) || jsonb_build_object('action', coalesce(to_jsonb(t) -> 'action', to_jsonb(t) -> 'deed'), 'result', coalesce(to_jsonb(t) -> 'result', to_jsonb(t) -> 'outcome')))::text as row
         from ${named.name} t order by 1`,
      );
      found[table] = rows.map(({ row }) => row.replace('"quarantine_id"', '"dead_letter_id"'));
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

/** The database of that build, migrated, with what it showed before. */
async function migrated({ make }: (typeof buildsOfBefore)[number]) {
  const database = await make();
  const before = await readBefore(database);
  expect(await migrateFurther(database)).toEqual({ applied });
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

it.each(buildsOfBefore)('every order, history, command and event of $build is shown as before', async (build) => {
  const { database, before } = await migrated(build);
  await using rig = await readRig({ database });
  expect(before.orders.length).toBeGreaterThan(50);
  expect(before.log.length).toBeGreaterThan(3 * partitionRows);
  const kept = ({
    shards: _,
    published_topics: topics = [],
    repair_requests: requests = [],
    ...rest
  }: Before['untouched']) => ({
    ...rest,
    // Three have another name now.
    topics: topics.filter((row) => !['continuity', 'witness', 'outcomes'].includes(JSON.parse(row).kind)),
    // A discard is a count of its job.
    requests: requests.filter((row) => JSON.parse(row).kind !== 'discard'),
  });
  expect(kept(await readUntouched(database))).toEqual(kept(before.untouched));

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

  const commands = await rig.rows(
    'select command_id as id, command_json(command_id)::text as shown from commands c order by 1',
  );
  const shownNow = (rows: Before['commands']) => rows.map(({ id, shown }) => ({ id, shown: inNewWords(shown) }));
  expect(commands).toEqual(shownNow(before.commands));
  expect((await rig.reads.listCommands(all, {}, undefined, 100)).items).toHaveLength(before.commands.length);
  expect(await rig.rows(attempts)).toEqual(before.attempts);
  expect(
    await rig.rows(
      'select id, command_json(command_id, number)::text as shown from command_events e where id > 0 order by id',
    ),
  ).toEqual(shownNow(before.events));
  const horizon = await rig.reads.eventHorizon();
  const { events, complete } = await rig.reads.eventsAfter({ tx: 0n, number: 0n }, horizon.horizon, 1_000);
  expect([events.length, complete]).toEqual([
    before.events.length + (before.untouched['halt_events']?.length ?? 0),
    true,
  ]);
});

it.each(buildsOfBefore)('the database of $build goes on: revisions, results, a place on its way', async (build) => {
  const { database, before } = await migrated(build);
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
    const written = {
      heads: rows.map(({ head }) => head),
      updates: rows.map(({ update }) => update),
      deadLetters: [],
    };
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

  const log = new PostgresResultLog(rig.deps);
  const shards = before.untouched['shards']?.map((_, shard) => shard) ?? [];
  const results = await log.readUnpublished(100, shards);
  expect(results.map(({ id }) => String(id))).toEqual(before.unpublished);
  await log.markPublished(results);
  expect(await log.readUnpublished(100, shards)).toEqual([]);

  const [sending] = await rig.rows<{ id: string; shard: number; epoch: string }>(
    `select c.command_id as id, c.shard, s.epoch from commands c join attempts a using (command_id) join shards s using (shard)
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

it.each(buildsOfBefore)('a login reads the history of orders of $build, by the log alone', async (build) => {
  const { database } = await migrated(build);
  await using rig = await readRig({ database });
  const client = await rig.pool.connect();
  await client.query('set role tidemark_app');
  const { rows } = await client.query<{ updates: number }>(
    'select count(*)::integer as updates from orders o cross join lateral order_chain(o.stream, o.order_id, 0)',
  );
  client.release(true);
  const ofOrders = "select count(*)::integer as updates from order_updates where stream <> 'watermarks'";
  expect(rows).toEqual(await rig.rows(ofOrders));
  expect(rows[0]?.updates).toBeGreaterThan(100);
});

it.each(buildsOfBefore)('retention drops the partitions of $build, every order keeps its state', async (build) => {
  const { database, before } = await migrated(build);
  await using rig = await readRig({ database });
  const indexed = `select count(*)::integer as indexed from log_partitions() p join pg_constraint k on k.conrelid = p.name::regclass and k.contype = 'u'`;
  // Those with rows of before; the empty ones have lost theirs, and new ones are made without.
  expect(await rig.rows(indexed)).toEqual([{ indexed: Math.ceil(before.log.length / partitionRows) }]);
  await rig.rows("select setval('order_updates_seq', (select max(until_seq) from log_partitions()))");
  const log = new PostgresUpdateLog(rig.deps);
  const last = BigInt(before.log.at(-1)?.seq ?? 0);
  for (const cursor of ['log', 'state'] as const) expect(await log.savePosition(0, rig.epoch, cursor, last)).toBe(true);
  await droppedInTurns(() => maintainLog(rig.pool, { partitionRows, retentionMs: 0 }), 4);
  await eventually(async () => {
    await maintainLog(rig.pool, { partitionRows, retentionMs: 0 });
    expect(await rig.rows('select from order_updates')).toEqual([]);
  });
  expect(await rig.rows(indexed)).toEqual([{ indexed: 0 }]);

  for (const role of ['tidemark_app', 'tidemark_reader'] as const)
    expect(await missingGrants(rig.pool, role)).toEqual([]);
  expect(await ownershipFaults(rig.pool)).toEqual([]);
  const { items } = await rig.reads.listOrders(all, {}, undefined, 500, 'orderId');
  const shown = items.map(({ stream, orderId, state, revision }) => ({ key: `${stream}:${orderId}`, state, revision }));
  expect(shown.toSorted((a, b) => (a.key < b.key ? -1 : 1))).toEqual(before.orders);
  for await (const { holes, stateless } of auditOrders(rig.pool)) expect([holes, stateless]).toEqual([0, false]);
  await maintainCommands(rig.pool, { retentionMs: 0 });
  expect((await rig.rows('select id from command_events where id > 0')).length).toBe(before.events.length);
});

it.each(buildsOfBefore)('keys, halts, limits, tokens and unpublished rows of $build are kept', async (build) => {
  const { database, before } = await migrated(build);
  await using rig = await readRig({ database });
  const { journal } = rig;
  const of = (table: string) => before.untouched[table]?.map((row) => JSON.parse(row)) ?? [];

  const fences = await rig.rows<{ shard: number; epoch: string }>('select shard, epoch from shards');
  for (const { id, shown } of before.commands) {
    const { principal, idempotencyKey, requestHash, request, shard } = JSON.parse(shown);
    const fence = { shard, epoch: BigInt(fences.find((each) => each.shard === shard)?.epoch ?? 0) };
    const again = newPlace({ principal, idempotencyKey, requestHash, request });
    expect(await journal.open(again, fence)).toMatchObject({ kind: 'replayed', command: { commandId: id } });
    expect(await journal.open({ ...again, requestHash: 'another' }, fence)).toEqual({ kind: 'key_reused' });
  }
  const notFinal = before.commands.filter(({ shown }) => JSON.parse(shown).settledAtMs === null);
  expect((await journal.unresolved(100)).map(({ commandId }) => commandId).sort()).toEqual(
    notFinal.map(({ id }) => id).sort(),
  );

  const halts = of('halts').filter((halt) => halt.cleared_at === null);
  const shown = (await journal.activeHalts()).map(({ haltId }) => haltId);
  expect(shown.sort()).toEqual(halts.map((halt) => halt.halt_id).sort());
  expect((await journal.limits()).map(({ bounds }) => bounds)).toEqual(of('limits').map(({ bounds }) => bounds));
  expect(await journal.approvals()).toMatchObject(
    of('approvals').map((row) => ({ approvalId: row.approval_id, action: row.action, by: row.requested_by })),
  );
  for (const timer of of('cancel_timers'))
    expect(await journal.armedCancelTimers([timer.shard])).toMatchObject([{ timerId: timer.timer_id }]);

  const tokens = await new PostgresPrincipalStore(rig.deps).active();
  expect(tokens.map(({ name, sha256 }) => [name, `\\x${sha256}`])).toEqual(
    of('principal_tokens').map((token) => [token.principal, token.token_sha256]),
  );
  const key = new Secret(Buffer.alloc(32, 7).toString('base64'));
  for (const { credential, generation } of of('credentials')) {
    const sealed = await new PostgresTokenStore({ ...rig.deps, key }).load(credential);
    expect(sealed).toMatchObject({ generation, accessToken: expect.any(Secret), expiresAtMs: expect.any(Number) });
  }

  const log = new PostgresUpdateLog(rig.deps);
  const published = of('relay_positions').find(({ cursor }) => cursor === 'log').seq;
  const unpublished = await log.readAfter(0, BigInt(published), 1_000);
  expect(unpublished.map(({ seq, payload }) => [String(seq), payload])).toEqual(
    before.log.filter(({ seq }) => Number(seq) > published).map(({ seq, payload }) => [seq, payload]),
  );
});

it.each(buildsOfBefore)('a process of $build that still writes is waited for, then fenced', async (build) => {
  await using database = await build.make();
  await onServer(database.url, async (older) => {
    const read = async (text: string) => (await older.query(text)).rows[0];
    const lane = await read('select lane, epoch, lane_batch(lane) + 1 as next from lanes');
    const fence = await read('select shard, epoch from command_fence order by epoch desc limit 1');
    const books = 'select array_agg(hash) as hashes from drizzle.__drizzle_migrations';
    const hashes = await read(books);
    /** In a transaction that is committed once the migration waits for it. */
    const beside = async (text: string, values: unknown[]) => {
      await older.query('begin');
      await older.query(text, values);
      const migrating = migrateFurther(database).catch((error: unknown) => error);
      await eventually(async () => {
        await older.query('select pg_stat_clear_snapshot()');
        const { rows } = await older.query(
          `select from pg_stat_activity where datname = current_database() and application_name = 'tidemark-migrate' and wait_event_type = 'Lock'`,
        );
        expect(rows).toHaveLength(1);
      });
      await older.query('commit');
      return migrating;
    };

    // A batch renews the lease.
    const entering = 'select public.enter_lane($1, $2, $3)';
    const refused = await beside(entering, [lane.lane, lane.epoch, lane.next]);
    expect(refused).toMatchObject({ code: 'LANE_HELD', retryable: true });
    expect(await read(books)).toEqual(hashes);

    await older.query("update lanes set renewed_at = now() - interval '1 minute'");
    const halting = `select public.raise_halt($1, $2, 'late', 'SIM-1003', 'operator', 'late', 'desk', 1)`;
    expect(await beside(halting, [fence.shard, fence.epoch])).toEqual({ applied });
    expect(await read(`select account_id, reason from halts where halt_id = 'late'`)).toEqual({
      account_id: 'SIM-1003',
      reason: 'late',
    });

    await expect(older.query(entering, [lane.lane, lane.epoch, Number(lane.next) + 1])).rejects.toMatchObject({
      code: 'TM001',
    });
    await expect(older.query(halting, [fence.shard, fence.epoch])).rejects.toMatchObject({ code: '42883' });
    const held = 'select public.hold_command_fence($1, $2) as held';
    expect((await older.query(held, [fence.shard, fence.epoch])).rows).toEqual([{ held: false }]);
  });
});

it.each(buildsOfBefore)('a migration that fails leaves the database of $build as it was', async ({ make }) => {
  await using database = await make();
  await onServer(database.url, async (client) => {
    const left = async () =>
      client.query(`select (select array_agg(hash) from drizzle.__drizzle_migrations) as hashes,
        (select array_agg(format('%s.%s', attrelid::regclass, attname) order by attrelid, attnum) from pg_attribute where attrelid in
          (select oid from pg_class where relnamespace = 'public'::regnamespace)) as columns,
        (select array_agg(oid::regprocedure || md5(prosrc) order by oid) from pg_proc where pronamespace = 'public'::regnamespace) as functions`);
    const before = await left();
    // In the way of the journal's copy.
    await client.query('create table drizzle.attempts ()');
    await expect(migrateFurther(database)).rejects.toMatchObject({ code: '42P07' });
    expect((await left()).rows).toEqual(before.rows);
    await client.query('drop table drizzle.attempts');
  });
  expect(await migrateFurther(database)).toEqual({ applied });
});
