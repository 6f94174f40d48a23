import type { Pool } from 'pg';
import type { Log } from '../../observability/log.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Service } from '../../runtime/service.ts';
import { countOrders } from '../../store/count-orders.ts';
import { maintainLog } from '../../store/maintain-log.ts';
import { countQuarantined } from '../../store/quarantine.ts';

export interface HousekeepingDeps {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

export interface HousekeepingOptions {
  readonly partitionRows: number;
  readonly retentionMs: number;
  readonly maintainEveryMs: number;
  readonly countEveryMs: number;
}

/** What has to be done now and then, by whoever runs: the log's partitions, and the gauges that only the database knows. A round that fails is tried at the next. */
export class Housekeeping implements Service {
  readonly name = 'housekeeping';
  private readonly over = new AbortController();
  private running: Promise<unknown> = Promise.resolve();
  private readonly deps: HousekeepingDeps;
  private readonly options: HousekeepingOptions;

  constructor(deps: HousekeepingDeps, options: HousekeepingOptions) {
    this.deps = deps;
    this.options = options;
  }

  async start(): Promise<void> {
    const { maintainEveryMs, countEveryMs } = this.options;
    this.running = Promise.all([
      this.every(maintainEveryMs, 'keeping the partitions of the log', () => this.maintain()),
      this.every(countEveryMs, 'counting orders', () => this.count()),
    ]);
  }

  async drain(): Promise<void> {
    this.over.abort();
    await this.running;
  }

  private async every(intervalMs: number, what: string, work: () => Promise<void>): Promise<void> {
    const { clock, log } = this.deps;
    let failing = false;
    while (!this.over.signal.aborted) {
      try {
        await work();
        if (failing) log.info({}, `${what} works again`);
        failing = false;
      } catch (error) {
        if (!failing) log.warn({ err: error }, `${what} failed; it is tried again`);
        failing = true;
      }
      await clock.sleep(intervalMs, this.over.signal);
    }
  }

  private async maintain(): Promise<void> {
    const { made, dropped } = await maintainLog(this.deps.pool, this.options);
    if (made.length + dropped.length > 0) this.deps.log.info({ made, dropped }, 'partitions of the log');
  }

  private async count(): Promise<void> {
    const { pool, metrics } = this.deps;
    metrics.process.dbPoolWaiting.set(pool.waitingCount);
    const [orders, quarantined] = [await countOrders(pool), await countQuarantined(pool)];
    metrics.ingest.orders.reset();
    for (const { stream, status, orders: count } of orders) metrics.ingest.orders.set({ stream, status }, count);
    metrics.ingest.quarantined.reset();
    for (const { stream, reason, rows } of quarantined) metrics.ingest.quarantined.set({ stream, reason }, rows);
  }
}
