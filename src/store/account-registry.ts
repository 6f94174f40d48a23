import { and, asc, eq, gt, lt, sql } from 'drizzle-orm';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import type { Pool } from 'pg';
import type { AccountRecord, AccountRegistry, OpenOrder } from '../connectors/account-registry.ts';
import type { Stream } from '../domain/order.ts';
import { type RetryDeps, retryTransaction } from './retry-transaction.ts';
import { accounts } from './schema/accounts.ts';
import { orders } from './schema/orders.ts';

/** The port `AccountRegistry` in Postgres. */
export class PostgresAccountRegistry implements AccountRegistry {
  private readonly deps: RetryDeps;
  private readonly db: NodePgDatabase;

  constructor(deps: RetryDeps & { readonly pool: Pool }) {
    this.deps = deps;
    this.db = drizzle(deps.pool);
  }

  async load(): Promise<AccountRecord[]> {
    const rows = await retryTransaction(this.deps, () =>
      this.db.select().from(accounts).orderBy(asc(accounts.stream), asc(accounts.accountId)),
    );
    return rows.map(({ stream, accountId, isSim, sourceEpoch, readUpTo }) => ({
      stream: stream as Stream,
      accountId,
      isSim,
      sourceEpoch,
      readUpTo: readUpTo ?? undefined,
    }));
  }

  /** What a process writes that still believes in an older source epoch is not taken. */
  async save({ stream, accountId, isSim, sourceEpoch, readUpTo }: AccountRecord): Promise<void> {
    const row = { stream, accountId, isSim, sourceEpoch, readUpTo: readUpTo ?? null, updatedAt: sql`now()` };
    await retryTransaction(this.deps, () =>
      this.db
        .insert(accounts)
        .values(row)
        .onConflictDoUpdate({
          target: [accounts.stream, accounts.accountId],
          set: row,
          setWhere: sql`${accounts.sourceEpoch} <= excluded.source_epoch`,
        }),
    );
  }

  openOrders(
    stream: Stream,
    accountId: string,
    touchedBeforeMs: number,
    afterOrderId: string,
    limit: number,
  ): Promise<OpenOrder[]> {
    return retryTransaction(this.deps, async () => {
      const rows = await this.db
        .select({
          orderId: orders.orderId,
          status: orders.status,
          sourceVersion: orders.sourceVersion,
          updatedAt: sql<string>`${orders.state} ->> 'updatedAt'`,
          sourceEpoch: sql<number | null>`(${orders.state} ->> 'sourceEpoch')::int`,
        })
        .from(orders)
        .where(
          and(
            eq(orders.accountId, accountId),
            eq(orders.stream, stream),
            eq(orders.isOpen, true),
            gt(orders.orderId, afterOrderId),
            lt(orders.updatedAt, new Date(touchedBeforeMs)),
          ),
        )
        .orderBy(asc(orders.orderId))
        .limit(limit);
      return rows.map(({ sourceEpoch, ...row }) => ({
        ...row,
        sourceVersion: row.sourceVersion ?? undefined,
        ...(sourceEpoch !== null && { sourceEpoch }),
      }));
    });
  }
}
