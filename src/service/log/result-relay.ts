import { present } from '../../domain/present.ts';
import type { Ambient } from '../../observability/ambient.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { TracedSpan, Tracing } from '../../observability/tracing.ts';
import { Backoff } from '../../runtime/backoff.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { Service } from '../../runtime/supervisor.ts';
import type { ResultLog, ResultRow } from '../../store/commands/result-log.ts';
import type { CheckpointWriter } from './checkpoint-writer.ts';
import type { Publisher } from './publisher.ts';
import { measureSend, TermLoop, TroubleReport } from './term-loop.ts';

interface ResultRelayDeps extends Pick<Ambient, 'clock' | 'random'> {
  readonly log: ResultLog;
  /** This process's shards. Other processes publish the steps in theirs. */
  readonly shards: () => readonly number[];
  /**
   * A publisher of its own: it takes one send at a time, and updates must not wait for commands.
   * The creator closes it.
   */
  readonly publisher: Publisher;
  readonly lease: Lease;
  readonly logger: Logger;
  readonly metrics: Metrics['relay'];
  readonly tracing?: Tracing | undefined;
  /** Covers all sends. Left out: no checkpoint is kept. */
  readonly checkpoint?: Pick<CheckpointWriter, 'along' | 'doubt'>;
  /** A look has just shown that the outbox is empty. Left out: not known. */
  readonly isEmpty?: () => boolean;
}

/** A command has four to six steps of about 1.5 kB, so 200 rows are far below one send's limit. */
export const resultRelayDefaults = {
  /** Rows in one read, and in one publish. */
  maxRows: 200,
  /**
   * How often the outbox is read without a wake-up, for example after a step lost its wake-up with
   * its process.
   */
  pollEveryMs: 1000,
  /**
   * The least time from one find in the outbox to the next look. A single step is sent at once.
   * Many at a time share a read and a send.
   */
  gatherMs: 100,
  /** The least time from one mark to the next: a mark costs as much as a read. */
  markEveryMs: 1000,
  leasePollMs: 50,
  backoff: { firstMs: 50, maxMs: 1000 },
};

type ResultRelayOptions = Readonly<typeof resultRelayDefaults>;

interface Term {
  /** Aborted when the lane is lost or the relay gives up: every wait of the term ends. */
  readonly over: AbortController;
}

/**
 * Sends commands' steps to Kafka, from the journal
 * (docs/decisions/002-kafkajs-without-its-retries.md): each at least once, one command's steps in
 * order.
 *
 * States: no term (standing by) → looking → publishing → marking → looking …, or waiting: for a
 * wake-up or the next poll, for more steps to gather, for a lease young enough to act on, for the
 * backoff after a failure. One publish at a time, also across terms. Invariant: a row is marked
 * only once Kafka has acknowledged it, and none is sent unless the lease allowed it just before. A
 * crash between the two costs repeats, of a second at most. A term reads behind its own sends,
 * marked or not, so it repeats nothing. A drain marks all of them.
 */
export class ResultRelay implements Service {
  readonly name = 'result-relay';
  private readonly loop: TermLoop<Term> = new TermLoop((term) => this.serve(term));
  /** Acknowledged in this term. */
  private unmarked: readonly ResultRow[] = [];
  private markedMs = Number.NEGATIVE_INFINITY;
  private foundMs = Number.NEGATIVE_INFINITY;
  /** There was a wake-up since the last read began. */
  private stepped = false;
  private readonly backoff: Backoff;
  private readonly kafkaTrouble: TroubleReport;
  private readonly logTrouble: TroubleReport;
  private readonly deps: ResultRelayDeps;
  private readonly options: ResultRelayOptions;

  constructor(deps: ResultRelayDeps, options: ResultRelayOptions = resultRelayDefaults) {
    this.deps = deps;
    this.options = options;
    this.backoff = new Backoff(deps.random, options.backoff);
    this.kafkaTrouble = new TroubleReport(deps, 'publishing the steps of commands');
    this.logTrouble = new TroubleReport(deps, 'reading the steps of commands');
  }

  async start(): Promise<void> {
    this.loop.start();
  }

  /** The lane is ours. */
  begin(): void {
    this.end();
    this.loop.begin({ over: new AbortController() });
  }

  /**
   * The lane is lost. Nothing new is sent from here on; a publish under way may still arrive, as a
   * repeat at worst.
   */
  end(): void {
    this.loop.end();
    this.unmarked = [];
    this.gauge([]);
  }

  /** A step was just committed. Never waits. */
  wake(): void {
    this.stepped = true;
    this.loop.wake();
  }

  /** Publishes the present rows until the first failure, and stops. */
  async drain(signal: AbortSignal): Promise<void> {
    await this.loop.drain(signal);
    this.end();
  }

  private async serve({ over: { signal } }: Term): Promise<void> {
    while (!signal.aborted) {
      const ended = await this.round(signal);
      if (signal.aborted || (this.loop.draining && ended !== 'more')) return;
      if (ended === 'failed') await this.deps.clock.sleep(this.backoff.nextMs(), signal);
      if (ended === 'all') await this.idle(signal);
    }
  }

  /** `more`: there may be more to publish at once. */
  private async round(signal: AbortSignal): Promise<'more' | 'all' | 'failed'> {
    this.stepped = false;
    const rows = await this.next();
    if (rows === undefined) return 'failed';
    this.gauge(rows);
    if (rows.length === 0) return 'all';
    this.foundMs = this.deps.clock.monotonicMs();
    if (!(await this.publish(rows, signal))) return 'failed';
    this.unmarked = [...this.unmarked, ...rows];
    this.gauge([]);
    if (rows.length === this.options.maxRows) return 'more';
    return this.loop.draining && !(await this.mark()) ? 'failed' : 'all';
  }

  /** Undefined: the database could not be read, or written. */
  private async next(): Promise<readonly ResultRow[] | undefined> {
    const { clock, log, shards } = this.deps;
    const { markEveryMs, maxRows } = this.options;
    const due = this.loop.draining || clock.monotonicMs() - this.markedMs >= markEveryMs;
    if (due && !(await this.mark())) return undefined;
    try {
      const rows = await log.readUnpublished(maxRows, shards(), this.unmarked);
      this.logTrouble.passed();
      return rows;
    } catch (err) {
      this.logTrouble.happened(err);
      return undefined;
    }
  }

  private async mark(): Promise<boolean> {
    const rows = this.unmarked;
    if (rows.length === 0) return true;
    try {
      await this.deps.log.markPublished(rows);
    } catch (err) {
      this.logTrouble.happened(err);
      return false;
    }
    this.logTrouble.passed();
    this.markedMs = this.deps.clock.monotonicMs();
    // Another term may have begun in the meantime, with nothing to mark or with rows of its own.
    if (this.unmarked === rows) this.unmarked = [];
    return true;
  }

  private async publish(rows: readonly ResultRow[], signal: AbortSignal): Promise<boolean> {
    const { clock, lease, publisher, checkpoint } = this.deps;
    while (!lease.mayAct() && !signal.aborted) await clock.sleep(this.options.leasePollMs, signal);
    if (signal.aborted) return false;
    const spans = this.deps.tracing === undefined ? [] : rows.map((row) => this.spanOf(row));
    const records = rows.map(({ key, payload }, i) =>
      present({ topic, key, payload, traceparent: spans[i]?.traceparent }),
    );
    const mayAct = () => lease.mayAct() && !signal.aborted;
    try {
      await measureSend(this.deps, topic, rows.length, async () =>
        publisher.publish(records, mayAct, checkpoint?.along()),
      );
    } catch (err) {
      checkpoint?.doubt();
      for (const span of spans) span?.end({ failed: 'not acknowledged; sent again' });
      this.kafkaTrouble.happened(err);
      return false;
    }
    for (const span of spans) span?.end();
    this.backoff.reset();
    this.kafkaTrouble.passed();
    // The rows are acknowledged, but the lane was lost in the meantime: its next
    // holder sends them again, and marks them.
    return !signal.aborted;
  }

  /** For a step with a traced command. */
  private spanOf({ key: commandId }: ResultRow): TracedSpan | undefined {
    const parent = this.deps.tracing?.ofCommand(commandId);
    return (
      parent &&
      this.deps.tracing?.begin('publish result', {
        kind: 'producer',
        parent,
        follows: true,
        attributes: {
          'messaging.system': 'kafka',
          'messaging.kafka.message.key': commandId,
          'tidemark.command.id': commandId,
        },
      })
    );
  }

  private async idle(signal: AbortSignal): Promise<void> {
    const { clock, isEmpty = () => false } = this.deps;
    let due = false;
    do {
      due = false;
      const timer = clock.after(this.options.pollEveryMs, () => {
        due = true;
        this.loop.wake();
      });
      await this.loop.wait();
      timer.cancel();
    } while (due && !this.stepped && !this.loop.draining && !signal.aborted && isEmpty());
    const leftMs = this.options.gatherMs - (clock.monotonicMs() - this.foundMs);
    if (leftMs > 0 && !this.loop.draining) await clock.sleep(leftMs, signal);
  }

  private gauge(pending: readonly ResultRow[]): void {
    this.deps.metrics.pending.set({ topic }, pending.length);
    this.deps.metrics.oldestPending.set({ topic }, (pending[0]?.recordedMs ?? 0) / 1000);
  }
}

const topic = 'results' as const;
