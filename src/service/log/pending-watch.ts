import type { CommittedBatch } from '../../domain/committed-batch.ts';
import type { BatchSeries } from '../../observability/batch-histogram.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { UpdateLog } from '../../store/orders/update-log.ts';
import type { HandoffRows } from './handoff.ts';
import type { RelayTerm } from './relay-options.ts';

interface PendingWatchDeps {
  readonly log: UpdateLog;
  readonly lease: Pick<Lease, 'lane'>;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics['relay'], 'pending' | 'oldestPending'>;
}

/**
 * Keeps the gauges of rows without Kafka's acknowledgement, and finds rows that will no longer come
 * through memory.
 *
 * While the relay follows memory, the figures are known without a query. Every `sweepEveryMs` the
 * database is asked for two things: the size of a backlog, and rows that were committed but never
 * handed over (a crash of the hand-off with no later batch to show the gap).
 */
export class PendingWatch {
  private flying: HandoffRows | undefined;
  private askedMs = Number.NEGATIVE_INFINITY;
  private asking = false;
  private readonly deps: PendingWatchDeps;
  private readonly options: { readonly sweepEveryMs: number };

  constructor(deps: PendingWatchDeps, options: { readonly sweepEveryMs: number }) {
    this.deps = deps;
    this.options = options;
  }

  inFlight(handed: HandoffRows | undefined): void {
    this.flying = handed;
  }

  /**
   * The lane is lost: the next holder shows the pending rows, and our last values would stay
   * forever.
   */
  clear(): void {
    this.flying = undefined;
    this.askedMs = Number.NEGATIVE_INFINITY;
    this.show('updates', 0, undefined);
    this.show('state', 0, undefined);
  }

  /**
   * True: the log had rows that would not come through memory, and the term went back to read them.
   * Never rejects.
   */
  async refresh(term: RelayTerm): Promise<boolean> {
    if (!term.handoff.reading) this.showMemory(term);
    const nowMs = this.deps.clock.monotonicMs();
    if (this.asking || nowMs - this.askedMs < this.options.sweepEveryMs) return false;
    this.askedMs = nowMs;
    this.asking = true;
    try {
      return await this.sweep(term);
    } catch {
      // The gauges keep their last value; the relay and the position
      // report an unreachable database themselves.
      return false;
    } finally {
      this.asking = false;
    }
  }

  private showMemory(term: RelayTerm): void {
    const { clock } = this.deps;
    const oldestMs = this.flying?.batches[0]?.committedMs ?? term.handoff.oldestHeldMs;
    const rows = term.handoff.heldRows + (this.flying?.rows ?? 0);
    this.show('updates', rows, oldestMs === undefined ? undefined : clock.nowMs() - (clock.monotonicMs() - oldestMs));
    if (term.states.isWhole) this.show('state', 0, undefined);
  }

  private async sweep(term: RelayTerm): Promise<boolean> {
    const before = term.position.reached;
    const wasIdle = this.idle(term);
    const { log, lease } = this.deps;
    const { rows, oldestMs } = await log.pendingAfter(lease.lane, before);
    if (term.over.signal.aborted) return false;
    if (term.handoff.reading) this.show('updates', rows, oldestMs);
    if (term.handoff.reading || !term.states.isWhole) {
      const behind = await log.pendingAfter(lease.lane, term.states.position.reached);
      if (term.over.signal.aborted) return false;
      this.show('state', behind.rows, behind.oldestMs);
    }
    // The relay was idle before and after, with nothing acknowledged between: the counted rows are
    // not on their way through memory. A batch handed over at this moment can make this wrong: the
    // cost is one read of the log.
    if (rows === 0 || !wasIdle || !this.idle(term) || term.position.reached !== before) return false;
    term.handoff.reread('gap');
    return true;
  }

  private idle(term: RelayTerm): boolean {
    return !term.handoff.reading && term.handoff.heldRows === 0 && this.flying === undefined;
  }

  private show(topic: 'updates' | 'state', rows: number, oldestMs: number | undefined): void {
    this.deps.metrics.pending.set({ topic }, rows);
    this.deps.metrics.oldestPending.set({ topic }, oldestMs === undefined || rows === 0 ? 0 : oldestMs / 1000);
  }
}

type Stage = 'receive_to_commit' | 'commit_to_ack' | 'total';

/**
 * Each row's latency on its way, by stream and stage. Rows read back from the log no longer have a
 * time of arrival and are not counted. `tidemark_log_oldest_pending_timestamp_seconds` shows the
 * delay when Kafka is away.
 */
export class LatencyRecorder {
  private readonly series: Readonly<Record<'account' | 'prediction', Readonly<Record<Stage, BatchSeries<string>>>>>;

  constructor(latency: Metrics['ingest']['latency']) {
    const of = (stream: 'account' | 'prediction') => ({
      receive_to_commit: latency.of({ stream, stage: 'receive_to_commit' }),
      commit_to_ack: latency.of({ stream, stage: 'commit_to_ack' }),
      total: latency.of({ stream, stage: 'total' }),
    });
    this.series = { account: of('account'), prediction: of('prediction') };
  }

  /** `ackedMs`: monotonic time of the whole batch's acknowledgement. */
  record(batch: CommittedBatch, ackedMs: number): void {
    const counted = { account: 0, prediction: 0 };
    for (let i = 0; i < batch.rows.length; i += 1) {
      const stream = batch.streams[i];
      const receivedMs = batch.receivedMs[i];
      if (stream === undefined || stream === 'watermarks' || receivedMs === undefined || Number.isNaN(receivedMs))
        continue;
      const series = this.series[stream];
      series.receive_to_commit.observe((batch.committedMs - receivedMs) / 1000);
      series.total.observe((ackedMs - receivedMs) / 1000);
      counted[stream] += 1;
    }
    const toAck = (ackedMs - batch.committedMs) / 1000;
    for (const stream of ['account', 'prediction'] as const)
      if (counted[stream] > 0) this.series[stream].commit_to_ack.observe(toAck, counted[stream]);
  }
}
