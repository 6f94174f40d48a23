import type { Pool } from 'pg';
import type { SettlingUpdate } from '../commands/command-journal.ts';
import { decodeUpdate } from '../domain/decode-update.ts';
import type { Order, Stream } from '../domain/order.ts';

/**
 * Updates of one order above `afterRevision`, oldest first, from the log. Each partition answers from its own unique index. Not prepared: see `PostgresUpdateLog`.
 * What is older than the log's retention is gone.
 */
export async function readSettlingUpdates(
  pool: Pool,
  stream: Stream,
  orderId: string,
  afterRevision: number,
  limit: number,
): Promise<SettlingUpdate[]> {
  if (orderId.includes('\0')) return [];
  const { rows } = await pool.query<{ payload: string }>(
    `select payload from public.order_updates where stream = $1 and order_id = $2 and revision > $3 order by revision limit $4`,
    [stream, orderId, afterRevision, limit],
  );
  return rows.map(({ payload }) => decodeUpdate(payload));
}

/** The order as it is stored: `cause` is `stored`, since only the log knows what brought its last revision. */
export async function readSettlingOrder(pool: Pool, stream: Stream, orderId: string): Promise<SettlingUpdate | undefined> {
  if (orderId.includes('\0')) return undefined;
  const { rows } = await pool.query<{ revision: string; source_version: string | null; order: Order }>({
    name: 'settling_order',
    text: 'select revision, source_version, state as order from public.orders where stream = $1 and order_id = $2',
    values: [stream, orderId],
  });
  const [row] = rows;
  if (row === undefined) return undefined;
  const { revision, source_version, order } = row;
  return {
    revision: Number(revision),
    sourceEpoch: order.sourceEpoch ?? 0,
    ...(source_version !== null && { sourceVersion: BigInt(source_version) }),
    cause: 'stored',
    order,
  };
}
