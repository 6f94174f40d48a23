import type { Pool } from 'pg';
import type { Head } from '../domain/head.ts';
import { type ApplyResult, type Batch, type Binding, type OrderStore, RefusedReadError } from '../ingest/order-store.ts';
import type { Log } from '../observability/log.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import { applyBatch } from './apply-batch.ts';
import { LaneConnection } from './lane-connection.ts';
import { readBindings } from './read-bindings.ts';
import { readHeads } from './read-heads.ts';
import { retryTransaction } from './retry-transaction.ts';
import { Scratch } from './scratch.ts';
import { describeCode, isTransient, sqlstateOf } from './sqlstate.ts';

export interface OrderStoreDeps {
  /** For reads. Batches have a connection of their own. */
  readonly pool: Pool;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface OrderStoreOptions {
  readonly url: string;
  /** Rows of a partition of the log, should one be missing. */
  readonly partitionRows: number;
}

/** The port `OrderStore` in Postgres. `close` ends the lane's connection; the pool belongs to the caller. */
export class PostgresOrderStore implements OrderStore {
  private readonly connection: LaneConnection;
  /** Those that no batch in flight is using: as many as were ever in flight at once. */
  private readonly scratches: Scratch[] = [];
  private readonly deps: OrderStoreDeps;
  private readonly options: OrderStoreOptions;

  constructor(deps: OrderStoreDeps, options: OrderStoreOptions) {
    this.connection = new LaneConnection({ log: deps.log }, { url: options.url });
    this.deps = deps;
    this.options = options;
  }

  readHeads(keys: readonly string[]): Promise<Map<string, Head>> {
    return this.read(() => readHeads(this.deps.pool, keys));
  }

  readBindings(attemptIds: readonly string[]): Promise<Map<string, Binding>> {
    return this.read(() => readBindings(this.deps.pool, attemptIds));
  }

  async applyBatch(batch: Batch): Promise<ApplyResult> {
    const client = await this.connection.open().catch((error: unknown) => describeCode(error));
    if (typeof client === 'string') return { kind: 'retry', code: client };
    const scratch = this.scratches.pop() ?? new Scratch();
    const result = await applyBatch(client, batch, scratch);
    this.scratches.push(scratch);
    if (result.kind === 'retry' && result.code === 'NO_PARTITION') await this.makePartitions();
    return result;
  }

  private async read<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await retryTransaction(this.deps, work);
    } catch (error) {
      const state = sqlstateOf(error);
      if (state === undefined || isTransient(error)) throw error;
      throw new RefusedReadError(state, error instanceof Error ? error.message : '', { cause: error });
    }
  }

  close(): Promise<void> {
    return this.connection.close();
  }

  /** The timer that makes partitions ahead has not run for millions of rows; the lane need not wait for it any longer. */
  private async makePartitions(): Promise<void> {
    const { pool, log } = this.deps;
    try {
      await pool.query('select public.ensure_log_partitions($1)', [this.options.partitionRows]);
      log.warn({}, 'the log had no partition for the next row; it was made now');
    } catch (err) {
      log.error({ err }, 'the log has no partition for the next row, and none can be made');
    }
  }
}
