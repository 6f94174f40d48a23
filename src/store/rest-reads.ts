import type { Pool } from 'pg';
import type { CommandWithEvidence } from '../commands/commands.ts';
import type { Command } from '../domain/command.ts';
import type { Stream } from '../domain/order.ts';
import type {
  AccountRow,
  AccountScope,
  CommandFilter,
  ExposureRow,
  OrderFilter,
  OrderReads,
  Page,
  StoredOrder,
  StreamedUpdate,
} from '../http/order-reads.ts';
import { findCommand, listCommands } from './list-commands.ts';
import { listOrders, type OrderPageQuery } from './list-orders.ts';
import { loadOrders, type OrderQuery } from './load-orders.ts';
import { readAccounts } from './read-accounts.ts';
import { readExposure } from './read-exposure.ts';
import { readHistory, readNewestSeq, readStream } from './read-stream.ts';
import { type RetryDeps, retryTransaction } from './retry-transaction.ts';
import { TurnBatch, type TurnBatchOptions } from './turn-batch.ts';

const batching: TurnBatchOptions = { maxInFlight: 2, maxBatch: 500, maxWaiting: 10_000 };

/**
 * The port `OrderReads` in Postgres: the scope is part of every statement. Single orders that are asked for in one turn of the event loop are one query, and so
 * are equal pages. `pool`: made by `createReadPool`, for REST alone.
 */
export class PostgresOrderReads implements OrderReads {
  private readonly deps: RetryDeps & { readonly pool: Pool };
  private readonly single: TurnBatch<OrderQuery, StoredOrder | undefined>;
  private readonly pages: TurnBatch<OrderPageQuery, PromiseSettledResult<Page<StoredOrder>>>;

  constructor(deps: RetryDeps & { readonly pool: Pool }) {
    const { clock } = deps;
    this.deps = deps;
    this.single = new TurnBatch({ clock, answer: (queries) => this.read((pool) => loadOrders(pool, queries)) }, batching);
    this.pages = new TurnBatch({ clock, answer: (queries) => this.readPages(queries) }, batching);
  }

  async listOrders(
    scope: AccountScope,
    filter: OrderFilter,
    after: readonly string[] | undefined,
    limit: number,
  ): Promise<Page<StoredOrder>> {
    const result = await this.pages.ask({ scope, filter, after, limit });
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  }

  async getOrder(scope: AccountScope, stream: Stream, orderId: string): Promise<StoredOrder | undefined> {
    // Postgres' text has no NUL, so such an order can't be known; it would fail all that are asked for with it.
    return orderId.includes('\0') ? undefined : this.single.ask({ scope, stream, orderId });
  }

  history(
    scope: AccountScope,
    stream: Stream,
    orderId: string,
    afterRevision: number,
    limit: number,
  ): Promise<readonly StreamedUpdate[] | undefined> {
    return this.read((pool) => readHistory(pool, scope, { stream, orderId }, afterRevision, limit));
  }

  listCommands(
    scope: AccountScope,
    filter: CommandFilter,
    after: readonly string[] | undefined,
    limit: number,
  ): Promise<Page<Command>> {
    return this.read((pool) => listCommands(pool, scope, filter, after, limit));
  }

  findCommand(scope: AccountScope, commandId: string): Promise<CommandWithEvidence | undefined> {
    return this.read((pool) => findCommand(pool, scope, commandId));
  }

  accounts(scope: AccountScope): Promise<readonly AccountRow[]> {
    return this.read((pool) => readAccounts(pool, scope));
  }

  exposure(scope: AccountScope, accountId: string | undefined): Promise<readonly ExposureRow[]> {
    return this.read((pool) => readExposure(pool, scope, accountId));
  }

  updatesAfter(
    scope: AccountScope,
    afterSeq: bigint,
    limit: number,
  ): Promise<{ readonly updates: readonly StreamedUpdate[]; readonly lastSeq: bigint; readonly oldestSeq: bigint }> {
    return retryTransaction(this.deps, () => readStream(this.deps, scope, afterSeq, limit));
  }

  newestSeq(): Promise<bigint> {
    return retryTransaction(this.deps, () => readNewestSeq(this.deps));
  }

  /** Each different page once; one that fails fails only those that asked for it. */
  private readPages(queries: readonly OrderPageQuery[]): Promise<PromiseSettledResult<Page<StoredOrder>>[]> {
    const reads = new Map<string, Promise<Page<StoredOrder>>>();
    return Promise.allSettled(
      queries.map((query) => {
        const name = JSON.stringify(query);
        const read = reads.get(name) ?? this.read((pool) => listOrders(pool, query));
        reads.set(name, read);
        return read;
      }),
    );
  }

  private read<T>(work: (pool: Pool) => Promise<T>): Promise<T> {
    return retryTransaction(this.deps, () => work(this.deps.pool));
  }
}
