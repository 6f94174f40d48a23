import type { Pool } from 'pg';

/** Selects rows in the log. A field left out does not narrow the selection. */
export interface LogSlice {
  /** Recorded at or after this, milliseconds since the epoch. */
  readonly sinceMs?: number;
  readonly order?: { readonly stream: string; readonly orderId: string };
  /** True: only rows that the relay has published. */
  readonly published?: boolean;
}

interface LogSliceRow {
  readonly seq: bigint;
  /** `<stream>:<orderId>`. */
  readonly key: string;
  readonly payload: string;
}

/**
 * One read looks at this many rows, selected or not. So each read is short, however far apart the
 * selected rows are.
 */
const lookedAt = 5_000;

/**
 * Updates with `afterSeq` < seq ≤ `upToSeq`, in the order of the log, among the next few thousand
 * rows. `lastSeq` is the last seq looked at, `upToSeq` at the end. Watermarks are left out.
 * Rejects when the database can't be reached.
 *
 * The rows are read without an upper bound on seq. In a partition vacuumed and never analysed, the
 * planner assumes a range with two ends keeps one row in 200, and then reads and sorts all of it.
 * Seen: 740,000 rows and 7 s for 5,000 of them, over a statement's deadline; 15 ms as it is now.
 */
export async function readLogSlice(
  pool: Pool,
  { sinceMs, order, published = false }: LogSlice,
  afterSeq: bigint,
  upToSeq: bigint,
): Promise<{ readonly rows: readonly LogSliceRow[]; readonly lastSeq: bigint }> {
  const { rows } = await pool.query<{
    seq: string;
    stream: string;
    order_id: string;
    payload: string;
    last_seq: string;
  }>(
    `with looked as materialized (
       select u.* from public.lanes l cross join lateral (
         select seq, lane, stream, order_id, payload, recorded_at from public.order_updates where lane = l.lane and seq > $1 order by seq limit ${lookedAt}) as u
       order by u.seq limit ${lookedAt}
     ), bound as (
       select case when count(*) < ${lookedAt} then $2 else least(max(seq), $2) end as last_seq from looked
     )
     select b.last_seq, l.seq, l.stream, l.order_id, l.payload from bound b left join looked l on l.seq <= $2 and l.stream <> 'watermarks'
       and ($3::double precision is null or l.recorded_at >= to_timestamp($3 / 1000)) and ($4::text is null or (l.stream = $4 and l.order_id = $5))
       and (not $6::boolean or l.seq <= (select p.seq from public.relay_positions p where p.lane = l.lane and p.cursor = 'log'))
     order by l.seq`,
    [
      ...[afterSeq.toString(), upToSeq.toString(), sinceMs ?? null, order?.stream ?? null, order?.orderId ?? null],
      published,
    ],
  );
  const found = rows.filter(({ seq }) => seq !== null);
  return {
    rows: found.map(({ seq, stream, order_id, payload }) => ({
      seq: BigInt(seq),
      key: `${stream}:${order_id}`,
      payload,
    })),
    lastSeq: BigInt(rows[0]?.last_seq ?? upToSeq),
  };
}

/** Whether the log has any update for an order. Rejects when the database can't be reached. */
export async function isInLog(
  pool: Pool,
  { stream, orderId }: { readonly stream: string; readonly orderId: string },
): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>(
    'select exists (select from public.order_chain($1, $2, 0)) as found',
    [stream, orderId],
  );
  return rows[0]?.found === true;
}

/** The lowest and the highest seq still in the log; undefined: it has no rows. */
export async function logBounds(pool: Pool): Promise<{ readonly first: bigint; readonly last: bigint } | undefined> {
  const { rows } = await pool.query<{ first: string | null; last: string | null }>(
    `select min(f.seq) as first, max(t.seq) as last from public.lanes l
     left join lateral (select seq from public.order_updates where lane = l.lane order by seq limit 1) as f on true
     left join lateral (select seq from public.order_updates where lane = l.lane order by seq desc limit 1) as t on true`,
  );
  const { first, last } = rows[0] ?? { first: null, last: null };
  return first === null || last === null ? undefined : { first: BigInt(first), last: BigInt(last) };
}
