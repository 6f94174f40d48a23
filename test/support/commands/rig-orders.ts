import { decodeUpdate, encodeOrder, encodeUpdate } from '../../../src/domain/encode-update.ts';
import type { Stream } from '../../../src/domain/order.ts';
import type { BoundOrder, ResolvingUpdate } from '../../../src/domain/resolving.ts';
import type { InnerPostgres } from '../servers/inner-postgres.ts';

/** The payload of an update that a test gives. */
export function payloadOf({ order, revision, sourceVersion, sourceEpoch, cause }: ResolvingUpdate): string {
  return encodeUpdate({
    head: { order, revision, ...(sourceVersion !== undefined && { sourceVersion }), join: {} },
    orderJson: encodeOrder(sourceEpoch === 0 ? order : { ...order, sourceEpoch }),
    generation: 1,
    cause: cause as 'stream',
    occurredAt: order.updatedAt,
    observedAt: order.updatedAt,
    changed: [],
  });
}

/** Orders as a test gives them, in the rows that ingest would have written for them. */
export class RigOrders {
  private readonly rows: InnerPostgres['rows'];

  constructor(rows: InnerPostgres['rows']) {
    this.rows = rows;
  }

  /** The order's next revision. */
  add(update: ResolvingUpdate): void {
    const { order, revision, sourceVersion = null, inQuestion } = update;
    const { stream, orderId, accountId, instrument, status } = order;
    this.rows(
      `with row as (
         insert into orders as o (stream, order_id, lane, account_id, symbol, status, revision, source_version, join_state, seq)
         values ($1, $2, 0, $3, $4, $5, $6, $7, $8, nextval('order_updates_seq'))
         on conflict (stream, order_id) do update set status = excluded.status, revision = excluded.revision, source_version = excluded.source_version,
           join_state = excluded.join_state, updated_at = excluded.updated_at, before_seq = o.seq, before_lane = o.lane, seq = excluded.seq
         returning o.*)
       insert into order_updates (seq, lane, batch, stream, order_id, account_id, revision, payload, before_seq, before_lane)
       select seq, lane, 1, stream, order_id, account_id, revision, $9, before_seq, before_lane from row`,
      [
        ...[stream, orderId, accountId, instrument.symbol, status, revision, sourceVersion?.toString() ?? null],
        ...[JSON.stringify({ inQuestion }), payloadOf(update)],
      ],
    );
  }

  bind({ attemptId, commandId, orderId, matches }: BoundOrder, stream: Stream = 'account'): void {
    this.rows(
      'insert into order_bindings (stream, order_id, attempt_id, command_id, matches) values ($1, $2, $3, $4, $5)',
      [stream, orderId, attemptId, commandId, matches],
    );
  }

  /** The revision of an order; 0: it is not there. */
  revision(stream: Stream, orderId: string): number {
    const [row] = this.rows<{ revision: string }>('select revision from orders where stream = $1 and order_id = $2', [
      stream,
      orderId,
    ]);
    return Number(row?.revision ?? 0);
  }

  /** The rows of the log, oldest first. */
  updatesAfter(stream: Stream, orderId: string, afterRevision: number, limit: number): ResolvingUpdate[] {
    const rows = this.rows<{ payload: string }>(
      'select payload from order_updates where stream = $1 and order_id = $2 and revision > $3 order by revision limit $4',
      [stream, orderId, afterRevision, limit],
    );
    return rows.map(({ payload }) => decodeUpdate(payload));
  }
}
