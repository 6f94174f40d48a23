import type { Pool } from 'pg';
import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { Rounds } from '../../runtime/rounds.ts';
import type { Service } from '../../runtime/supervisor.ts';
import { countDeadLetters, type DeadLetterCount } from '../../store/dead-letters/dead-letters.ts';
import {
  countOrders,
  maintainCommands,
  maintainDeadLetters,
  maintainLog,
  measureStorage,
} from '../../store/maintenance.ts';

interface HousekeepingDeps extends ClockAndLogger {
  readonly pool: Pool;
  readonly metrics: Metrics;
}

interface HousekeepingOptions {
  readonly partitionRows: number;
  readonly retentionMs: number;
  /** The database's limit of disk space; left out or 0: not set. */
  readonly budgetBytes?: number;
  readonly maintainEveryMs: number;
  readonly countEveryMs: number;
}

/** Open dead letters: 64 KiB each at most, so 1.3 GB (docs/capacity.md). A person looks at few. */
const maxUndealt = 20_000;

/**
 * Between two steps when states move out of an old partition: at most 40,000 log rows a second,
 * more than are written.
 */
const betweenStepsMs = 25;

/**
 * Every running process's regular work: the log's partitions, the halts' events, and the gauges
 * only the database knows. Failed work is tried again in the next round.
 */
export class Housekeeping implements Service {
  readonly name = 'housekeeping';
  private readonly over = new AbortController();
  private works: readonly Rounds[] = [];
  private counted: readonly DeadLetterCount[] | undefined;
  /** An old snapshot kept a partition in the last round. */
  private logKept = false;
  private readonly deps: HousekeepingDeps;
  private readonly options: HousekeepingOptions;

  constructor(deps: HousekeepingDeps, options: HousekeepingOptions) {
    this.deps = deps;
    this.options = options;
  }

  /** The dead letters at the last count; undefined before the first one. */
  get deadLetters(): readonly DeadLetterCount[] | undefined {
    return this.counted;
  }

  async start(): Promise<void> {
    const { maintainEveryMs, countEveryMs } = this.options;
    const works = [
      { doing: 'keeping the partitions of the log', round: () => this.maintain() },
      { doing: 'keeping the events of halts', round: () => this.maintainCommands() },
      { doing: 'counting the dead letters', round: () => this.countDeadLetters(), everyMs: countEveryMs },
      { doing: 'keeping the dead letters bounded', round: () => this.maintainDeadLetters() },
      { doing: 'measuring the database', round: () => this.measure() },
    ];
    this.works = works.map(
      (work) => new Rounds({ ...this.deps, ...work }, { name: this.name, everyMs: maintainEveryMs, ...work }),
    );
    for (const work of this.works) await work.start();
  }

  async drain(): Promise<void> {
    this.over.abort();
    await Promise.all(this.works.map((work) => work.drain()));
  }

  private async maintain(): Promise<void> {
    const { clock, pool } = this.deps;
    // A round ends in time: states held by a session for ever would keep it from the partitions.
    const untilMs = clock.monotonicMs() + this.options.maintainEveryMs;
    const pause = async () => {
      await clock.sleep(betweenStepsMs, this.over.signal);
      return !this.over.signal.aborted && clock.monotonicMs() < untilMs;
    };
    const { made, dropped, keptBy } = await maintainLog(pool, { ...this.options, pause });
    if (made.length + dropped.length > 0) this.deps.log.info({ made, dropped }, 'partitions of the log');
    if (keptBy !== undefined && !this.logKept)
      this.deps.log.warn({ keptBy }, 'an old snapshot keeps the oldest partition of the log, for a day at most');
    this.logKept = keptBy !== undefined;
  }

  private async maintainCommands(): Promise<void> {
    const { forgotten, freedKeys } = await maintainCommands(this.deps.pool, this.options);
    if (forgotten + freedKeys > 0)
      this.deps.log.info(
        { forgotten, freedKeys },
        'old events of halts were deleted, and old keys of cancel-alls freed',
      );
  }

  private async maintainDeadLetters(): Promise<void> {
    const { pool, metrics, log } = this.deps;
    const dropped = await maintainDeadLetters(pool, { maxUndealt, retentionMs: this.options.retentionMs });
    if (dropped === 0) return;
    metrics.ingest.deadLetterDropped.inc(dropped);
    log.error({ dropped, maxUndealt }, 'there are too many dead letters: the oldest were dropped');
  }

  private async measure(): Promise<void> {
    const { pool, metrics } = this.deps;
    const { process } = metrics;
    process.databaseBudgetBytes.set(this.options.budgetBytes ?? 0);
    const { databaseBytes, logBytes, laneDeadRows } = await measureStorage(pool);
    process.databaseBytes.set(databaseBytes);
    process.logBytes.set(logBytes);
    process.laneDeadRows.set(laneDeadRows);
    const orders = await countOrders(pool);
    metrics.ingest.orders.reset();
    for (const { stream, status, orders: count } of orders) metrics.ingest.orders.set({ stream, status }, count);
  }

  private async countDeadLetters(): Promise<void> {
    const { pool, metrics } = this.deps;
    metrics.process.dbPoolWaiting.set(pool.waitingCount);
    const counted = await countDeadLetters(pool);
    metrics.ingest.deadLetters.reset();
    for (const { stream, reason, rows } of counted) metrics.ingest.deadLetters.inc({ stream, reason }, rows);
    this.counted = counted;
    if (counted.reduce((sum, { rows }) => sum + rows, 0) > maxUndealt) await this.maintainDeadLetters();
  }
}
