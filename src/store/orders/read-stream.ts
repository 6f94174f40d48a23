import type { Pool } from 'pg';
import type { Stream } from '../../domain/order.ts';
import type { Clock } from '../../runtime/clock.ts';
import { inScope, scopeParameter } from '../account-scope.ts';
import type { AccountScope, OrderRead, StreamedUpdate } from './order-reads.ts';

interface StreamDeps {
  readonly pool: Pool;
  readonly clock: Clock;
}

interface UpdateRow {
  readonly seq: string;
  readonly stream: Stream;
  readonly order_id: string;
  readonly account_id: string;
  readonly payload: string;
}

interface StoredRow extends UpdateRow {
  readonly revision: string;
  readonly recorded_at: Date;
}

/**
 * One read for some accounts looks at this many rows in the log, from all accounts. A scope with
 * one quiet account must not read the whole log. For all accounts every row counts.
 */
const lookedAt = 5_000;

/**
 * Every lane's rows above $2, at most $3 from each; then the first $3 by seq. The key begins with
 * the lane, so each lane's rows are read separately.
 */
const newerOfAll = `public.lanes l cross join lateral (
  select seq, lane, stream, order_id, account_id, payload from public.order_updates where lane = l.lane and seq > $2 order by seq limit $3) as u`;

interface LogPage {
  readonly updates: readonly StreamedUpdate[];
  readonly lastSeq: bigint;
  readonly oldestSeq: bigint;
}

/**
 * The scope's updates above `afterSeq`, by seq: all there will ever be up to `lastSeq`. Within a
 * lane, seq order is commit order (see `enter_lane`); between two lanes it is not. A batch in
 * another lane than the last row's may still be under way, with a lower seq. Then the page is read
 * again once that batch has ended. With one lane there is never a wait. `oldestSeq` is where the
 * partitions begin that reach the first row without a gap: dropped ones and commits lost in a
 * failover (`begin_generation`) leave one, and seqs that a batch took and gave back never do.
 */
export async function readStream(
  deps: StreamDeps,
  scope: AccountScope,
  afterSeq: bigint,
  limit: number,
): Promise<LogPage> {
  const { xids, ...page } = await readPage(deps.pool, scope, afterSeq, limit);
  if (xids.length === 0) return page;
  await untilEnded(deps, xids);
  const { xids: _, ...complete } = await readPage(deps.pool, scope, afterSeq, limit, page.lastSeq);
  return complete;
}

/**
 * Not prepared (see `PostgresUpdateLog`). Every part has a lower bound on seq, so only partitions
 * from there on are touched. `upToSeq` limits the rows read, not the read itself: the planner
 * assumes a range with two ends is short.
 */
async function readPage(
  pool: Pool,
  scope: AccountScope,
  afterSeq: bigint,
  limit: number,
  upToSeq?: bigint,
): Promise<LogPage & { readonly xids: readonly string[] }> {
  const look = scope.kind === 'all' ? limit : Math.max(lookedAt, limit);
  const { rows } = await pool.query<
    { [column in keyof UpdateRow]: UpdateRow[column] | null } & {
      last_seq: string | null;
      oldest_seq: string | null;
      xids: readonly string[];
    }
  >(
    `with ${underWay}, found as (
       select * from (
         select u.seq, u.stream, u.order_id, u.account_id, u.payload from ${newerOfAll} order by u.seq limit $3
       ) as looked
       where stream <> 'watermarks' and ${inScope('account_id', 1)} and ($5::bigint is null or seq <= $5) order by seq limit $4
     ),
     bounds as materialized (
       select last_seq, array(select xid::text from under_way where lane <> last_lane) as xids,
         (select max(from_seq) from (select from_seq, lag(until_seq) over (order by from_seq) as before from public.log_partitions()) as p
          where before is distinct from from_seq and from_seq <= first_seq) as oldest_seq
       from (
         select min(seq) as first_seq, max(seq) as last_seq, (array_agg(lane order by seq desc))[1] as last_lane
         from (select u.seq, u.lane from ${newerOfAll} order by u.seq limit $3) as looked
         where $5::bigint is null or seq <= $5
       ) as reached
     )
     select * from bounds left join found on true order by found.seq`,
    [scopeParameter(scope), afterSeq.toString(), look, limit, upToSeq?.toString() ?? null],
  );
  const updates = rows.filter((row): row is typeof row & UpdateRow => row.seq !== null).map(toUpdate);
  const [row] = rows;
  const full = updates.length === limit ? updates.at(-1)?.seq : undefined;
  return {
    updates,
    lastSeq: full ?? BigInt(row?.last_seq ?? afterSeq),
    oldestSeq: BigInt(row?.oldest_seq ?? afterSeq + 1n),
    xids: row?.xids ?? [],
  };
}

/** The highest committed seq, once no lower one can be committed any more; 0 before the first. */
export async function readNewestSeq(deps: StreamDeps): Promise<bigint> {
  const { rows } = await deps.pool.query<{ seq: string; xids: readonly string[] }>(
    `with ${underWay}
     select seq, array(select xid::text from under_way where under_way.lane <> newest.lane) as xids
     from (select u.seq, u.lane from public.lanes l cross join lateral (
       select seq, lane from public.order_updates where lane = l.lane order by seq desc limit 1) as u order by u.seq desc limit 1) as newest`,
  );
  const [row] = rows;
  if (row !== undefined && row.xids.length > 0) await untilEnded(deps, row.xids);
  return BigInt(row?.seq ?? 0);
}

/**
 * One order's revisions above `afterRevision`, oldest first; undefined: no such order in the scope.
 * The log has no index on orders: this walks down from the newest one, some microseconds for each.
 */
export const readHistory: OrderRead<'history'> = async (pool, scope, stream, orderId, afterRevision, limit) => {
  if (orderId.includes('\0')) return undefined;
  const { rows } = await pool.query<{ [column in keyof StoredRow]: StoredRow[column] | null }>(
    `select u.* from public.orders o
     left join lateral (
       select n.*, c.revision from (select lane, seq, revision from public.order_chain($2, $3, $4) order by revision limit $5) as c
       cross join lateral (
         select seq, stream, order_id, account_id, payload, recorded_at from public.order_updates where lane = c.lane and seq = c.seq limit 1) as n
     ) as u on true
     where o.stream = $2 and o.order_id = $3 and ${inScope('o.account_id', 1)}`,
    [scopeParameter(scope), stream, orderId, afterRevision, limit],
  );
  if (rows.length === 0) return undefined;
  return rows
    .filter((row): row is StoredRow => row.seq !== null)
    .map((row) => ({ ...toUpdate(row), revision: Number(row.revision), recordedAt: row.recorded_at }))
    .sort((a, b) => (a.seq < b.seq ? -1 : 1));
};

function toUpdate({ seq, stream, order_id, account_id, payload }: UpdateRow): StreamedUpdate {
  return { seq: BigInt(seq), stream, orderId: order_id, accountId: account_id, payload };
}

/**
 * All lanes' batches not ended at the statement's snapshot, as a common table expression with
 * (lane, xid): `with ${underWay}, …`.
 *
 * A batch locks its lane's row before it takes its first seq, and no other batch can until it has
 * ended. While one is under way, the snapshot shows a row version with the batch's transaction id
 * in `xmax`, set before that seq. If the batch ends before the version is read, `xmax` may name the
 * next one. The snapshot does not show that one either, and to wait for it is to wait for both.
 * `xmax` may also name a batch or a lock that has ended: the snapshot shows that. The column holds
 * the id's lower 32 bits, and the snapshot's own id gives the rest. No transactions share a lock on
 * these rows (no foreign key points to them), so it is never a group's id.
 */
const underWay = `touched as materialized (
    select lane, top + ((xmax::text::bigint - top) << 32 >> 32) as xid
    from public.lanes, (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint) as snapshot(top) where xmax <> 0
  ), under_way as materialized (
    select lane, xid from touched where not pg_visible_in_snapshot(xid::text::xid8, pg_current_snapshot())
  )`;

interface UnderWayOptions {
  readonly everyMs: number;
  readonly deadlineMs: number;
}

/** A batch is one statement with a deadline at 4 s, and takes a few milliseconds. */
const underWayDefaults: UnderWayOptions = { everyMs: 5, deadlineMs: 5_000 };

/** A transaction stays open after it has changed a lane's row. */
class BatchStuckError extends Error {
  readonly code = 'BATCH_STUCK';
  readonly retryable = true;

  constructor(xids: readonly string[]) {
    super(`the row of a lane was changed by a transaction that does not end (xid ${xids.join(', ')})`);
    this.name = 'BatchStuckError';
  }
}

/**
 * Resolves once each transaction has ended, by commit or rollback. Rejects with `BatchStuckError`
 * after the deadline, and when the database can't be reached.
 */
export async function untilEnded(
  { pool, clock }: { readonly pool: Pool; readonly clock: Clock },
  xids: readonly string[],
  { everyMs, deadlineMs }: UnderWayOptions = underWayDefaults,
): Promise<void> {
  const deadline = clock.monotonicMs() + deadlineMs;
  for (;;) {
    const { rows } = await pool.query<{ xid: string }>(
      'select xid from unnest($1::xid8[]) as t(xid) where not pg_visible_in_snapshot(xid, pg_current_snapshot())',
      [xids],
    );
    if (rows.length === 0) return;
    if (clock.monotonicMs() >= deadline) throw new BatchStuckError(rows.map(({ xid }) => xid));
    await clock.sleep(everyMs);
  }
}
