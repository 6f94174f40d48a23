import type pg from 'pg';
import { systemClock } from '../../../src/runtime/clock.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { PostgresLaneStore } from '../../../src/store/fleet/lane-store.ts';
import type { Batch, DeadLetterRow, HeadRow, UpdateRow } from '../../../src/store/orders/order-store.ts';
import { PostgresOrderStore } from '../../../src/store/orders/postgres-orders.ts';
import { DatabaseSession } from '../../../src/store/session/database-session.ts';
import { createPool } from '../../../src/store/session/pool.ts';
import { eventually } from '../runs/poll.ts';
import { testLog } from '../runs/test-log.ts';
import { freshDatabase, type TestDatabase } from '../servers/database.ts';
import { TcpProxy } from '../servers/tcp-proxy.ts';
import { placesOf } from './batch-places.ts';

export interface StoreRigOptions {
  /** Left out: a new one. It is dropped with the rig. */
  readonly database?: TestDatabase;
  /** The lane's connection goes through a proxy, whose faults are the caller's to switch. */
  readonly proxied?: boolean;
}

/**
 * The real store on a database of its own, holding lane 0, with a superuser
 * beside it that looks and gets in the way.
 */
export async function storeRig(options: StoreRigOptions = {}) {
  const stack = new AsyncDisposableStack();
  const database = stack.use(options.database ?? (await freshDatabase()));
  const proxy = stack.use(await TcpProxy.start({ targetPort: Number(new URL(database.url).port || 5432) }));
  const pool = createPool({ log: testLog }, { url: database.url, applicationName: 'test', maxConnections: 5 });
  stack.defer(() => pool.end());
  const url = options.proxied === true ? proxiedUrl(database.url, proxy) : database.url;
  const deps = { pool, clock: systemClock, random: systemRandom, log: testLog };
  const store = new PostgresOrderStore(deps, { url, partitionRows: 1_000 });
  stack.defer(() => store.close());
  const lanes = new PostgresLaneStore(deps);
  const acquired = await lanes.acquire(0, 'first', 6_000);
  if (acquired.kind !== 'held') throw new Error('the lane of a new database is held by somebody');

  return {
    database,
    proxy,
    pool,
    store,
    lanes,
    deps,
    epoch: acquired.epoch,
    /** What a query shows. */
    async rows<R extends object>(text: string, values: unknown[] = []): Promise<R[]> {
      return (await pool.query<R & Record<string, unknown>>(text, values)).rows;
    },
    /** The lane's batch number as anybody sees it now: no verdict. */
    async laneBatch(): Promise<number> {
      return Number((await pool.query('select lane_batch(0) as batch')).rows[0]?.batch);
    },
    /** A session of a rival; ended with the rig. */
    async rival(): Promise<pg.Client> {
      const client = new DatabaseSession({
        connectionString: database.url,
        query_timeout: 30_000,
        connectionTimeoutMillis: 10_000,
      });
      client.on('error', () => undefined);
      await client.connect();
      stack.defer(() => client.end());
      return client;
    },
    /** The pid of the lane's backend, once it waits for a lock. */
    laneBlocked(): Promise<number> {
      return eventually(async () => {
        const { rows } = await pool.query(
          `select pid from pg_stat_activity
           where datname = current_database() and application_name = 'tidemark-lane' and wait_event_type = 'Lock'`,
        );
        if (rows.length !== 1) throw new Error(`${rows.length} backends of the lane wait for a lock`);
        return Number(rows[0]?.pid);
      });
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

export function proxiedUrl(url: string, proxy: TcpProxy): string {
  const proxied = new URL(url);
  proxied.hostname = '127.0.0.1';
  proxied.port = String(proxy.port);
  return proxied.href;
}

export function head(orderId: string, revision: number, over: Partial<HeadRow> = {}): HeadRow {
  return {
    stream: 'prediction',
    orderId,
    accountId: 'acct-1',
    symbol: 'FED-CUT',
    status: 'new',
    revision,
    reducedFrom: revision - 1,
    sourceVersion: String(9_007_199_254_740_992n + BigInt(revision)),
    state: JSON.stringify({ stream: 'prediction', orderId, status: 'new', updatedAt: '2026-11-21T14:31:07.654321Z' }),
    join: '{"rank":2}',
    ...over,
  };
}

export function update(orderId: string, revision: number, over: Partial<UpdateRow> = {}): UpdateRow {
  return {
    stream: 'prediction',
    orderId,
    accountId: 'acct-1',
    revision,
    payload: `{"order":"${orderId}/${revision}"}`,
    ...over,
  };
}

export function deadLetter(over: Partial<DeadLetterRow> = {}): DeadLetterRow {
  return {
    ...{
      stream: 'account',
      accountId: null,
      orderId: null,
      reason: 'not_json',
      detail: 'no JSON',
      raw: '{',
      observedAtMs: 0,
    },
    ...over,
  };
}

/** A batch of one change for each of the orders, or of what `over` says. */
export function batch(
  epoch: bigint,
  number: number,
  orders: readonly [string, number][],
  over: Partial<Batch> = {},
): Batch {
  const rows = {
    heads: orders.map(([orderId, revision]) => head(orderId, revision)),
    updates: orders.map(([orderId, revision]) => update(orderId, revision)),
    deadLetters: [],
    ...over,
  };
  return { lane: 0, epoch, number: BigInt(number), places: placesOf(rows), ...rows };
}
