import type { Head } from '../../domain/head.ts';
import type { IngestItem } from '../../domain/observation.ts';
import { BoundedQueue } from '../../runtime/bounded-queue.ts';
import { aborted, Wakeup } from '../../runtime/waiting.ts';
import type { LaneHold } from '../../store/fleet/lane-store.ts';
import { BatchPipeline } from './batch-pipeline.ts';
import { batchMaxBytes, bytesOf, type Entry, entryAgeMs, queuedBytes } from './entry.ts';
import type { IngestDeps, IngestOptions } from './ingest-deps.ts';

/**
 * The lane was lost, or the process is stopping: the offered items are not committed. When their
 * source comes back, it reads everything again.
 */
class LaneEndedError extends Error {
  readonly code = 'LANE_ENDED';
  readonly retryable = true;

  constructor() {
    super('the lane ended before this was committed');
    this.name = 'LaneEndedError';
  }
}

/**
 * Every observation's way into Postgres: bounded queue → batches that form by themselves → one
 * transaction each.
 *
 * States: idle (no lane: offered items are dropped, because the lane's next holder reads them
 * again) → working (between `begin` and `end`) → idle. Invariant: while working, every offered item
 * is committed exactly once, or its barrier is rejected when the lane ends.
 */
export class Ingest {
  private pipeline: BatchPipeline | undefined;
  private running: Promise<void> = Promise.resolve();
  private ending: Promise<void> = Promise.resolve();
  private readonly roomListeners = new Set<() => void>();
  private readonly wakeup = new Wakeup();
  private readonly queue: BoundedQueue<Entry>;
  /**
   * Single orders for waiting commands, and fences. They pass a full queue: one batch at the most.
   * Further ones wait in the queue like other items, and may fill it.
   */
  private readonly urgent: BoundedQueue<Entry>;
  /**
   * The oldest entry, when it was last asked for. Its time is moved with each step of the wall
   * clock: one that was set back would hide for an hour that nothing commits.
   */
  private seen:
    | { readonly entry: Entry; readonly atMs: number; readonly nowMs: number; readonly monotonicMs: number }
    | undefined;
  private readonly deps: IngestDeps;
  private readonly options: IngestOptions;

  constructor(deps: IngestDeps, options: IngestOptions) {
    this.deps = deps;
    this.options = options;
    const { queueMaxCount, queueMaxBytes, batchMaxCount } = options;
    this.queue = new BoundedQueue<Entry>({ maxCount: queueMaxCount, maxBytes: queueMaxBytes }, () => {
      for (const listener of this.roomListeners) listener();
    });
    this.urgent = new BoundedQueue<Entry>({ maxCount: batchMaxCount, maxBytes: batchMaxBytes }, () => {});
    deps.metrics.queueCapacity.set(options.queueMaxCount);
  }

  get full(): boolean {
    return this.queue.full;
  }

  /** Offered items without an end: queued, in a batch, or waiting for another try. */
  get depth(): number {
    return this.queue.count + this.urgent.count + (this.pipeline?.uncommittedCount ?? 0);
  }

  /** When the oldest of them came, milliseconds since the epoch; undefined: there is none. */
  get oldestUncommittedMs(): number | undefined {
    const oldest = this.pipeline?.oldestUncommitted ?? this.queue.oldest ?? this.urgent.oldest;
    if (oldest === undefined) return undefined;
    const { clock } = this.deps;
    const [nowMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
    const known = this.seen?.entry === oldest ? this.seen : undefined;
    const stepMs = known === undefined ? 0 : Math.round(nowMs - known.nowMs - (monotonicMs - known.monotonicMs));
    const atMs =
      known === undefined ? nowMs - entryAgeMs(oldest, clock) : known.atMs + (Math.abs(stepMs) > 1 ? stepMs : 0);
    this.seen = { entry: oldest, atMs, nowMs, monotonicMs };
    return atMs;
  }

  /** Why nothing commits, in words; undefined: it does, or nothing was tried. */
  get trouble(): string | undefined {
    return this.pipeline?.trouble;
  }

  onRoom(callback: () => void): () => void {
    this.roomListeners.add(callback);
    return () => this.roomListeners.delete(callback);
  }

  offer(item: IngestItem): void {
    if (this.pipeline === undefined) return;
    const urgent = item.kind === 'order' && item.urgent === true && !this.urgent.full;
    (urgent ? this.urgent : this.queue).push(item, queuedBytes(item));
    this.wakeup.wake();
  }

  /** Resolves when every item offered before has been committed; rejects with `LaneEndedError`. */
  committed(): Promise<void> {
    return this.pass(this.queue);
  }

  /**
   * Resolves when a batch made after this call has been committed, with rows or without; rejects
   * with `LaneEndedError`. If the database later comes back without commits from before the call,
   * it lacks this batch too. Then it takes no further batch of this term, because the numbers do
   * not follow.
   */
  fence(): Promise<void> {
    return this.pass(this.urgent.full ? this.queue : this.urgent, true);
  }

  private pass(queue: BoundedQueue<Entry>, numbered?: true): Promise<void> {
    if (this.pipeline === undefined) return Promise.reject(new LaneEndedError());
    return new Promise((resolve, reject) => {
      const barrier: Entry = {
        kind: 'barrier',
        ...(numbered && { numbered }),
        atMs: this.deps.clock.nowMs(),
        resolve,
        reject,
      };
      queue.push(barrier, queuedBytes(barrier));
      this.wakeup.wake();
    });
  }

  /**
   * Starts a term: the lane is ours, and `hold.batch` is its last committed batch. The cache starts
   * empty.
   */
  begin(hold: LaneHold): void {
    const { deps, options, wakeup } = this;
    const pipeline = new BatchPipeline(
      {
        ...deps,
        wakeup,
        source: (count, maxBytes) => this.takeEntries(count, maxBytes),
        onProgress: () => this.showDepth(),
      },
      options,
      hold,
    );
    this.pipeline = pipeline;
    this.running = pipeline.run();
  }

  /**
   * Accounts come back from another process: cached states of their orders are not used any more.
   */
  forgetOrders(isOf: (accountId: string) => boolean): void {
    this.pipeline?.forgetOrders(isOf);
  }

  /**
   * An open order as the database has it. Undefined: read it there, since it is not in memory, a
   * batch in flight changes it, or the lane may be another process's.
   */
  openOrder(key: string): Head | undefined {
    return this.deps.lease.mayAct() ? this.pipeline?.cache.committedOpen(key) : undefined;
  }

  /**
   * Ends the term: queued entries and batches in flight are forgotten here (a commit may still
   * happen), and every barrier is rejected.
   */
  async end(): Promise<void> {
    const pipeline = this.pipeline;
    if (pipeline !== undefined) {
      this.pipeline = undefined;
      this.ending = this.finish(pipeline);
    }
    // The drain and the loss of the lane may both end a term. Both wait until none of its batches
    // is in flight.
    await this.ending;
  }

  /**
   * Resolves the queued entries, then ends. The sources must have stopped. Gives up at the signal.
   */
  async drain(signal: AbortSignal): Promise<void> {
    if (this.pipeline !== undefined && !signal.aborted)
      await Promise.race([this.committed().catch(() => undefined), aborted(signal)]);
    await this.end();
  }

  private async finish(pipeline: BatchPipeline): Promise<void> {
    pipeline.stop();
    await this.running;
    this.forget([
      ...pipeline.uncommitted(),
      ...this.urgent.take(Number.POSITIVE_INFINITY),
      ...this.queue.take(Number.POSITIVE_INFINITY),
    ]);
    this.showDepth();
  }

  private takeEntries(count: number, maxBytes: number): Entry[] {
    let entries = this.urgent.take(count, maxBytes);
    const leftBytes = maxBytes - bytesOf(entries);
    // A barrier in the queue stands for every item offered before it. So no entry leaves the queue
    // while an urgent one is left.
    if (this.urgent.count === 0 && entries.length < count && leftBytes > 0)
      entries = entries.concat(this.queue.take(count - entries.length, leftBytes));
    return entries;
  }

  private showDepth(): void {
    const { queueDepth, oldestUncommitted } = this.deps.metrics;
    queueDepth.set(this.depth);
    oldestUncommitted.set((this.oldestUncommittedMs ?? 0) / 1000);
  }

  private forget(entries: readonly Entry[]): void {
    for (const entry of entries) if (entry.kind === 'barrier') entry.reject(new LaneEndedError());
  }
}
