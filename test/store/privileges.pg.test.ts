import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Measure } from '../../src/domain/measure-command.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { createPostgresJournal } from '../../src/store/commands/postgres-journal.ts';
import { PostgresResultLog } from '../../src/store/commands/result-log.ts';
import { endJobs } from '../../src/store/dead-letters/dead-letter-jobs.ts';
import { countDeadLetters, newestDeadLetter } from '../../src/store/dead-letters/dead-letters.ts';
import { postgresDeadLetters } from '../../src/store/dead-letters/postgres-dead-letters.ts';
import { postgresAccountRegistry } from '../../src/store/fleet/account-registry.ts';
import { postgresFleetActions } from '../../src/store/fleet/fleet-actions.ts';
import { PostgresLaneStore } from '../../src/store/fleet/lane-store.ts';
import { PostgresShardStore } from '../../src/store/fleet/shard-store.ts';
import {
  countOrders,
  maintainCommands,
  maintainDeadLetters,
  maintainLog,
  measureStorage,
} from '../../src/store/maintenance.ts';
import { readSchemaVersion } from '../../src/store/migrations.ts';
import { listOrders } from '../../src/store/orders/list-orders.ts';
import { PostgresOrderStore } from '../../src/store/orders/postgres-orders.ts';
import { PostgresUpdateLog } from '../../src/store/orders/update-log.ts';
import { PostgresPrincipalStore } from '../../src/store/principals.ts';
import { answerRepairs, openRepairs } from '../../src/store/repair-requests.ts';
import { postgresOrderReads } from '../../src/store/rest-reads.ts';
import { createPool } from '../../src/store/session/pool.ts';
import { PostgresTokenStore } from '../../src/store/token-store.ts';
import { answer, atMs, fence, newCancelAll, newPlace, unknown } from '../support/commands/journal-fixtures.ts';
import { takingJournal } from '../support/commands/journal-rig.ts';
import { unreadAccount } from '../support/commands/unread-account.ts';
import { askRepair } from '../support/orders/dead-letter-rows.ts';
import { batch, deadLetter, update } from '../support/orders/store-rig.ts';
import { freeShards, takeShards } from '../support/orders/take-shards.ts';
import { eventually } from '../support/runs/poll.ts';
import { testLog } from '../support/runs/test-log.ts';
import { freshDatabase } from '../support/servers/database.ts';
import { onServer } from '../support/servers/on-server.ts';

/** A migrated database, and a login that is a member of `role` and of nothing else. */
async function loggedInAs(role: 'tidemark_app' | 'tidemark_reader') {
  const stack = new AsyncDisposableStack();
  const database = stack.use(await freshDatabase());
  const login = `login_${randomBytes(6).toString('hex')}`;
  await onServer(database.url, (client) => client.query(`create role ${login} login password 'pw' in role ${role}`));
  stack.defer(async () => {
    await onServer(database.url, (client) => client.query(`drop role ${login}`));
  });
  const url = new URL(database.url);
  url.username = login;
  url.password = 'pw';
  const pool = createPool({ log: testLog }, { url: url.href, applicationName: 'test', maxConnections: 3 });
  stack.defer(() => pool.end());
  return { database, url: url.href, pool, stack, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe('the service as a mere member of tidemark_app', () => {
  it('can do everything that it does', async () => {
    await using session = await loggedInAs('tidemark_app');
    const { pool, url } = session;
    const deps = { pool, clock: systemClock, random: systemRandom, log: testLog };
    const store = new PostgresOrderStore(deps, { url, partitionRows: 1_000 });
    session.stack.defer(() => store.close());
    const lanes = new PostgresLaneStore({ pool, random: systemRandom });
    expect(await lanes.acquire(0, 'app', 6_000)).toMatchObject({ kind: 'held', epoch: 1n, batch: 0n, generation: 1 });
    expect(await lanes.renew(0, 1n)).toBe('renewed');
    const payload = '{"order":{"updatedAt":"2026-11-21T14:31:07.654321Z"}}';
    const first = batch(1n, 1, [['a', 1]], { updates: [update('a', 1, { payload })], deadLetters: [deadLetter()] });
    expect((await store.applyBatch(first)).kind).toBe('committed');
    expect((await store.readHeads(['prediction:a'])).size).toBe(1);
    expect(await lanes.reclaim(0, 1n)).toEqual({ epoch: 2n, batch: 1n, generation: 1 });

    const shards = new PostgresShardStore(deps);
    expect(await shards.introduce(0, 2n, { weight: 1, address: undefined, version: '1', draining: false })).toBe(true);
    expect(await takeShards(shards, 0, 2n, [0, 1])).toHaveLength(2);
    expect(await shards.resume(0, 2n)).toHaveLength(2);
    expect(await freeShards(shards, 0, 2n, [0, 1])).toBe(true);
    expect((await shards.look(6_000)).members).toMatchObject([{ lane: 0, weight: 1 }]);
    const operators = postgresFleetActions(deps, 6_000);
    const wish = { by: 'desk', reason: 'asked for', requestId: 'r-1' };
    expect(await operators.pin(0, true, wish)).toBe(true);
    expect(await operators.drain('nobody', true, wish)).toBe(false);

    const log = new PostgresUpdateLog(deps);
    const rows = await log.readAfter(0, 0n, 10);
    expect(rows).toHaveLength(1);
    expect((await log.readNewestAfter(0, 0n, 10, 1e6)).rows).toEqual(rows);
    expect((await log.pendingAfter(0, 0n)).rows).toBe(1);
    expect(await log.savePosition(0, 2n, 'log', 1n)).toBe(true);
    expect(await log.savePosition(0, 2n, 'log', 1n)).toBe(true);
    expect(await log.loadPosition(0, 'log')).toBe(1n);

    const registry = postgresAccountRegistry(deps);
    await registry.save(unreadAccount('a'));
    await registry.save(unreadAccount('a', { sourceEpoch: 1 }));
    expect(await registry.load()).toHaveLength(1);
    expect(await registry.openOrders('prediction', 'acct-1', 0, '', 10)).toHaveLength(1);

    const deadLetters = postgresDeadLetters({ ...deps, readPool: pool });
    const word = { by: 'desk', reason: 'checked', requestId: 'r' };
    expect(await countDeadLetters(pool)).toHaveLength(1);
    expect(await deadLetters.discard({ kind: 'all' }, '1', word)).toBe(true);
    expect(await maintainDeadLetters(pool, { maxUndealt: 0, retentionMs: 60_000 })).toBe(0);
    const request = await askRepair(pool, { kind: 'backfill', stream: 'account', accountId: 'a' });
    expect(await openRepairs(pool)).toHaveLength(1);
    expect(await answerRepairs(pool, [`${request}`], { result: 'done', detail: 'read' })).toBe(0);
    expect(await deadLetters.discard({ kind: 'all' }, '1', word)).toBe(false);
    await deadLetters.retry({ kind: 'all' }, '1', word);
    for (const action of ['retry', 'discard'] as const) {
      const jobId = systemRandom.uuid();
      expect(await deadLetters.openJob({ kind: 'all' }, { jobId, action, filter: {}, ...word })).toBe(true);
      expect(await deadLetters.findJob({ kind: 'all' }, jobId)).toMatchObject({ total: 0 });
      await deadLetters.cancelJob({ kind: 'all' }, jobId, word);
    }
    expect(await newestDeadLetter(pool)).toBe(1n);
    expect(await endJobs(pool)).toEqual([]);
    expect((await measureStorage(pool)).databaseBytes).toBeGreaterThan(0);
    expect(await countOrders(pool)).toHaveLength(1);
    const orders = {
      scope: { kind: 'all' },
      filter: { stream: 'prediction', accountId: 'acct-1' },
      after: undefined,
      limit: 10,
      sort: 'orderId',
    } as const;
    expect((await listOrders(pool, orders)).items).toHaveLength(1);
    expect(await readSchemaVersion(pool)).toEqual({ kind: 'current' });

    const tokens = new PostgresTokenStore({ ...deps, key: new Secret(randomBytes(32).toString('base64')) });
    expect(await tokens.claim('client', 'app', 1_000)).toBe(true);
    expect(await tokens.save('client', 0, { accessToken: new Secret('t'), expiresAtMs: 1 })).toBe(true);
    expect((await tokens.load('client'))?.generation).toBe(1);
    await tokens.unclaim('client', 'app');

    // From partitions of five million rows on: a new one, and one that may go.
    await onServer(session.database.url, (client) => client.query("select setval('order_updates_seq', 12000000)"));
    await log.savePosition(0, 2n, 'log', 1n);
    await log.savePosition(0, 2n, 'state', 1n);
    // The server's own vacuum may hold a partition for a moment: that one goes with the next turn.
    const [made, dropped]: [string[], string[]] = [[], []];
    await eventually(async () => {
      const turn = await maintainLog(pool, { partitionRows: 1_000, retentionMs: 0 });
      made.push(...turn.made);
      dropped.push(...turn.dropped);
      expect(dropped).toEqual(['order_updates_1', 'order_updates_5000001']);
    });
    expect(made).toEqual(['order_updates_15000001', 'order_updates_15001001']);
    await lanes.release(0, 2n);
  });

  it('can keep the journal of commands, its outbox and its halts, and read for REST', async () => {
    await using session = await loggedInAs('tidemark_app');
    const { pool } = session;
    const deps = { pool, clock: systemClock, random: systemRandom };
    const journal = takingJournal(pool, createPostgresJournal(deps));
    expect(await journal.takeOver(fence, atMs, 0)).toEqual([]);
    const command = await unknown(journal);
    await journal.addEvidence(command.commandId, [answer()]);
    await journal.addToAuditTrail([{ atMs, principal: 'ann', action: 'halt' }]);
    const halted = {
      haltId: 'h',
      scope: { kind: 'service' },
      cause: 'rate',
      reason: 'r',
      by: 'b',
      sinceMs: atMs,
    } as const;
    expect(await journal.raiseHalt(halted)).toEqual(halted);
    expect(await journal.clearHalts(halted.scope, { by: 'ann', reason: 'over', atMs }, fence)).toBe(1);
    expect(await journal.takeOver({ shard: 0, epoch: 2n }, atMs, 0)).toEqual([command]);
    expect(await journal.unresolved(10)).toEqual([command]);

    const measure: Measure = {
      symbols: ['AAPL'],
      underlyings: ['AAPL'],
      instrument: 'equity',
      quantity: '10',
      notional: '1875',
      exposure: '1875',
      valuedByQuote: false,
    };
    const limits = { accountId: 'acct-1', by: 'ann', reason: 'desk', requestId: 'r', atMs };
    const bounds = { maxQuantity: '5', ordersPerMinute: 5, maxAccountExposure: '5' };
    expect(await journal.changeLimits({ ...limits, before: {}, bounds })).toBe(true);
    expect(await journal.open(newPlace({ measure }), { shard: 0, epoch: 2n })).toMatchObject({ kind: 'limited' });
    expect(await journal.changeLimits({ ...limits, before: bounds, bounds: { maxQuantity: '9' } })).toBe(true);
    expect(await journal.changeLimits({ ...limits, before: { maxQuantity: '9' }, bounds: {} })).toBe(true);
    const approval = {
      approvalId: randomUUID(),
      action: { kind: 'resume', scope: halted.scope },
      by: 'ann',
      reason: 'r',
      requestId: 'r',
    } as const;
    await journal.requestApproval({ ...approval, lastsMs: 60_000 });
    expect(
      await journal.clearHalts(
        halted.scope,
        {
          ...{ by: 'ann', reason: 'r', atMs },
          approval: { approvalId: approval.approvalId, by: 'bob', reason: 'agreed', requestId: 's' },
        },
        { shard: 0, epoch: 2n },
      ),
    ).toBe(0);
    expect(await journal.approvals()).toEqual([]);

    const cancelAll = newCancelAll({ atMs: Date.now() });
    const second = { shard: 0, epoch: 2n };
    expect(await journal.openCancelAll(cancelAll, second)).toEqual({ kind: 'opened', cancelAll });
    expect(await journal.findCancelAll(0, 'desk', cancelAll.idempotencyKey)).toEqual(cancelAll);

    const outbox = new PostgresResultLog(deps);
    await outbox.markPublished(await outbox.readUnpublished(10, [0]));
    expect(await maintainCommands(pool, { retentionMs: -1_000 })).toEqual({ forgotten: 2, freedKeys: 0 });

    const reads = postgresOrderReads(deps);
    const all = { kind: 'all' } as const;
    expect((await reads.findCommand(all, command.commandId))?.command).toEqual(command);
    expect((await reads.listCommands(all, {}, undefined, 10)).items).toEqual([command]);
    expect(await reads.exposure(all, undefined)).toHaveLength(1);
    const { horizon } = await reads.eventHorizon();
    // Its events were forgotten above.
    expect((await reads.eventsAfter({ tx: 0n, number: 0n }, horizon, 9)).complete).toBe(false);
    expect(await reads.getOrder(all, 'account', 'o-1')).toBeUndefined();
    expect(await reads.listOrders(all, { open: true }, undefined, 10)).toEqual({ items: [] });
    expect(await reads.history(all, 'account', 'o-1', 0, 10)).toBeUndefined();
    expect((await reads.updatesAfter(all, 0n, 10)).updates).toEqual([]);
    expect(await reads.accounts(all)).toEqual({ items: [] });
    const principals = new PostgresPrincipalStore(deps);
    expect(await principals.active()).toEqual([]);
  });

  it('can take nothing away from the journal, and bind no order by itself', async () => {
    await using session = await loggedInAs('tidemark_app');
    for (const statement of [
      'delete from journal',
      'update journal set body = body',
      'truncate journal',
      'delete from facts',
      'update facts set body = body',
      'delete from audit_log',
      'update audit_log set action = action',
      'update open_commands set account_id = account_id',
      'delete from halts',
      'update halts set reason = reason',
      "insert into order_bindings values ('account', 'o', 'tm-1', gen_random_uuid(), true)",
      'delete from order_bindings',
      "insert into principal_tokens values ('me', 1, decode(repeat('ab', 32), 'hex'), '{ops:write}', null)",
      'update principal_tokens set expires_at = now()',
      'delete from principal_tokens',
      'alter table journal disable trigger journal_guard',
    ]) {
      await expect(session.pool.query(statement), statement).rejects.toMatchObject({ code: '42501' });
    }
  });

  it('can write orders and the log in no other way than through a batch, and can change no table', async () => {
    await using session = await loggedInAs('tidemark_app');
    for (const statement of [
      "insert into orders (stream, order_id, lane, account_id, symbol, status, revision, state, join_state) values ('a', 'b', 0, 'c', 'd', 'new', 1, '{}', '{}')",
      'update orders set revision = 1',
      'delete from orders',
      'delete from order_updates',
      'update order_updates set payload = payload',
      'truncate order_updates',
      'drop table order_updates_1',
      'alter table order_updates detach partition order_updates_1',
      "select nextval('order_updates_seq')",
      "select setval('order_updates_seq', 1)",
      'select enter_lane(0, 1, 1)',
      "select after_restore(0, 1, 'h', 'me')",
      'delete from lanes',
      'insert into shards (shard) values (16)',
      'update shards set shard = 16 where shard = 0',
      'delete from shards',
      'update dead_letters set raw = raw',
      'delete from credentials',
      'create table mine (a int)',
      'create schema mine',
      'delete from drizzle.__drizzle_migrations',
    ]) {
      await expect(session.pool.query(statement), statement).rejects.toMatchObject({ code: '42501' });
    }
  });
});

describe('a member of tidemark_reader', () => {
  it('can read what the service knows, but no credentials', async () => {
    await using session = await loggedInAs('tidemark_reader');
    const journal = [
      'commands',
      'attempts',
      'evidence',
      'command_events',
      'journal',
      'open_commands',
      'facts',
      'result_positions',
      'order_bindings',
      'halts',
      'audit_log',
      'cancel_alls',
    ];
    for (const table of [
      'orders',
      'order_updates',
      'lanes',
      'relay_positions',
      'accounts',
      'dead_letters',
      'repair_requests',
      'dead_letter_jobs',
      ...journal,
    ]) {
      expect((await session.pool.query(`select * from ${table}`)).rows).toEqual([]);
    }
    await expect(session.pool.query('select * from credentials')).rejects.toMatchObject({ code: '42501' });
    expect(
      (
        await session.pool.query(
          'select principal, number, scopes, accounts, created_at, expires_at from principal_tokens',
        )
      ).rows,
    ).toEqual([]);
    await expect(session.pool.query('select token_sha256 from principal_tokens')).rejects.toMatchObject({
      code: '42501',
    });
  });

  it('can write nothing', async () => {
    await using session = await loggedInAs('tidemark_reader');
    const { rows } = await session.pool.query<{ table: string }>(
      "select relname as table from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')",
    );
    expect(rows.length).toBeGreaterThan(7);
    for (const { table } of rows) {
      await expect(session.pool.query(`delete from ${table}`), table).rejects.toMatchObject({ code: '42501' });
      await expect(session.pool.query(`insert into ${table} default values`), table).rejects.toMatchObject({
        code: '42501',
      });
    }
    const calls = [
      'select ensure_log_partitions(1)',
      "select drop_log_partition('0')",
      'select enter_lane(0, 1, 1)',
      `select apply_batch(0, 1, 1, ${Array(24).fill('null').join(', ')})`,
      `select apply_batch_with_bindings(0, 1, 1, ${Array(29).fill('null').join(', ')})`,
      "select open_cancel_all(0, 1, '{}')",
      'select append_journal(null, null, null, null)',
      'select take_over_commands(0, 1)',
      "select add_facts(gen_random_uuid(), '[]')",
      "select after_restore(0, 1, 'h', 'me')",
    ];
    for (const call of calls) await expect(session.pool.query(call), call).rejects.toMatchObject({ code: '42501' });
  });
});
