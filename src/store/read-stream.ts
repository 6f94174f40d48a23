import type { Pool } from 'pg';
import type { Stream } from '../domain/order.ts';
import type { AccountScope, StreamedUpdate } from '../http/order-reads.ts';
import { inScope, scopeParameter } from './account-scope.ts';

interface UpdateRow {
  readonly seq: string;
  readonly stream: Stream;
  readonly order_id: string;
  readonly account_id: string;
  readonly payload: string;
}

/** Rows of the log that one read looks at, whosever they are: a scope of one quiet account must not walk the whole log. */
const lookedAt = 5_000;

/**
 * Updates of the scope above `afterSeq`, in the order of seq. Not prepared (see `PostgresUpdateLog`), and every part has a lower bound of seq: only partitions
 * from there on are touched. `oldestSeq` is the bound of the oldest partition, so seqs that a batch took and gave back never look like a loss.
 */
export async function readStream(
  pool: Pool,
  scope: AccountScope,
  afterSeq: bigint,
  limit: number,
): Promise<{ readonly updates: readonly StreamedUpdate[]; readonly lastSeq: bigint; readonly oldestSeq: bigint }> {
  const look = Math.max(lookedAt, limit);
  const { rows } = await pool.query<
    { [column in keyof UpdateRow]: UpdateRow[column] | null } & { last_seq: string | null; oldest_seq: string | null }
  >(
    `with found as (
       select * from (
         select seq, stream, order_id, account_id, payload from public.order_updates where seq > $2 order by seq limit $3
       ) as looked
       where stream <> 'continuity' and ${inScope('account_id', 1)} order by seq limit $4
     ),
     bounds as (
       select (select max(seq) from (select seq from public.order_updates where seq > $2 order by seq limit $3) as looked) as last_seq,
         (select min(from_seq) from public.log_partitions()) as oldest_seq
     )
     select * from bounds left join found on true order by found.seq`,
    [scopeParameter(scope), afterSeq.toString(), look, limit],
  );
  const updates = rows.filter((row): row is typeof row & UpdateRow => row.seq !== null).map(toUpdate);
  const [row] = rows;
  const full = updates.length === limit ? updates.at(-1)?.seq : undefined;
  return {
    updates,
    lastSeq: full ?? BigInt(row?.last_seq ?? afterSeq),
    oldestSeq: BigInt(row?.oldest_seq ?? afterSeq + 1n),
  };
}

/** The highest seq that is committed; 0 before the first. */
export async function readNewestSeq(pool: Pool): Promise<bigint> {
  const { rows } = await pool.query<{ seq: string | null }>('select max(seq) as seq from public.order_updates');
  return BigInt(rows[0]?.seq ?? 0);
}

/** Revisions of one order above `afterRevision`, oldest first; undefined: no such order in the scope. */
export async function readHistory(
  pool: Pool,
  scope: AccountScope,
  order: { readonly stream: Stream; readonly orderId: string },
  afterRevision: number,
  limit: number,
): Promise<readonly StreamedUpdate[] | undefined> {
  if (order.orderId.includes('\0')) return undefined;
  const { rows } = await pool.query<{ [column in keyof UpdateRow]: UpdateRow[column] | null }>(
    `select u.* from public.orders o
     left join lateral (
       select seq, stream, order_id, account_id, payload from public.order_updates
       where stream = $2 and order_id = $3 and revision > $4 order by revision limit $5
     ) as u on true
     where o.stream = $2 and o.order_id = $3 and ${inScope('o.account_id', 1)}`,
    [scopeParameter(scope), order.stream, order.orderId, afterRevision, limit],
  );
  if (rows.length === 0) return undefined;
  return rows
    .filter((row): row is UpdateRow => row.seq !== null)
    .map(toUpdate)
    .sort((a, b) => (a.seq < b.seq ? -1 : 1));
}

function toUpdate({ seq, stream, order_id, account_id, payload }: UpdateRow): StreamedUpdate {
  return { seq: BigInt(seq), stream, orderId: order_id, accountId: account_id, payload };
}
