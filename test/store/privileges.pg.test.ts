import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { Secret } from '../../src/runtime/secret.ts';
import { PostgresAccountRegistry } from '../../src/store/account-registry.ts';
import { countOrders } from '../../src/store/count-orders.ts';
import { PostgresLaneStore } from '../../src/store/lane-store.ts';
import { maintainLog } from '../../src/store/maintain-log.ts';
import { PostgresOrderStore } from '../../src/store/order-store.ts';
import { createPool } from '../../src/store/pool.ts';
import { countQuarantined, listQuarantined, markDealt } from '../../src/store/quarantine.ts';
import { listOrders } from '../../src/store/read-orders.ts';
import { readSchemaVersion } from '../../src/store/schema-version.ts';
import { PostgresTokenStore } from '../../src/store/token-store.ts';
import { PostgresUpdateLog } from '../../src/store/update-log.ts';
import { freshDatabase } from '../support/database.ts';
import { onServer } from '../support/on-server.ts';
import { batch, quarantined } from '../support/store-rig.ts';
import { testLog } from '../support/test-log.ts';

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
    const lanes = new PostgresLaneStore({ pool });
    expect(await lanes.acquire(0, 'app', 6_000)).toEqual({ kind: 'held', epoch: 1n, batch: 0n });
    expect(await lanes.renew(0, 1n)).toBe(true);
    const first = batch(1n, 1, [['a', 1]], { quarantine: [quarantined()] });
    expect((await store.applyBatch(first)).kind).toBe('committed');
    expect((await store.readHeads(['prediction:a'])).size).toBe(1);
    expect(await lanes.reclaim(0, 1n)).toEqual({ epoch: 2n, batch: 1n });

    const log = new PostgresUpdateLog(deps);
    const rows = await log.readAfter(0, 0n, 10);
    expect(rows).toHaveLength(1);
    expect((await log.readNewestAfter(0, 0n, 10)).rows).toEqual(rows);
    expect((await log.pendingAfter(0, 0n)).rows).toBe(1);
    expect(await log.savePosition(0, 2n, 'log', 1n)).toBe(true);
    expect(await log.savePosition(0, 2n, 'log', 2n)).toBe(true);
    expect(await log.loadPosition(0, 'log')).toBe(2n);

    const registry = new PostgresAccountRegistry(deps);
    await registry.save({ stream: 'account', accountId: 'a', isSim: true, sourceEpoch: 0, readUpTo: undefined });
    await registry.save({ stream: 'account', accountId: 'a', isSim: true, sourceEpoch: 1, readUpTo: undefined });
    expect(await registry.load()).toHaveLength(1);
    expect(await registry.openOrders('prediction', 'acct-1', 9e12, '', 10)).toHaveLength(1);

    const [stored] = await listQuarantined(pool, 0n, 10);
    expect(await countQuarantined(pool)).toHaveLength(1);
    expect(await markDealt(pool, stored?.id ?? 0n)).toBe(true);
    expect(await countOrders(pool)).toHaveLength(1);
    expect(await listOrders(pool, { stream: 'prediction', accountId: 'acct-1', limit: 10 })).toHaveLength(1);
    expect(await readSchemaVersion(pool)).toEqual({ kind: 'current' });

    const tokens = new PostgresTokenStore({ ...deps, key: new Secret(randomBytes(32).toString('base64')) });
    expect(await tokens.claim('client', 'app', 1_000)).toBe(true);
    expect(await tokens.save('client', 0, { accessToken: new Secret('t'), expiresAtMs: 1 })).toBe(true);
    expect((await tokens.load('client'))?.generation).toBe(1);
    await tokens.unclaim('client', 'app');

    // From partitions of five million rows on: a new one, and one that may go.
    await onServer(session.database.url, (client) => client.query("select setval('order_updates_seq', 12000000)"));
    await log.savePosition(0, 2n, 'log', 12_000_000n);
    await log.savePosition(0, 2n, 'state', 12_000_000n);
    expect(await maintainLog(pool, { partitionRows: 1_000, retentionMs: 0 })).toEqual({
      made: ['order_updates_15000001', 'order_updates_15001001'],
      dropped: ['order_updates_1', 'order_updates_5000001'],
      forgotten: 1,
    });
    await lanes.release(0, 2n);
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
      'delete from lanes',
      'update quarantine set raw = raw',
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
    for (const table of ['orders', 'order_updates', 'lanes', 'relay_positions', 'accounts', 'quarantine']) {
      expect((await session.pool.query(`select * from ${table}`)).rows).toEqual([]);
    }
    await expect(session.pool.query('select * from credentials')).rejects.toMatchObject({ code: '42501' });
  });

  it('can write nothing', async () => {
    await using session = await loggedInAs('tidemark_reader');
    const { rows } = await session.pool.query<{ table: string }>(
      "select relname as table from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')",
    );
    expect(rows.length).toBeGreaterThan(7);
    for (const { table } of rows) {
      await expect(session.pool.query(`delete from ${table}`), table).rejects.toMatchObject({ code: '42501' });
      await expect(session.pool.query(`insert into ${table} default values`), table).rejects.toMatchObject({ code: '42501' });
    }
    const calls = [
      'select ensure_log_partitions(1)',
      "select drop_log_partition('0')",
      'select enter_lane(0, 1, 1)',
      `select apply_batch(0, 1, 1, ${Array(21).fill('null').join(', ')})`,
    ];
    for (const call of calls) await expect(session.pool.query(call), call).rejects.toMatchObject({ code: '42501' });
  });
});
