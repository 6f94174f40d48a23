import type { CommittedBatch } from '../../domain/committed-batch.ts';
import type { Stream } from '../../domain/order.ts';
import type { BatchSeries } from '../../observability/batch-histogram.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { UpdateLog } from '../../store/orders/update-log.ts';
import type { HandoffRows } from './handoff.ts';
import type { RelayTerm } from './relay-options.ts';

interface PendingWatchDeps {
  readonly log: UpdateLog;
  readonly lease: Pick<Lease, 'lane' | 'checkpoint'>;
  readonly clock: Clock;
  readonly metrics: Metrics['relay'];
}

/**
 * Keeps the gauges of rows without Kafka's acknowledgement, and finds a batch committed and never
 * handed over, with no later one to show the gap.
 *
 * While the relay follows memory, both are known without a query. The size of a backlog is asked
 * for every `sweepEveryMs`.
 */
export class PendingWatch {
  private flying: HandoffRows | undefined;
  private askedMs = Number.NEGATIVE_INFINITY;
  private asking = false;
  private readonly deps: PendingWatchDeps;
  private readonly options: { readonly sweepEveryMs: number };

  constructor(deps: PendingWatchDeps, options: PendingWatch['options']) {
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
   * True: a batch will not come through memory, and the term went back to read it. Never rejects.
   */
  async refresh(term: RelayTerm): Promise<boolean> {
    if (!term.handoff.reading) this.showMemory(term);
    const nowMs = this.deps.clock.monotonicMs();
    if (this.asking || nowMs - this.askedMs < this.options.sweepEveryMs) return false;
    this.askedMs = nowMs;
    if (this.isStranded(term)) {
      term.handoff.reread('gap');
      return true;
    }
    this.asking = true;
    try {
      await this.sweep(term);
    } catch {
      // The gauges keep their last value; the relay and the position
      // report an unreachable database themselves.
    } finally {
      this.asking = false;
    }
    return false;
  }

  /**
   * Another reader of the log may have seen a commit before its batch is handed over: the cost is
   * one read of the log.
   */
  private isStranded({ handoff }: RelayTerm): boolean {
    const isIdle = !handoff.reading && handoff.oldestHeldMs === undefined && this.flying === undefined;
    return isIdle && handoff.newestBatch < (this.deps.lease.checkpoint.newest?.batch ?? 0n);
  }

  private showMemory(term: RelayTerm): void {
    const { clock } = this.deps;
    const oldestMs = this.flying?.batches[0]?.committedMs ?? term.handoff.oldestHeldMs;
    const rows = term.handoff.heldRows + (this.flying?.rows ?? 0);
    this.show('updates', rows, oldestMs === undefined ? undefined : clock.nowMs() - (clock.monotonicMs() - oldestMs));
    if (term.states.isWhole) this.show('state', 0, undefined);
  }

  private async sweep({ handoff, states, position, over }: RelayTerm): Promise<void> {
    const { log, lease } = this.deps;
    if (handoff.reading) {
      const { rows, oldestMs } = await log.pendingAfter(lease.lane, position.reached);
      if (over.signal.aborted) return;
      if (handoff.reading) this.show('updates', rows, oldestMs);
    }
    if (handoff.reading || !states.isWhole) {
      const behind = await log.pendingAfter(lease.lane, states.position.reached);
      if (!over.signal.aborted) this.show('state', behind.rows, behind.oldestMs);
    }
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
  private readonly series = new Map<Stream, Readonly<Record<Stage, BatchSeries<string>>>>();
  private readonly latency: Metrics['ingest']['latency'];

  constructor(latency: Metrics['ingest']['latency']) {
    this.latency = latency;
  }

  /** `ackedMs`: monotonic time of the whole batch's acknowledgement. */
  record(batch: CommittedBatch, ackedMs: number): void {
    const counted: { [stream in Stream]?: number } = {};
    for (let i = 0; i < batch.rows.length; i += 1) {
      const stream = batch.streams[i];
      const receivedMs = batch.receivedMs[i];
      if (stream === undefined || stream === 'watermarks' || receivedMs === undefined || Number.isNaN(receivedMs))
        continue;
      const series = this.seriesOf(stream);
      series.receive_to_commit.observe((batch.committedMs - receivedMs) / 1000);
      series.total.observe((ackedMs - receivedMs) / 1000);
      counted[stream] = (counted[stream] ?? 0) + 1;
    }
    const toAck = (ackedMs - batch.committedMs) / 1000;
    for (const stream of Object.keys(counted) as Stream[])
      this.seriesOf(stream).commit_to_ack.observe(toAck, counted[stream]);
  }

  private seriesOf(stream: Stream): Readonly<Record<Stage, BatchSeries<string>>> {
    const known = this.series.get(stream);
    if (known !== undefined) return known;
    const { latency } = this;
    const made = {
      receive_to_commit: latency.of({ stream, stage: 'receive_to_commit' }),
      commit_to_ack: latency.of({ stream, stage: 'commit_to_ack' }),
      total: latency.of({ stream, stage: 'total' }),
    };
    this.series.set(stream, made);
    return made;
  }
}
