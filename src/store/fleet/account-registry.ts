import type { Stream } from '../../domain/order.ts';
import { encodeCheckpoints, type Lease } from '../../runtime/lease.ts';
import { asc, drizzle } from '../drizzle.ts';
import { fromRow, type RowOf } from '../rows.ts';
import { accounts } from '../schema/accounts.ts';
import { type PoolDeps, retryQuery, retryTransaction } from '../session/retry-transaction.ts';

/** The facts about one account on one stream that must survive a restart. */
export interface AccountRecord {
  readonly stream: Stream;
  readonly accountId: string;
  readonly isSim: boolean;
  /** Rises when the platform lost its store. */
  readonly sourceEpoch: number;
  /**
   * The highest updatedAt a complete read showed, never the stream. ISO 8601. Undefined before the
   * first.
   */
  readonly readUpTo: string | undefined;
  /** The same for reads that look back far. Never above `readUpTo`, and undefined when that is. */
  readonly auditedUpTo: string | undefined;
}

/** An order we hold, for the reader to read again. */
export interface OpenOrder {
  readonly orderId: string;
  readonly status: string;
  readonly sourceVersion: bigint | undefined;
  readonly updatedAt: string;
  readonly createdAt?: string;
  readonly sentAt?: string;
  readonly cumQty?: string;
  /** Absent: 0. */
  readonly sourceEpoch?: number;
}

/**
 * The accounts we follow, durable. Every call has a deadline; rejects when the database can't be
 * reached.
 */
export interface AccountRegistry {
  load(): Promise<AccountRecord[]>;
  save(record: AccountRecord): Promise<void>;
  /**
   * The account's orders that are not terminal and were not written within the last `withinMs`.
   * By the database's clock alone: ours may have been set. Paged by order id, at most `limit`.
   */
  openOrders(
    stream: Stream,
    accountId: string,
    withinMs: number,
    afterOrderId: string,
    limit: number,
  ): Promise<OpenOrder[]>;
  /** Those of the orders that are known, open or ended, in no order. */
  ordersNamed(stream: Stream, orderIds: readonly string[]): Promise<OpenOrder[]>;
}

interface AccountRegistryDeps extends PoolDeps {
  /**
   * The commits this process knows, and the lane it holds. Left out: nothing is compared with the
   * database.
   */
  readonly lease?: Pick<Lease, 'lane' | 'checkpoint'>;
}

/** The port `AccountRegistry` in Postgres. */
export function postgresAccountRegistry(deps: AccountRegistryDeps): AccountRegistry {
  return {
    async load() {
      const rows = await retryTransaction(deps, () =>
        drizzle(deps.pool).select().from(accounts).orderBy(asc(accounts.stream), asc(accounts.accountId)),
      );
      return rows.map(({ updatedAt: _at, ...row }) => ({
        ...row,
        stream: row.stream as Stream,
        readUpTo: row.readUpTo ?? undefined,
        auditedUpTo: row.auditedUpTo ?? undefined,
      }));
    },
    save: (record) => save(deps, record),
    openOrders: (stream, accountId, withinMs, afterOrderId, limit) =>
      // An order written in the database's future was written before its clock was set back.
      ordersWhere(
        deps,
        `o.account_id = $1 and o.stream = $2 and o.is_open and o.order_id > $3
         and o.updated_at not between clock_timestamp() - make_interval(secs => $4::double precision / 1000) and clock_timestamp()
       order by o.order_id limit $5`,
        [accountId, stream, afterOrderId, withinMs, limit],
      ),
    ordersNamed: (stream, orderIds) => ordersWhere(deps, 'o.stream = $1 and o.order_id = any($2)', [stream, orderIds]),
  };
}

/**
 * Refuses a write from a process that still has an older source epoch. Rejects if the database came
 * back without commits this process knows. `readUpTo` says everything the read showed is committed,
 * and then this would be false.
 */
async function save(
  deps: AccountRegistryDeps,
  { stream, accountId, isSim, sourceEpoch, readUpTo, auditedUpTo }: AccountRecord,
): Promise<void> {
  const { lease } = deps;
  const newest = lease?.checkpoint.newest;
  const seen = newest === undefined ? null : encodeCheckpoints([{ lane: lease?.lane ?? 0, ...newest }]);
  // Raw: it calls a database function and writes by its answer, in one statement.
  const [row] = await retryQuery<{ lacks: boolean }>(
    deps,
    `with look as (select public.lacks_commits($1::json) as lacks), saved as (
         insert into public.accounts as a (stream, account_id, is_sim, source_epoch, read_up_to, audited_up_to, updated_at)
         select $2, $3, $4, $5, $6, $7, now() from look where not lacks
         on conflict (stream, account_id) do update set is_sim = excluded.is_sim, source_epoch = excluded.source_epoch,
           read_up_to = excluded.read_up_to, audited_up_to = excluded.audited_up_to, updated_at = excluded.updated_at
         where a.source_epoch <= excluded.source_epoch
       )
       select lacks from look`,
    [seen, stream, accountId, isSim, sourceEpoch, readUpTo ?? null, auditedUpTo ?? null],
  );
  if (row?.lacks === true) throw new Error('the database lost commits: how far the account was read is not kept');
}

/**
 * The state is read once for its fields: from the log, where it is. An unreadable one is older than
 * all: the order is asked for.
 */
async function ordersWhere(deps: PoolDeps, where: string, values: unknown[]): Promise<OpenOrder[]> {
  const rows = await retryQuery<RowOf<Omit<OpenOrder, 'sourceVersion'>> & { readonly sourceVersion: string | null }>(
    deps,
    `select o.order_id as "orderId", o.status, o.source_version as "sourceVersion", coalesce(s."updatedAt", '0001-01-01T00:00:00Z') as "updatedAt", s."createdAt", s."sentAt", s."cumQty",
         case when s."sourceEpoch" ~ '^[1-9][0-9]{0,8}$' then s."sourceEpoch"::integer end as "sourceEpoch"
       from public.current_orders o left join lateral json_to_record(o.state) as s("updatedAt" text, "createdAt" text, "sentAt" text, "cumQty" text, "sourceEpoch" text) on true
       where ${where}`,
    values,
  );
  return rows.map(({ sourceVersion, ...row }) => ({
    ...fromRow<Omit<OpenOrder, 'sourceVersion'>>(row),
    sourceVersion: sourceVersion === null ? undefined : BigInt(sourceVersion),
  }));
}
