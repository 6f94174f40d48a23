import type { LogRow } from '../../domain/committed-batch.ts';
import type { Ambient } from '../../observability/ambient.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { Backoff } from '../../runtime/backoff.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { UpdateLog } from '../../store/orders/update-log.ts';
import type { CheckpointWriter } from './checkpoint-writer.ts';
import { Position } from './position.ts';
import { PublishError, type StatePublisher } from './publisher.ts';
import { measureSend, TroubleReport } from './term-loop.ts';

export interface StateWriterDeps extends Pick<Ambient, 'clock' | 'random'> {
  readonly log: UpdateLog;
  readonly statePublisher: StatePublisher;
  readonly lease: Lease;
  readonly logger: Logger;
  readonly metrics: Metrics['relay'];
  /** Covers what is read from the log. What the relay published is covered. */
  readonly checkpoint?: Pick<CheckpointWriter, 'cover'>;
}

/**
 * A flush costs 25 to 370 ms for any number of rows (kafkajs transactions), so once a second; a
 * read of 5,000 rows is about 6 MB.
 */
export const stateWriterDefaults = {
  flushEveryMs: 1000,
  /** Orders, and payload characters, kept between two flushes. */
  maxOrders: 20_000,
  maxBytes: 32_000_000,
  /** Log rows for one read to look at, and payload bytes in its result: one flush. */
  maxLookedAt: 5000,
  maxReadBytes: 16_000_000,
  backoff: { firstMs: 200, maxMs: 5000 },
};

export type StateWriterOptions = Readonly<typeof stateWriterDefaults>;

const leastShare = 1 / 64;

interface Newest {
  row: LogRow;
  /** Published with the row: all up to this seq. A row handed over has no seq itself. */
  upTo: bigint;
}

/**
 * Sends each order's newest state to the compacted topic, about once a second, for one term, under
 * a position named `state`. The relay hands it each row once the updates topic has it.
 *
 * Its memory is `behind` (while it does not own the topic, and after too many rows: only the log
 * knows) → `joining` (the log is read, and rows are kept meanwhile) → `whole` (every row published
 * since the last flush is here). The relay never waits for it: a full memory is dropped.
 *
 * Invariant: an older state never follows a newer one on the topic. A read gives each order's
 * newest committed row, and rows in memory are not older than the last read. Each flush is one
 * transaction by the only writer, and begins only after the lease was seen young enough *after*
 * `takeOver`. If a process froze in between, it finds the lease too old; if it froze later, the
 * lane's new holder has fenced it. A read follows each `takeOver`, since another writer, `audit
 * --repair` too, may have written newer states before it. And each asks the lane's row first
 * whether the lane is still its own: otherwise a stale process's late `takeOver` would silence the
 * real holder until its term ends.
 */
export class StateWriter {
  readonly position: Position;
  private memory: 'behind' | 'joining' | 'whole' = 'behind';
  private newest = new Map<string, Newest>();
  private bytes = 0;
  /** The relay has published everything up to here. */
  private published = 0n;
  /** Everything up to here came from the log. */
  private shownUpTo = 0n;
  /** Older writers are fenced, and no later writer has fenced us. */
  private owner = false;
  /** No flush in this term has written a row above this seq to the topic. */
  private attempted = 0n;
  /** Scales one read of the log, and so its flush: less after each one too slow. */
  private share = 1;
  private resting = new AbortController();
  private readonly ending = new AbortController();
  private readonly backoff: Backoff;
  private readonly trouble: TroubleReport;
  private readonly deps: StateWriterDeps;
  private readonly options: StateWriterOptions;
  private readonly over: AbortSignal;

  /** `over`: the term is. No flush begins then, and the next holder fences one under way. */
  constructor(deps: StateWriterDeps, options: StateWriterOptions, over: AbortSignal) {
    this.deps = deps;
    this.options = options;
    this.over = over;
    this.position = new Position(deps, 'state');
    this.backoff = new Backoff(deps.random, options.backoff);
    this.trouble = new TroubleReport(deps, 'writing the state topic');
  }

  /** False: only the log knows all rows in wait. */
  get isWhole(): boolean {
    return this.memory === 'whole';
  }

  /** The updates topic has these rows too now, and so everything up to `upTo`. */
  addPublished(rows: readonly LogRow[], upTo: bigint): void {
    this.published = upTo;
    if (this.memory === 'behind' || upTo <= this.shownUpTo) return;
    for (const row of rows) {
      if (row.topic !== 'updates') continue;
      const known = this.newest.get(row.key);
      this.bytes += row.payload.length - (known?.row.payload.length ?? 0);
      if (known === undefined) this.newest.set(row.key, { row, upTo });
      else {
        known.row = row;
        known.upTo = upTo;
      }
    }
    if (this.newest.size > this.options.maxOrders || this.bytes > this.options.maxBytes) this.forget('behind');
  }

  /** Flushes now, and not at the end of its rest. A wait after a failure goes on. */
  hurry(): void {
    this.resting.abort();
  }

  /** Nothing more will be added: one last flush, and the log keeps the rest for the next start. */
  finish(): void {
    this.ending.abort();
  }

  /** Flushes until the term is over, or the last flush is done. Never rejects. */
  async serve(): Promise<void> {
    const { clock } = this.deps;
    let loaded = false;
    while (!this.over.aborted) {
      const last = this.ending.signal.aborted;
      const beganMs = clock.monotonicMs();
      try {
        if (!loaded) await this.position.load();
        loaded = true;
        const again = await this.step();
        this.backoff.reset();
        this.trouble.passed();
        if (last) return;
        if (!again) await this.rest(this.options.flushEveryMs - (clock.monotonicMs() - beganMs));
      } catch (err) {
        this.failed(err);
        await clock.sleep(this.backoff.nextMs(), this.over, this.ending.signal);
        // The first failure is the last then, even one from before.
        if (this.ending.signal.aborted) return;
      }
    }
  }

  /** True: the log has more to read at once. */
  private async step(): Promise<boolean> {
    if (!this.deps.lease.mayAct()) return this.disown();
    if (!this.owner && !(await this.takeOver())) return false;
    if (!this.isWhole) return this.catchUp();
    const rows = Array.from(this.newest.values(), ({ row }) => row);
    const upTo = this.published;
    this.forget('whole');
    await this.flush(rows, upTo, upTo);
    return false;
  }

  /**
   * Reads on from the position and flushes once. The log gives each order's newest row, also from
   * behind this read. So no flush is older than an earlier one, in this term or another, however
   * little is read and written at once.
   */
  private async catchUp(): Promise<boolean> {
    const { log, lease, checkpoint } = this.deps;
    this.forget('joining');
    const { rows, lastSeq, endSeq } = await log.readNewestAfter(
      lease.lane,
      this.position.reached,
      Math.ceil(this.options.maxLookedAt * this.share),
      Math.ceil(this.options.maxReadBytes * this.share),
    );
    // The lease may be one for another lane by now.
    if (this.over.aborted) return this.disown();
    for (const { batch } of rows) lease.checkpoint.sawBatch(batch);
    // The database came back without them: its log's newest states may be older than those on the
    // topic. The term ends as soon as its lease is renewed.
    if (endSeq < this.attempted)
      throw new Error(
        'the database lacks updates that were written to the state topic: nothing is written from its log',
      );
    if (rows.length > 0) await checkpoint?.cover();
    // The rows may be above what was looked at.
    const flushed = await this.flush(rows, lastSeq, endSeq);
    if (flushed && lastSeq >= endSeq) this.join(lastSeq);
    return flushed && !this.isWhole;
  }

  /** All rows up to this seq are flushed, and the log had no more when it was read. */
  private join(upTo: bigint): void {
    if (this.memory !== 'joining') return;
    this.memory = 'whole';
    this.shownUpTo = upTo;
    for (const [key, kept] of this.newest) {
      if (kept.upTo > upTo) continue;
      this.newest.delete(key);
      this.bytes -= kept.row.payload.length;
    }
  }

  private async takeOver(): Promise<boolean> {
    if (!(await this.position.confirm())) return false;
    if (this.over.aborted || !this.deps.lease.mayAct()) return false;
    await this.deps.statePublisher.takeOver();
    this.owner = true;
    return true;
  }

  /**
   * False: the lease grew too old, or the term is over; nothing was sent, and the rows are in the
   * log. The position goes on to `upTo`; no row is above `endSeq`.
   */
  private async flush(rows: readonly LogRow[], upTo: bigint, endSeq: bigint): Promise<boolean> {
    const { lease, statePublisher } = this.deps;
    if (!lease.mayAct() || this.over.aborted) return this.disown();
    if (rows.length > 0) {
      if (endSeq > this.attempted) this.attempted = endSeq;
      await measureSend(this.deps, 'state', rows.length, () => statePublisher.flush(rows));
      this.share = Math.min(1, this.share * 2);
    }
    this.position.advance(upTo);
    // Also with nothing new: the last save may have failed, and a lane on its way to another
    // process waits for it.
    await this.position.save();
    return true;
  }

  private failed(err: unknown): void {
    this.trouble.happened(err);
    // The publisher is retired or fenced; after a failure of the database this costs one
    // unnecessary `takeOver`.
    this.disown();
    // A failed read of the log may have been too large for its deadline, like a late flush.
    if (!(err instanceof PublishError) || err.code === 'timeout') this.share = Math.max(leastShare, this.share / 2);
  }

  /** Another writer may write from here on: memory may be older than what it has written. */
  private disown(): false {
    this.owner = false;
    this.forget('behind');
    return false;
  }

  private forget(memory: StateWriter['memory']): void {
    this.memory = memory;
    this.newest = new Map();
    this.bytes = 0;
  }

  private async rest(forMs: number): Promise<void> {
    this.resting = new AbortController();
    await this.deps.clock.sleep(Math.max(0, forMs), this.over, this.ending.signal, this.resting.signal);
  }
}
