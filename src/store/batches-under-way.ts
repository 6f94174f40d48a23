import type { Pool } from 'pg';
import type { Clock } from '../runtime/clock.ts';

/**
 * The batches of all lanes that had not ended when the statement took its snapshot, as a common table expression of (lane, xid): `with ${underWay}, …`.
 *
 * A batch updates its lane's row before it takes its first seq, and no other can until it has ended. So where one is under way, the row's version that the snapshot
 * shows carries its transaction id in `xmax`, and has since before that seq. What `xmax` names besides is told apart by the snapshot: a batch that was rolled back, and
 * whoever had only locked the row, have ended. The column holds the lower 32 bits of the id, which the snapshot's own completes. Nobody shares a lock on these rows
 * (no foreign key points to them), so that it is never the id of a group.
 */
export const underWay = `touched as materialized (
    select lane, top + ((xmax::text::bigint - top) << 32 >> 32) as xid
    from public.lanes, (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint) as snapshot(top) where xmax <> 0
  ), under_way as materialized (
    select lane, xid from touched where not pg_visible_in_snapshot(xid::text::xid8, pg_current_snapshot())
  )`;

export interface UnderWayOptions {
  readonly everyMs: number;
  readonly deadlineMs: number;
}

/** A batch is a statement with a deadline of 4 s, and lasts some milliseconds. */
export const underWayDefaults: UnderWayOptions = { everyMs: 5, deadlineMs: 5_000 };

/** Something keeps a transaction open that has changed the row of a lane. */
export class BatchStuckError extends Error {
  readonly code = 'BATCH_STUCK';
  readonly retryable = true;

  constructor(xids: readonly string[]) {
    super(`the row of a lane was changed by a transaction that does not end (xid ${xids.join(', ')})`);
    this.name = 'BatchStuckError';
  }
}

/** Resolves once each of the transactions has ended, one way or the other. Rejects with `BatchStuckError` after the deadline, and when the database can't be reached. */
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
