import type { Pool } from 'pg';
import type { LogRow } from '../../domain/committed-batch.ts';
import { type PoolDeps, retryQuery } from '../session/retry-transaction.ts';

export interface StoredLogRow extends LogRow {
  readonly seq: bigint;
  /** The number of the batch that wrote it. */
  readonly batch: bigint;
}

export type RelayCursor = 'log' | 'state';

/** `lastSeq`: the last seq looked at. `endSeq`: the lane's last one then; 0n: it has none. */
export interface NewestRead {
  readonly rows: readonly StoredLogRow[];
  readonly lastSeq: bigint;
  readonly endSeq: bigint;
}

/**
 * The log of committed updates, which recovery reads, and the relay's own positions in it. Every
 * call has a deadline; rejects when the database can't be reached.
 */
export interface UpdateLog {
  /**
   * The lane's committed rows with seq above `afterSeq`, lowest first, at most `limit`. Never a row
   * whose predecessor may still commit.
   */
  readAfter(lane: number, afterSeq: bigint, limit: number): Promise<StoredLogRow[]>;
  /**
   * Looks at the lane's rows above `afterSeq`, at most `limit`, and gives the newest row that there
   * is now of each of their orders, which may be above those. Left out: orders whose newest row is
   * in another lane. Looks at fewer if the result would have more than `maxBytes`, at least at one
   * order.
   */
  readNewestAfter(lane: number, afterSeq: bigint, limit: number, maxBytes: number): Promise<NewestRead>;
  /** The last row known to be acknowledged; 0n at first. */
  loadPosition(lane: number, cursor: RelayCursor): Promise<bigint>;
  /** Never moves a position back. False: the epoch is no longer ours, nothing was saved. */
  savePosition(lane: number, epoch: bigint, cursor: RelayCursor, seq: bigint): Promise<boolean>;
  /**
   * The highest committed seq, how many rows are above `afterSeq`, and the oldest one's time in ms
   * since the epoch. For metrics: above 1,000 it may be an estimate.
   */
  pendingAfter(
    lane: number,
    afterSeq: bigint,
  ): Promise<{ readonly rows: number; readonly oldestMs: number | undefined }>;
  /** The lane's two cursors, and the rows waiting behind each. */
  backlog(lane: number): Promise<readonly RelayBacklog[]>;
}

interface Row {
  seq: string;
  batch: string;
  stream: string;
  order_id: string;
  account_id: string;
  payload: string;
}

/**
 * Above this many rows the backlog is the distance in seqs, rolled-back batches included. To count
 * a row is to read it.
 */
const countedRows = 1_000;

/**
 * The port `UpdateLog` in Postgres. Every read names the lane, has a lower bound on seq and follows
 * its order. So the primary key gives it only the lane's rows, from the partition with that bound
 * on. Within a lane seq order is commit order (see `enter_lane`): no predecessor of a row shown may
 * still commit. None is prepared: a plan made while a partition was empty would read all of it, row
 * by row, once it is full.
 */
export class PostgresUpdateLog implements UpdateLog {
  private readonly deps: PoolDeps;

  constructor(deps: PoolDeps) {
    this.deps = deps;
  }

  async readAfter(lane: number, afterSeq: bigint, limit: number): Promise<StoredLogRow[]> {
    const rows = await retryQuery<Row>(
      this.deps,
      `select seq, batch, stream, order_id, account_id, payload from public.order_updates
       where lane = $1 and seq > $2 order by seq limit $3`,
      [lane, afterSeq.toString(), limit],
    );
    return rows.map(toLogRow);
  }

  async readNewestAfter(lane: number, afterSeq: bigint, limit: number, maxBytes: number): Promise<NewestRead> {
    // Keys first, payloads after: from 10,000 updates on 1,000 orders, only 1,000 payloads are
    // read. The head says which row is the newest; one that a build without `seq` wrote does not.
    const rows = await retryQuery<Row & { last_seq: string | null; end_seq: string | null }>(
      this.deps,
      `with looked as materialized (
         select seq, stream, order_id from public.order_updates where lane = $1 and seq > $2 order by seq limit $3
       ), changed as (
         select stream, order_id, min(seq) as first, max(seq) as last from looked where stream <> 'watermarks' group by stream, order_id
       ), newest as materialized (
         select c.first, u.seq, sum(u.bytes) over (order by c.first) - u.bytes < $4 as fits
         from changed c
         left join lateral (select lane, seq from public.orders where stream = c.stream and order_id = c.order_id limit 1) o on true
         cross join lateral (
           select seq, octet_length(payload) as bytes from public.order_updates
           where lane = $1 and seq = case when o.lane = $1 or o.seq is null then greatest(o.seq, c.last) end limit 1) u
       ), ends as (
         select coalesce((select min(first) - 1 from newest where not fits), (select max(seq) from looked)) as last_seq,
           (select seq from public.order_updates where lane = $1 order by seq desc limit 1) as end_seq
       )
       select u.seq, u.batch, u.stream, u.order_id, u.account_id, u.payload, ends.last_seq, ends.end_seq
       from ends left join newest n on n.fits
       left join lateral (select * from public.order_updates where lane = $1 and seq = n.seq limit 1) u on true`,
      [lane, afterSeq.toString(), limit, maxBytes],
    );
    return {
      rows: rows.filter(({ seq }) => seq !== null).map(toLogRow),
      lastSeq: BigInt(rows[0]?.last_seq ?? afterSeq),
      endSeq: BigInt(rows[0]?.end_seq ?? 0),
    };
  }

  async loadPosition(lane: number, cursor: RelayCursor): Promise<bigint> {
    const rows = await retryQuery<{ seq: string }>(
      this.deps,
      'select seq from public.relay_positions where lane = $1 and cursor = $2',
      [lane, cursor],
    );
    return BigInt(rows[0]?.seq ?? 0);
  }

  async savePosition(lane: number, epoch: bigint, cursor: RelayCursor, seq: bigint): Promise<boolean> {
    // The lane's row is not locked: a batch holds it most of the time. Once Kafka has acknowledged
    // a position, it is true from any process. A position beyond the log is not true. A database
    // that came back without its newest rows gives their numbers again, and those rows would never
    // be sent.
    const rows = await retryQuery(
      this.deps,
      `insert into public.relay_positions as p (lane, cursor, seq)
       select lane, $3, $4 from public.lanes where lane = $1 and epoch = $2 and $4 <= coalesce(greatest(
         (select seq from public.relay_positions where lane = $1 and cursor = $3),
         (select seq from public.order_updates where lane = $1 order by seq desc limit 1)), 0)
       on conflict (lane, cursor) do update set seq = greatest(p.seq, excluded.seq), saved_at = now()
       returning seq`,
      [lane, epoch.toString(), cursor, seq.toString()],
    );
    return rows.length === 1;
  }

  async pendingAfter(
    lane: number,
    afterSeq: bigint,
  ): Promise<{ readonly rows: number; readonly oldestMs: number | undefined }> {
    const [row] = await retryQuery<{ counted: string; distance: string | null; oldest_ms: string | null }>(
      this.deps,
      `with pending as materialized (
         select seq, recorded_at from public.order_updates where lane = $1 and seq > $2 order by seq limit $3
       )
       select count(*) as counted, extract(epoch from min(recorded_at)) * 1000 as oldest_ms,
         case when count(*) = $3 then (select seq from public.order_updates where lane = $1 order by seq desc limit 1) - $2 end as distance
       from pending`,
      [lane, afterSeq.toString(), countedRows],
    );
    const oldestMs = row?.oldest_ms == null ? undefined : Math.floor(Number(row.oldest_ms));
    return { rows: Number(row?.distance ?? row?.counted ?? 0), oldestMs };
  }

  backlog(lane: number): Promise<readonly RelayBacklog[]> {
    return relayBacklog(this.deps.pool, lane);
  }
}

function toLogRow({ seq, batch, stream, order_id, account_id, payload }: Row): StoredLogRow {
  const place = { seq: BigInt(seq), batch: BigInt(batch), payload };
  return stream === 'watermarks'
    ? { ...place, topic: 'watermarks', key: account_id }
    : { ...place, topic: 'updates', key: `${stream}:${order_id}` };
}

/** One cursor's position in a lane, and the newest row after it. */
export interface RelayBacklog {
  readonly lane: number;
  readonly cursor: RelayCursor;
  readonly passed: bigint;
  /** Undefined: nothing waits. */
  readonly newest: bigint | undefined;
}

/** Both cursors for a lane, or for every lane. Rejects when the database can't be reached. */
export async function relayBacklog(pool: Pool, lane?: number): Promise<readonly RelayBacklog[]> {
  const { rows } = await pool.query<{ lane: number; cursor: RelayCursor; passed: string; newest: string | null }>(
    `select l.lane, c.cursor, coalesce(r.seq, 0) as passed,
       (select u.seq from public.order_updates u where u.lane = l.lane and u.seq > coalesce(r.seq, 0) order by u.seq desc limit 1) as newest
     from public.lanes l cross join (values ('log'), ('state')) as c(cursor)
     left join public.relay_positions r on r.lane = l.lane and r.cursor = c.cursor where $1::integer is null or l.lane = $1`,
    [lane ?? null],
  );
  return rows.map(({ lane: of, cursor, passed, newest }) => ({
    lane: of,
    cursor,
    passed: BigInt(passed),
    newest: newest === null ? undefined : BigInt(newest),
  }));
}
