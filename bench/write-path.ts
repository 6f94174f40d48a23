import { parseArgs } from 'node:util';
import pg from 'pg';
import { startPostgres } from '../src/demo/devstack/start-postgres.ts';
import { encodeHeadJoin, encodeOrder, encodeUpdate } from '../src/domain/encode-update.ts';
import type { Head } from '../src/domain/head.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { systemRandom } from '../src/runtime/random.ts';
import { PostgresLaneStore } from '../src/store/fleet/lane-store.ts';
import { migrate } from '../src/store/migrate.ts';
import type { HeadRow, UpdateRow } from '../src/store/orders/order-store.ts';
import { PostgresOrderStore } from '../src/store/orders/postgres-orders.ts';
import { createPool } from '../src/store/session/pool.ts';
import { percentile } from './percentile.ts';
import { benchLog as log, onServer } from './stack.ts';

const defaultOrders = 20_000;
const idPrefix = '7d9f0a52-4c1e-4a53-9d0e-';

export interface WritePathOptions {
  /** Any database of the server, as a login that may create databases: it makes one of its own. */
  readonly url: string;
  readonly seconds: number;
  /** Orders known before it begins, all of them updated in turn. Default 20,000. */
  readonly orders?: number;
  /** Orders known besides, scattered among them, that nothing is heard of any more. Default 0. */
  readonly idle?: number;
  /** Rows of a batch. Default 500. */
  readonly batchRows?: number;
  /** Another session holds a snapshot open from the begin to the end, as a backup does. */
  readonly openSnapshot?: boolean;
  /**
   * What is written, taken in turn under an id for each order: rows of a real run. Without it: one
   * realistic order, made up.
   */
  readonly rows?: readonly WritePathRow[];
}

export interface WritePathRow {
  readonly head: Omit<HeadRow, 'revision' | 'reducedFrom'>;
  readonly update: Omit<UpdateRow, 'revision'>;
}

export interface WritePathFigures {
  readonly rowsPerSecond: number;
  readonly rows: number;
  readonly payloadBytes: number;
  readonly batchP99Ms: number;
  /** This process, user and system. */
  readonly nodeMicrosPerRow: number;
  /** Of the write-ahead log, page images and all else that the server writes meanwhile included. */
  readonly walBytesPerRow: number;
  /** On the disk, of the log with its indexes. */
  readonly logBytesPerRow: number;
}

/**
 * The bare write path: `apply_batch` alone through the store, batches pipelined two deep, every row
 * an update of a known order.
 */
export async function measureWritePath(options: WritePathOptions): Promise<WritePathFigures> {
  const name = `bench_write_${systemRandom.uuid().slice(0, 8)}`;
  const url = new URL(options.url);
  url.pathname = `/${name}`;
  await onServer(options.url, `create database ${name}`);
  try {
    await migrate({ url: url.href, log, clock: systemClock });
    await fill(url.href, options);
    const backup = options.openSnapshot ? await openSnapshot(url.href) : undefined;
    return await measure(url.href, options).finally(() => backup?.end());
  } finally {
    await onServer(options.url, `drop database ${name} with (force)`);
  }
}

/**
 * Orders as if each had been seen once, written by the server itself: a million of them in seconds.
 */
async function fill(url: string, { orders = defaultOrders, idle = 0, rows = [] }: WritePathOptions): Promise<void> {
  const { head, update } = rows[0] ?? sample(0);
  const every = 1 + Math.round(idle / orders);
  // The idle ones keep their state in `orders`, as after a move; the others' is in the log.
  await onServer(
    url,
    `insert into public.orders (stream, order_id, lane, account_id, symbol, status, revision, source_version, join_state, state, seq)
     select $1, $2 || case when n % $9 = 0 then lpad((n / $9)::text, 12, '0') else 'idle-' || n end, 0, $3, $4, $5, 1, $6::bigint, $7::json,
       case when n % $9 > 0 then $10::json end, case when n % $9 = 0 then nextval('public.order_updates_seq') end
     from generate_series(0, $8::int * $9::int - 1) n`,
    [
      ...[head.stream, idPrefix, head.accountId, head.symbol, head.status, head.sourceVersion, head.join],
      ...[orders, every, head.state],
    ],
  );
  await onServer(
    url,
    `insert into public.order_updates (seq, lane, batch, stream, order_id, account_id, revision, payload)
     select seq, lane, 0, stream, order_id, account_id, revision, $1 from public.orders where seq is not null`,
    [update.payload],
  );
  await onServer(url, 'vacuum analyze public.orders');
  await onServer(url, 'checkpoint');
}

async function openSnapshot(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  await client.connect();
  await client.query('begin isolation level repeatable read; select 1 from public.lanes');
  return client;
}

async function measure(
  url: string,
  { seconds, orders = defaultOrders, rows = [], batchRows = 500 }: WritePathOptions,
): Promise<WritePathFigures> {
  const pool = createPool({ log }, { url, applicationName: 'bench', maxConnections: 2 });
  const store = new PostgresOrderStore(
    { pool, clock: systemClock, random: systemRandom, log },
    { url, partitionRows: 5_000_000 },
  );
  try {
    const lane = await new PostgresLaneStore({ pool, random: systemRandom }).acquire(0, 'bench', 6_000);
    if (lane.kind !== 'held') throw new Error('the lane of a new database is held by somebody');
    const texts = Array.from(
      { length: Math.min(orders, 20_000) },
      (_, i) => renamed(rows[i % rows.length], i) ?? sample(i),
    );
    const revisions = new Array<number>(orders).fill(1);
    let next = 0;
    let number = 0n;
    const apply = async (): Promise<number> => {
      const heads: HeadRow[] = [];
      const updates: UpdateRow[] = [];
      for (let k = 0; k < batchRows; k += 1) {
        const i = next;
        // A prime stride: neighbours in a batch are no neighbours in the table.
        next = (next + 104_729) % orders;
        const text = texts[i % texts.length];
        if (text === undefined) continue;
        const revision = (revisions[i] ?? 1) + 1;
        revisions[i] = revision;
        const orderId = `${idPrefix}${String(i).padStart(12, '0')}`;
        heads.push({ ...text.head, orderId, revision, reducedFrom: revision - 1 });
        updates.push({ ...text.update, orderId, revision });
      }
      number += 1n;
      const startMs = performance.now();
      const places = { newest: heads.map((_, k) => k + 1), before: heads.map((_, k) => -(k + 1)) };
      const rows = { heads, updates, places, deadLetters: [] };
      const result = await store.applyBatch({ lane: 0, epoch: lane.epoch, number, ...rows });
      if (result.kind !== 'committed') throw new Error(`a batch ended as ${JSON.stringify(result)}`);
      return performance.now() - startMs;
    };
    for (let i = 0; i < 20; i += 1) await apply();
    const before = await written(pool);
    const figures = await twoDeep(apply, { seconds, batchRows });
    const after = await written(pool);
    return {
      ...figures,
      payloadBytes: meanPayloadBytes(texts),
      walBytesPerRow: Math.round((after.wal - before.wal) / figures.rows),
      logBytesPerRow: Math.round((after.log - before.log) / figures.rows),
    };
  } finally {
    await store.close();
    await pool.end();
  }
}

/** Bytes of the write-ahead log, and of the log of updates with its indexes. */
async function written(pool: pg.Pool) {
  const { rows } = await pool.query<{ wal: string; log: string }>(
    `select pg_current_wal_lsn() - '0/0' as wal,
       (select sum(pg_total_relation_size(inhrelid)) from pg_inherits where inhparent = 'public.order_updates'::regclass) as log`,
  );
  return { wal: Number(rows[0]?.wal), log: Number(rows[0]?.log) };
}

async function twoDeep(
  apply: () => Promise<number>,
  { seconds, batchRows }: { readonly seconds: number; readonly batchRows: number },
): Promise<Pick<WritePathFigures, 'rowsPerSecond' | 'rows' | 'batchP99Ms' | 'nodeMicrosPerRow'>> {
  const batchMs: number[] = [];
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  const worker = async () => {
    while (performance.now() - startMs < seconds * 1000) batchMs.push(await apply());
  };
  await Promise.all([worker(), worker()]);
  const elapsedMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpu);
  const rows = batchMs.length * batchRows;
  return {
    rowsPerSecond: Math.round((rows / elapsedMs) * 1000),
    rows,
    batchP99Ms: Number(percentile(batchMs, 0.99).toFixed(1)),
    nodeMicrosPerRow: Number(((user + system) / rows).toFixed(1)),
  };
}

function renamed(row: WritePathRow | undefined, i: number): WritePathRow | undefined {
  if (row === undefined) return undefined;
  const orderId = `${row.head.orderId.slice(0, -8)}${String(i).padStart(8, '0')}`;
  return { head: { ...row.head, orderId }, update: { ...row.update, orderId } };
}

function meanPayloadBytes(rows: readonly WritePathRow[]): number {
  return Math.round(rows.reduce((sum, { update }) => sum + Buffer.byteLength(update.payload), 0) / rows.length);
}

/**
 * One order in the middle of its life, every field that a prediction
 * order has: the texts as ingest makes them.
 */
function sample(i: number): WritePathRow {
  const id = String(i).padStart(12, '0');
  const head: Head = {
    order: {
      stream: 'prediction',
      orderId: `${idPrefix}${id}`,
      accountId: `acct-${String(i % 50).padStart(6, '0')}`,
      instrument: { kind: 'prediction', symbol: 'FED-CUT-2026-12', outcome: 'YES' },
      side: 'buy',
      orderType: 'limit',
      timeInForce: 'gtc',
      status: 'partially_filled',
      statusRaw: 'partially_filled',
      certainty: 'certain',
      pendingAction: 'none',
      quantity: '1200',
      price: '0.42',
      working: { quantity: '1200', price: '0.42', orderType: 'limit' },
      cumQty: '317',
      leavesQty: '883',
      avgPrice: '0.4153',
      clOrdId: `b1946ac9-2c39-4c0a-8f35-${id}`,
      clientOrderRef: `b1946ac9-2c39-4c0a-8f35-${id}`,
      venueOrderId: `V-20261121-${id}`,
      placedBy: 'user-000017',
      origin: 'external',
      createdAt: '2026-11-21T14:30:00.123456Z',
      updatedAt: '2026-11-21T14:31:07.654321Z',
      sentAt: '2026-11-21T14:30:00.143456Z',
      firstAckAt: '2026-11-21T14:30:00.223456Z',
    },
    revision: 1,
    sourceVersion: 9_007_199_254_740_993n,
    join: { rank: 5, hash: '9f86d081884c7d65' },
  };
  const { order } = head;
  const { stream, orderId, accountId } = order;
  const state = encodeOrder(order);
  const payload = encodeUpdate({
    head,
    orderJson: state,
    generation: 1,
    cause: 'stream',
    occurredAt: order.updatedAt,
    observedAt: '2026-11-21T14:31:07.655Z',
    changed: ['cumQty', 'leavesQty', 'avgPrice', 'updatedAt'],
    fill: { quantity: '17', price: '0.42', inferred: false },
  });
  return {
    head: {
      stream,
      orderId,
      accountId,
      symbol: order.instrument.symbol,
      status: order.status,
      sourceVersion: String(head.sourceVersion),
      state,
      join: encodeHeadJoin(head),
    },
    update: { stream, orderId, accountId, payload },
  };
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      url: { type: 'string' },
      seconds: { type: 'string', default: '10' },
      orders: { type: 'string', default: String(defaultOrders) },
      idle: { type: 'string', default: '0' },
      'batch-rows': { type: 'string', default: '500' },
      'open-snapshot': { type: 'boolean', default: false },
    },
  });
  const postgres = values.url
    ? { url: values.url, stop: async () => {} }
    : await startPostgres({ clock: systemClock, log, cacheDir: '.cache' });
  try {
    const [seconds, orders, idle] = [Number(values.seconds), Number(values.orders), Number(values.idle)];
    const figures = await measureWritePath({
      ...{ url: postgres.url, seconds, orders, idle },
      batchRows: Number(values['batch-rows']),
      openSnapshot: values['open-snapshot'],
    });
    console.log(JSON.stringify(figures, null, 2));
  } finally {
    await postgres.stop();
  }
}
