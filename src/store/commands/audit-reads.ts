import type { Pool } from 'pg';
import { encodeUpdate } from '../../domain/encode-update.ts';
import { decodeHead } from '../../domain/head.ts';
import type { Stream } from '../../domain/order.ts';
import { shardOf } from '../../domain/partition.ts';
import { textArray } from '../orders/binary-array.ts';
import { readableRows, readRow } from '../rows.ts';

/** One order, as the orders table and the log have it. */
export interface AuditedOrder {
  readonly stream: Stream;
  readonly orderId: string;
  readonly revision: number;
  /** Its newest row in the log; undefined: retention has removed all its rows. */
  readonly newest?: {
    readonly lane: number;
    readonly seq: bigint;
    readonly revision: number;
    readonly generation: number;
    readonly recordedMs: number;
  };
  /**
   * How many revisions the log lacks between its oldest and its newest row. A chain that ends
   * within the log counts as one: what is below is not known.
   */
  readonly holes: number;
  /** Neither the log nor the orders table has its newest state. */
  readonly stateless: boolean;
}

/** Numbers are texts, but for the lane. Null: the log has no row of it. */
type AuditRow = Pick<AuditedOrder, 'stream' | 'orderId' | 'stateless'> & { readonly lane: number | null } & {
  readonly [column in 'revision' | 'newest' | 'seq' | 'generation' | 'recordedMs' | 'holes']: string | null;
};

/** Orders on one page: an index look-up for each row of each order in the log. */
const pageRows = 1_000;

/**
 * Every order with its rows in the log, a page at a time, by key. A page is one snapshot for both.
 * Rejects when the database can't be reached.
 */
export async function* auditOrders(pool: Pool): AsyncGenerator<AuditedOrder, void, undefined> {
  let after: readonly [string, string] = ['', ''];
  for (;;) {
    const { rows } = await pool.query<AuditRow>(
      `with page as (
         select stream, order_id, lane, seq, revision, state is null as in_log from public.orders where (stream, order_id) > ($1, $2) order by stream, order_id limit $3
       ), kept as materialized (select min(from_seq) as from_seq from public.log_partitions())
       select p.stream, p.order_id as "orderId", p.revision, n.revision as newest, n.lane, n.seq, n.generation, n.recorded_ms as "recordedMs", p.in_log and n.seq is null as stateless,
         abs(n.revision - c.oldest + 1 - c.rows) + case when c.below >= k.from_seq then 1 else 0 end as holes
       from page p cross join kept k
       left join lateral (
         select min(u.revision) as oldest, count(*) as rows, (array_agg(u.before_seq order by u.revision))[1] as below,
           (array_agg(u.lane order by u.revision desc))[1] as lane, (array_agg(u.seq order by u.revision desc))[1] as seq
         from public.order_chain(p.stream, p.order_id, 0) u
       ) c on true
       left join lateral (
         select u.revision, u.lane, u.seq, substring(left(u.payload, 1200) from '"generation":([0-9]+)') as generation, extract(epoch from u.recorded_at) * 1000 as recorded_ms
         from public.order_updates u where u.lane = c.lane and u.seq = c.seq limit 1
       ) n on true
       order by p.stream, p.order_id`,
      [...after, pageRows],
    );
    yield* rows.map(toAudited);
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    after = [last.stream, last.orderId];
  }
}

/** SQL: the orders `o` under keys `k` ($1), each `<stream>:<orderId>`. */
const ofKeys = (orders: 'orders' | 'current_orders') => `unnest($1::text[]) as k(key)
  join public.${orders} o on o.stream = split_part(k.key, ':', 1) and o.order_id = substr(k.key, strpos(k.key, ':') + 1)`;

/**
 * The orders' present revisions, by `<stream>:<orderId>`. Orders that are not stored are left out.
 */
export async function readRevisions(pool: Pool, keys: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ key: string; revision: string }>(
    `select k.key, o.revision from ${ofKeys('orders')}`,
    [textArray(keys)],
  );
  return new Map(rows.map(({ key, revision }) => [key, Number(revision)]));
}

function toAudited({ newest, lane, seq, generation, recordedMs, revision, holes, ...row }: AuditRow): AuditedOrder {
  const found = newest !== null && {
    newest: {
      lane: lane ?? 0,
      seq: BigInt(seq ?? 0),
      revision: Number(newest),
      generation: Number(generation ?? 0),
      recordedMs: Number(recordedMs),
    },
  };
  return { ...row, revision: Number(revision), ...found, holes: Number(holes ?? 0) };
}

export interface Standby {
  /** Null: it has replayed no commit since its start. */
  readonly replayedAt: string | null;
}

/** Undefined: the server is the primary. */
export async function readStandby(pool: Pool): Promise<Standby | undefined> {
  const { rows } = await pool.query<{ standby: boolean; at: Date | null }>(
    'select pg_is_in_recovery() as standby, pg_last_xact_replay_timestamp() as at',
  );
  const [row] = rows;
  return row?.standby ? { replayedAt: row.at?.toISOString() ?? null } : undefined;
}

/**
 * Dead letters not dealt with, and how many orders they name. If a frame could not be read, its
 * row names none.
 */
export interface DeadLetters {
  readonly rows: number;
  readonly orders: number;
}

export async function countDeadLetterOrders(pool: Pool): Promise<DeadLetters> {
  const { rows } = await pool.query<{ rows: string; orders: string }>(
    `select count(*) as rows, count(distinct (stream, order_id)) filter (where order_id is not null) as orders
     from public.dead_letters where dealt_at is null`,
  );
  return { rows: Number(rows[0]?.rows), orders: Number(rows[0]?.orders) };
}

/**
 * The lane that may write each order's state now. That is the lane with the account's shard. If the
 * shard is free, it is the lane that stored the order first. Keys are `<stream>:<orderId>`. Orders
 * that are not stored are left out.
 */
export async function writingLanes(pool: Pool, keys: readonly string[]): Promise<Map<string, number>> {
  const shards = await pool.query<{ lane: number | null }>('select lane from public.shards order by shard');
  const { rows } = await pool.query<{ key: string; account_id: string; lane: number }>(
    `select k.key, o.account_id, o.lane from ${ofKeys('orders')}`,
    [textArray(keys)],
  );
  const holder = (accountId: string) => shards.rows[shardOf(accountId, shards.rows.length)]?.lane;
  return new Map(rows.map(({ key, account_id, lane }) => [key, holder(account_id) ?? lane]));
}

interface PayloadRow {
  readonly key: string;
  readonly revision: string;
  readonly sourceVersion: string | null;
  /** Null: it can't be read. */
  readonly state: string | null;
  readonly join: string;
  readonly updatedAt: Date;
  readonly generation: number;
  readonly payload: string | null;
}

/**
 * The newest update for each order, as it belongs on the state topic. This is the row in the log.
 * If retention has removed that row, the update is made from the stored order; then `changed` is
 * empty, and the generation is the lane's present one. Keys are `<stream>:<orderId>`. Orders that
 * are not stored are left out, and those whose state can't be read.
 */
export async function newestPayloads(pool: Pool, keys: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await pool.query<PayloadRow>(
    `select k.key, o.revision, o.source_version as "sourceVersion", o.state::text as state, o.join_state::text as join, o.updated_at as "updatedAt", l.generation, u.payload
     from ${ofKeys('current_orders')}
     join public.lanes l on l.lane = o.lane
     left join lateral (
       select payload from public.order_chain(o.stream, o.order_id, o.revision - 1) c join public.order_updates u on u.lane = c.lane and u.seq = c.seq limit 1) u on true`,
    [textArray(keys)],
  );
  return new Map(
    readableRows(
      rows,
      (row) => [row.key, readRow('orders', row.key, () => payloadOf(row))],
      () => {},
    ),
  );
}

function payloadOf({ state, join, revision, sourceVersion, updatedAt, generation, payload }: PayloadRow): string {
  if (state === null) throw new TypeError('it shows no order');
  if (payload !== null) return payload;
  const head = decodeHead({ state, join, revision: Number(revision), sourceVersion });
  return encodeUpdate({
    head,
    orderJson: state,
    generation,
    cause: 'snapshot',
    occurredAt: head.order.updatedAt,
    observedAt: updatedAt.toISOString(),
    changed: [],
  });
}
