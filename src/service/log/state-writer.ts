import type { CommittedBatch, LogRow } from '../../domain/committed-batch.ts';
import type { Ambient } from '../../observability/ambient.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { Backoff, type BackoffOptions } from '../../runtime/backoff.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { Service } from '../../runtime/supervisor.ts';
import type { UpdateLog } from '../../store/orders/update-log.ts';
import { NewestByOrder, type NewestLimits } from './newest-by-order.ts';
import { Position } from './position.ts';
import { PublishError, type StatePublisher } from './publisher.ts';
import { TermLoop, TroubleReport } from './term-loop.ts';
import type { WitnessWriter } from './witness-writer.ts';

interface StateWriterDeps extends Pick<Ambient, 'clock' | 'random'> {
  readonly log: UpdateLog;
  /** The creator closes it once the writer is drained. */
  readonly publisher: StatePublisher;
  readonly lease: Lease;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics['relay'], 'pending' | 'oldestPending' | 'records' | 'publishSeconds'>;
  /** Covers everything before it is written. Left out: no witness is kept. */
  readonly witness?: Pick<WitnessWriter, 'cover'>;
}

export interface StateWriterOptions extends NewestLimits {
  readonly flushEveryMs: number;
  /** Log rows for one read to look at, and payload bytes in its result: one flush. */
  readonly maxLookedAt: number;
  readonly maxReadBytes: number;
  readonly backoff: BackoffOptions;
}

/**
 * A flush costs 25 to 370 ms for any number of rows (kafkajs transactions), so once a second; a
 * read of 5,000 rows is about 6 MB.
 */
export const stateWriterDefaults: StateWriterOptions = {
  flushEveryMs: 1000,
  maxOrders: 20_000,
  maxBytes: 32_000_000,
  maxLookedAt: 5000,
  maxReadBytes: 16_000_000,
  backoff: { firstMs: 200, maxMs: 5000 },
};

const leastShare = 1 / 64;

interface Term {
  readonly newest: NewestByOrder;
  readonly position: Position;
  readonly over: AbortController;
  /** Older writers are fenced, and no later writer has fenced us. */
  owner: boolean;
  /** No flush in this term has written a row above this seq to the topic. */
  attempted: bigint;
}

/**
 * Sends each order's newest state to the compacted topic, about once a second, under a cursor of
 * its own (`state`).
 *
 * States: no term (standing by) → not yet owner → owner, flushing from memory or from the log (see
 * `NewestByOrder`) → not owner after any failure → …
 *
 * Invariant: an older state never follows a newer one on the topic. Log and memory give each
 * order's newest committed row. Each flush is one transaction by the only writer, and begins only
 * after the lease was seen young enough *after* `takeOver`. If a process froze in between, it finds
 * the lease too old; if it froze later, the lane's new holder has fenced it. A fenced or failed
 * writer checks in the lane's row that the lane is still its own before it calls `takeOver` again:
 * otherwise a stale process's late `takeOver` would silence the real holder until its term ends.
 */
export class StateWriter implements Service {
  readonly name = 'state-writer';
  private readonly loop: TermLoop<Term> = new TermLoop({ serve: (term) => this.serve(term) });
  private readonly backoff: Backoff;
  private readonly trouble: TroubleReport;
  /** Scales one read of the log, and so its flush: less after each flush too slow. */
  private share = 1;
  private readonly deps: StateWriterDeps;
  private readonly options: StateWriterOptions;

  constructor(deps: StateWriterDeps, options: StateWriterOptions) {
    this.deps = deps;
    this.options = options;
    this.backoff = new Backoff(deps.random, options.backoff);
    this.trouble = new TroubleReport(deps, 'writing the state topic');
  }

  async start(): Promise<void> {
    this.loop.start();
  }

  /** The lane is ours. `lastBatch`: its last committed batch. */
  begin(lastBatch: bigint): void {
    this.end();
    this.loop.begin({
      newest: new NewestByOrder(this.options, lastBatch),
      position: new Position(this.deps, 'state'),
      over: new AbortController(),
      owner: false,
      attempted: 0n,
    });
  }

  /**
   * The lane is lost: no flush begins from here on, and the next holder fences one that is under
   * way.
   */
  end(): void {
    this.loop.end();
    // The next holder shows the pending rows.
    this.show(0, undefined);
  }

  writeCommitted(batch: CommittedBatch): void {
    this.loop.term?.newest.addCommitted(batch);
  }

  /** Batches were committed but can't be handed over: the log has them. */
  missedCommitted(): void {
    this.loop.term?.newest.fail();
  }

  /** Flushes now, and not at the end of its rest. A wait after a failure goes on. */
  hurry(): void {
    this.loop.wake();
  }

  /** Makes one last flush from memory; the rest of the log is left to the next start. */
  async drain(signal: AbortSignal): Promise<void> {
    await this.loop.drain(signal);
    this.end();
  }

  private async serve(term: Term): Promise<void> {
    const { clock } = this.deps;
    const { signal } = term.over;
    let loaded = false;
    while (!signal.aborted) {
      const last = this.loop.draining;
      const startedMs = clock.monotonicMs();
      let again = false;
      try {
        if (!loaded) await term.position.load();
        loaded = true;
        again = await this.step(term);
        this.backoff.reset();
        this.trouble.passed();
      } catch (err) {
        this.failed(term, err);
        // Without the database the gauges keep their last value.
        if (loaded) await this.showPending(term).catch(() => undefined);
        await this.backOff(term);
        // While draining the first failure is the last, even one from before the drain: the log
        // keeps the rest for the next start.
        if (this.loop.draining) return;
      }
      if (last) return;
      if (!again && !this.loop.draining)
        await this.rest(term, this.options.flushEveryMs - (clock.monotonicMs() - startedMs));
    }
  }

  /** True: the log has more to read at once. */
  private async step(term: Term): Promise<boolean> {
    if (!this.deps.lease.mayAct()) {
      term.owner = false;
      return false;
    }
    if (!term.owner && !(await this.takeOver(term))) return false;
    if (term.newest.whole) {
      const harvest = term.newest.harvest();
      if (harvest !== undefined) await this.flush(term, harvest.rows, harvest.upTo, harvest.upTo);
      // The last flush's save may have failed, and a lane that moves to another process waits for
      // it.
      else await term.position.save();
      return false;
    }
    return this.catchUp(term);
  }

  /**
   * Reads on from the position and flushes once. The log gives each order's newest row, also from
   * behind this read. So no flush is older than an earlier one, in this term or another, however
   * little is read and written at once.
   */
  private async catchUp(term: Term): Promise<boolean> {
    const { newest, position } = term;
    newest.beginRead();
    const { rows, lastSeq, endSeq } = await this.deps.log.readNewestAfter(
      this.deps.lease.lane,
      position.reached,
      Math.ceil(this.options.maxLookedAt * this.share),
      Math.ceil(this.options.maxReadBytes * this.share),
    );
    for (const { batch } of rows) this.deps.lease.witness.sawBatch(batch);
    // The database came back without them: its log's newest states may be older than those on the
    // topic. The term ends as soon as its lease is renewed.
    if (endSeq < term.attempted)
      throw new Error(
        'the database lacks updates that were written to the state topic: nothing is written from its log',
      );
    // The rows may be above what was looked at.
    const flushed = await this.flush(term, rows, lastSeq, endSeq);
    if (flushed && lastSeq >= endSeq) newest.endRead(lastSeq);
    await this.showPending(term);
    return flushed && !newest.whole;
  }

  private async takeOver(term: Term): Promise<boolean> {
    if (!(await term.position.confirm())) return false;
    if (term.over.signal.aborted || !this.deps.lease.mayAct()) return false;
    await this.deps.publisher.takeOver();
    term.owner = true;
    return true;
  }

  /**
   * False: the lease grew too old, or the term is over; nothing was sent, and the rows are in the
   * log. The position goes on to `upTo`; no row is above `endSeq`.
   */
  private async flush(term: Term, rows: readonly LogRow[], upTo: bigint, endSeq: bigint): Promise<boolean> {
    if (rows.length > 0) await this.deps.witness?.cover();
    if (!this.deps.lease.mayAct() || term.over.signal.aborted) {
      term.newest.fail();
      return false;
    }
    if (rows.length > 0) {
      const { clock, metrics, publisher } = this.deps;
      const startedMs = clock.monotonicMs();
      if (endSeq > term.attempted) term.attempted = endSeq;
      try {
        await publisher.flush(rows);
        this.share = Math.min(1, this.share * 2);
      } catch (err) {
        metrics.records.inc({ topic: 'state', outcome: 'failed' }, rows.length);
        throw err;
      }
      metrics.publishSeconds.observe({ topic: 'state' }, (clock.monotonicMs() - startedMs) / 1000);
      metrics.records.inc({ topic: 'state', outcome: 'acknowledged' }, rows.length);
    }
    term.position.advance(upTo);
    await term.position.save();
    if (term.newest.whole) this.show(0, undefined);
    return true;
  }

  private failed(term: Term, err: unknown): void {
    this.trouble.happened(err);
    term.newest.fail();
    // The publisher is retired or fenced in each case; after a database failure this costs one
    // unnecessary `takeOver`.
    if (err instanceof PublishError) {
      term.owner = false;
      if (err.code === 'timeout') this.share = Math.max(leastShare, this.share / 2);
    }
  }

  private async showPending(term: Term): Promise<void> {
    const { rows, oldestMs } = await this.deps.log.pendingAfter(this.deps.lease.lane, term.position.reached);
    if (!term.over.signal.aborted) this.show(rows, oldestMs);
  }

  private show(rows: number, oldestMs: number | undefined): void {
    this.deps.metrics.pending.set({ topic: 'state' }, rows);
    this.deps.metrics.oldestPending.set({ topic: 'state' }, oldestMs === undefined || rows === 0 ? 0 : oldestMs / 1000);
  }

  /** Waits out the backoff. Only a drain ends it early; other wake-ups do not. */
  private async backOff(term: Term): Promise<void> {
    const { clock } = this.deps;
    const untilMs = clock.monotonicMs() + this.backoff.nextMs();
    while (!this.loop.draining && !term.over.signal.aborted && clock.monotonicMs() < untilMs) {
      await this.rest(term, untilMs - clock.monotonicMs());
    }
  }

  private async rest(term: Term, forMs: number): Promise<void> {
    const timer = this.deps.clock.after(Math.max(0, forMs), () => this.loop.wake());
    if (!term.over.signal.aborted) await this.loop.wait();
    timer.cancel();
  }
}
