import type { CommittedBatch, LogRow } from '../../domain/committed-batch.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { Backoff } from '../../runtime/backoff.ts';
import type { Timer } from '../../runtime/clock.ts';
import type { Service } from '../../runtime/supervisor.ts';
import type { UpdateLog } from '../../store/orders/update-log.ts';
import type { CheckpointWriter } from './checkpoint-writer.ts';
import { Handoff, type HandoffRows } from './handoff.ts';
import { LatencyRecorder, PendingWatch } from './pending-watch.ts';
import { Position } from './position.ts';
import type { Publisher } from './publisher.ts';
import type { RelayOptions, RelayTerm } from './relay-options.ts';
import { StateWriter, type StateWriterDeps } from './state-writer.ts';
import { measureSend, TermLoop, TroubleReport } from './term-loop.ts';
import type { UpdateTraces } from './update-traces.ts';

/** The creator closes the two publishers once the relay is drained. */
interface RelayDeps extends StateWriterDeps {
  readonly publisher: Publisher;
  readonly metrics: Metrics['relay'] & Pick<Metrics['ingest'], 'latency'>;
  readonly traces?: UpdateTraces | undefined;
  /** Covers everything that is sent. Left out: no checkpoint is kept. */
  readonly checkpoint?: Pick<CheckpointWriter, 'along' | 'doubt' | 'cover'>;
}

const askPublishedEveryMs = 50;

/**
 * Sends committed updates to Kafka (docs/decisions/002-kafkajs-without-its-retries.md): every row
 * in the lane's log, in order, at least once. A row that Kafka has goes on to `StateWriter`, which
 * never holds it up.
 *
 * States: no term (standing by) → `reading` the log → `following` the hand-off in memory; back to
 * `reading` after any failure, gap or overflow (see `Handoff`). In both it may be waiting: for a
 * lease young enough to act on, or for the backoff after a failure. One publish at a time, also
 * across terms.
 *
 * Invariant: the position never passes a row that is not acknowledged, and nothing is sent unless
 * the lease allowed it just before. A crash at any moment costs repeats, never a row. Memory: as
 * much as `Handoff` and `StateWriter` may hold, one read and one publish.
 */
export class Relay implements Service {
  readonly name = 'relay';
  private readonly loop: TermLoop<RelayTerm> = new TermLoop((term) => this.serve(term));
  private ticker: Timer | undefined;
  /** The state writers of all terms so far, one after the other. */
  private states: Promise<void> = Promise.resolve();
  private readonly readSize: ReadSize;
  private readonly backoff: Backoff;
  private readonly latency: LatencyRecorder;
  private readonly pending: PendingWatch;
  private readonly kafkaTrouble: TroubleReport;
  private readonly logTrouble: TroubleReport;
  private readonly deps: RelayDeps;
  private readonly options: RelayOptions;

  constructor(deps: RelayDeps, options: RelayOptions) {
    this.deps = deps;
    this.options = options;
    this.backoff = new Backoff(deps.random, options.backoff);
    this.readSize = new ReadSize(options);
    this.latency = new LatencyRecorder(deps.metrics.latency);
    this.pending = new PendingWatch(deps, options);
    this.kafkaTrouble = new TroubleReport(deps, 'publishing');
    this.logTrouble = new TroubleReport(deps, 'reading the log');
  }

  /** Resolves at once, before Kafka or the database has answered: the relay keeps trying. */
  async start(): Promise<void> {
    this.loop.start();
    this.tick();
  }

  /**
   * The lane is ours. `lastBatch`: its last committed batch. Call it before the term's first batch
   * is handed over.
   */
  begin(lastBatch: bigint): void {
    this.end();
    const { metrics } = this.deps;
    const over = new AbortController();
    this.loop.begin({
      handoff: new Handoff(this.options, lastBatch, (reason) => metrics.resent.inc({ reason })),
      position: new Position(this.deps, 'log'),
      states: new StateWriter(this.deps, this.options.states, over.signal),
      over,
    });
  }

  /**
   * The lane is lost. Nothing new is sent from here on; a publish under way may still arrive, as a
   * repeat at worst.
   */
  end(): void {
    this.loop.end();
    this.pending.clear();
  }

  /**
   * A batch that just committed. Never waits, never fails: rows that can't be kept are read from
   * the log.
   */
  publishCommitted(batch: CommittedBatch): void {
    this.loop.term?.handoff.addCommitted(batch);
    this.loop.wake();
  }

  /**
   * Batches were committed but can't be handed over (their rows or numbers are not known here): the
   * log has them.
   */
  missedCommitted(): void {
    this.loop.term?.handoff.reread('gap');
    this.loop.wake();
  }

  /**
   * For people: the relay's source, and how far Kafka has acknowledged the log. Null while another
   * process holds the lane.
   */
  status(): { readonly source: 'log' | 'memory'; readonly acknowledgedSeq: string; readonly heldRows: number } | null {
    if (this.loop.term === undefined) return null;
    const { handoff, position } = this.loop.term;
    return {
      source: handoff.reading ? 'log' : 'memory',
      acknowledgedSeq: position.reached.toString(),
      heldRows: handoff.heldRows,
    };
  }

  /**
   * Resolves once Kafka has every row now in the lane's log, on the topics of updates and of
   * states, and both positions are saved. Until then neither rests: a shard on its way to another
   * process has none meanwhile. Rejects when `signal` aborts before, or the database can't be
   * reached.
   */
  async awaitPublished(signal: AbortSignal): Promise<void> {
    const { log, lease, clock } = this.deps;
    const { lane } = lease;
    const first = await log.backlog(lane);
    const targets = new Map(first.map(({ cursor, newest }) => [cursor, newest ?? 0n]));
    for (let backlog = first; ; backlog = await log.backlog(lane)) {
      if (backlog.every(({ cursor, passed }) => passed >= (targets.get(cursor) ?? 0n))) return;
      void this.loop.term?.position.save();
      this.loop.term?.states.hurry();
      await clock.sleep(askPublishedEveryMs, signal);
      signal.throwIfAborted();
    }
  }

  /**
   * Publishes the committed rows until the first failure, and their states; saves the positions,
   * and stops.
   */
  async drain(signal: AbortSignal): Promise<void> {
    const { term, gaveUp } = await this.loop.drain(signal);
    this.ticker?.cancel();
    await Promise.race([this.states, gaveUp]);
    // A save under way may lag behind the last publish: wait for it, then save the rest.
    if (!signal.aborted) await Promise.race([term?.position.save().then(() => term.position.save()), gaveUp]);
    this.end();
  }

  private async serve(term: RelayTerm): Promise<void> {
    // The updates don't wait for a flush of the term before.
    this.states = this.states.then(() => term.states.serve());
    await this.send(term);
    term.states.finish();
  }

  private async send(term: RelayTerm): Promise<void> {
    const { over, position, handoff } = term;
    while (!over.signal.aborted && !(await this.loadPosition(position))) await this.waitAfterFailure(term);
    while (!over.signal.aborted) {
      if (handoff.reading) {
        await this.readOn(term);
        continue;
      }
      const handed = handoff.takeRows(this.options.maxRows, this.options.maxBytes);
      if (handed !== undefined) await this.sendHanded(term, handed);
      else if (this.loop.draining) return;
      else await this.loop.wait();
    }
  }

  private async loadPosition(position: Position): Promise<boolean> {
    try {
      await position.load();
      this.logTrouble.passed();
      return true;
    } catch (err) {
      this.logTrouble.happened(err);
      return false;
    }
  }

  private async readOn(term: RelayTerm): Promise<void> {
    const { handoff, position } = term;
    const maxRows = this.readSize.rows;
    handoff.beginRead(this.deps.lease.checkpoint.newest?.batch);
    let rows: Awaited<ReturnType<UpdateLog['readAfter']>>;
    try {
      rows = await this.deps.log.readAfter(this.deps.lease.lane, position.reached, maxRows);
    } catch (err) {
      this.readSize.failed();
      this.logTrouble.happened(err);
      await this.waitAfterFailure(term);
      return;
    }
    this.logTrouble.passed();
    this.readSize.read(rows);
    // The lease may be one for another lane by now.
    if (term.over.signal.aborted) return;
    // Kafka will have these rows soon. If a batch's answer is still open, this is the only proof
    // that it was committed.
    this.deps.lease.checkpoint.sawBatch(rows.at(-1)?.batch ?? 0n);
    for (const run of splitByTopic(rows)) {
      if (!(await this.publish(term, run, run.at(-1)?.batch ?? 0n))) return;
      position.advance(run.at(-1)?.seq ?? 0n);
      term.states.addPublished(run, position.reached);
    }
    handoff.endRead(position.reached, rows.length < maxRows);
  }

  private async sendHanded(term: RelayTerm, handed: HandoffRows): Promise<void> {
    const { batches } = handed;
    const traced = this.deps.traces?.begin(batches);
    const rows =
      traced?.rows ?? (batches.length === 1 ? (batches[0]?.rows ?? []) : batches.flatMap((batch) => batch.rows));
    this.pending.inFlight(handed);
    for (const run of splitByTopic(rows)) {
      if (await this.publish(term, run, batches.at(-1)?.number ?? 0n)) continue;
      this.pending.inFlight(undefined);
      traced?.end('not acknowledged; sent again from the log');
      return;
    }
    this.pending.inFlight(undefined);
    traced?.end();
    const ackedMs = this.deps.clock.monotonicMs();
    for (const batch of handed.batches) {
      if (batch.lastSeq !== undefined) term.position.advance(batch.lastSeq);
      term.states.addPublished(batch.rows, term.position.reached);
      this.latency.record(batch, ackedMs);
    }
  }

  /**
   * False: the rows may or may not have arrived, and the handoff goes back to the log. Or the term
   * is over.
   */
  private async publish(term: RelayTerm, rows: readonly LogRow[], upToBatch: bigint): Promise<boolean> {
    const { clock, lease, publisher, checkpoint } = this.deps;
    const topic = rows[0]?.topic ?? 'updates';
    const mayAct = () => lease.mayAct() && !term.position.fenced;
    while (!mayAct() && !term.over.signal.aborted) await clock.sleep(this.options.leasePollMs, term.over.signal);
    if (term.over.signal.aborted) return false;
    const isStill = () => mayAct() && !term.over.signal.aborted;
    try {
      await measureSend(this.deps, topic, rows.length, async () =>
        publisher.publish(rows, isStill, checkpoint?.along(upToBatch)),
      );
    } catch (err) {
      checkpoint?.doubt();
      this.kafkaTrouble.happened(err);
      term.handoff.reread('failure');
      await this.waitAfterFailure(term);
      return false;
    }
    this.backoff.reset();
    this.kafkaTrouble.passed();
    return true;
  }

  /** While draining, the first failure is the last: the log keeps the rest for the next start. */
  private async waitAfterFailure(term: RelayTerm): Promise<void> {
    if (this.loop.draining) term.over.abort();
    else await this.deps.clock.sleep(this.backoff.nextMs(), term.over.signal);
  }

  private tick(): void {
    this.ticker = this.deps.clock.after(this.options.saveEveryMs, () => {
      const term = this.loop.term;
      if (term !== undefined) {
        void term.position.save();
        void this.pending.refresh(term).then((stranded) => {
          if (stranded && term === this.loop.term) this.loop.wake();
        });
      }
      this.tick();
    });
  }
}

/**
 * Splits rows into runs for one topic, in order. A watermark says "complete up to here", so
 * it may leave only once everything before it is acknowledged: each run is a send of its own, and
 * the next one waits for it.
 */
function splitByTopic<Row extends LogRow>(rows: readonly Row[]): (readonly Row[])[] {
  const runs: Row[][] = [];
  let run: Row[] = [];
  for (const row of rows) {
    if (run[0] !== undefined && run[0].topic !== row.topic) {
      runs.push(run);
      run = [];
    }
    run.push(row);
  }
  if (run.length > 0) runs.push(run);
  return runs;
}

/**
 * How many rows the next read of the log asks for. A row usually has 1 kB, and may have 300 kB: a
 * thousand such rows neither fit into our memory nor arrive within a query's deadline, and a failed
 * read must not be repeated with the same size.
 *
 * Invariant: 1 <= `rows` <= `maxRows`. It follows the size of the rows in the last read, halves
 * with each failure, and at most doubles with each success.
 */
export class ReadSize {
  private next: number;
  private readonly limits: Pick<RelayOptions, 'maxRows' | 'maxReadBytes'>;

  constructor(limits: ReadSize['limits']) {
    this.limits = limits;
    this.next = limits.maxRows;
  }

  get rows(): number {
    return this.next;
  }

  read(rows: readonly LogRow[]): void {
    const { maxRows, maxReadBytes } = this.limits;
    const bytes = rows.reduce((sum, row) => sum + row.payload.length, 0);
    const fitting = Math.floor((maxReadBytes * rows.length) / Math.max(1, bytes));
    this.next = Math.max(1, Math.min(maxRows, 2 * this.next, bytes === 0 ? maxRows : fitting));
  }

  failed(): void {
    this.next = Math.max(1, this.next >> 1);
  }
}
