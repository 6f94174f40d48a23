import { and, asc, eq, gt, type SQL } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import type { Pool } from 'pg';
import type { Order, Stream } from '../domain/order.ts';
import { orders } from './schema/orders.ts';

export interface OrderFilter {
  readonly stream: Stream;
  readonly accountId: string;
  readonly open?: boolean;
  /** The last order id of the page before. */
  readonly afterOrderId?: string;
  /** At most this many. */
  readonly limit: number;
}

export interface StoredOrder {
  readonly order: Order;
  readonly revision: number;
  readonly sourceVersion: bigint | undefined;
  /** The database's clock at the last write, milliseconds since the epoch. */
  readonly storedAtMs: number;
}

const columns = {
  order: orders.state,
  revision: orders.revision,
  sourceVersion: orders.sourceVersion,
  updatedAt: orders.updatedAt,
};

/** The orders of one account on one stream, by order id. Rejects when the database can't be reached. */
export async function listOrders(
  pool: Pool,
  { stream, accountId, open, afterOrderId, limit }: OrderFilter,
): Promise<StoredOrder[]> {
  const where: SQL[] = [eq(orders.accountId, accountId), eq(orders.stream, stream)];
  if (open !== undefined) where.push(eq(orders.isOpen, open));
  if (afterOrderId !== undefined) where.push(gt(orders.orderId, afterOrderId));
  const rows = await drizzle(pool)
    .select(columns)
    .from(orders)
    .where(and(...where))
    .orderBy(asc(orders.orderId))
    .limit(limit);
  return rows.map(toStoredOrder);
}

/** One order, or undefined when it is not known. */
export async function readOrder(pool: Pool, stream: Stream, orderId: string): Promise<StoredOrder | undefined> {
  if (orderId.includes('\0')) return undefined;
  const [row] = await drizzle(pool)
    .select(columns)
    .from(orders)
    .where(and(eq(orders.stream, stream), eq(orders.orderId, orderId)));
  return row === undefined ? undefined : toStoredOrder(row);
}

function toStoredOrder(row: { order: unknown; revision: number; sourceVersion: bigint | null; updatedAt: Date }): StoredOrder {
  return {
    order: row.order as Order,
    revision: row.revision,
    sourceVersion: row.sourceVersion ?? undefined,
    storedAtMs: row.updatedAt.getTime(),
  };
}
