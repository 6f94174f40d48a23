import { sqlstateSentence } from '../../runtime/sqlstate-words.ts';
import type { Wakeup } from '../../runtime/waiting.ts';
import type { LaneHold } from '../../store/fleet/lane-store.ts';
import { type ApplyResult, RefusedReadError, type Unproven } from '../../store/orders/order-store.ts';
import { staleHead } from '../../store/session/retry-transaction.ts';
import { BatchSize, countFitting, type Entry, endEntries, keysOf } from './entry.ts';
import { HeadCache } from './head-cache.ts';
import type { IngestDeps, IngestOptions, LossReason } from './ingest-deps.ts';
import { PoisonSearch, type Refusal, storedInstead } from './isolate-poison.ts';
import { type Known, loadKnown } from './load-known.ts';
import { type Flight, idGivenAgain, noneUnproven, prepareBatch } from './prepare-batch.ts';

const maxFlights = 2;

interface PipelineDeps extends IngestDeps {
  /** Up to `count` queued entries, about `maxBytes` in all, oldest first. Empty: there are none. */
  readonly source: (count: number, maxBytes: number) => Entry[];
  /** Woken by every offer, and by every answer of the store. */
  readonly wakeup: Wakeup;
  /** The uncommitted entries have changed, or failed once more. */
  readonly onProgress: () => void;
}

/** What a batch has to know first. Undefined: the database could not be reached. */
type Loaded = Known | RefusedReadError | undefined;

/**
 * One term of the lane: takes queued entries, reduces them, and keeps up to two batches in flight.
 *
 * One loop does everything that can change the entries' order (take, reduce, send, recover). Only
 * completion happens outside it, for a batch that committed in its turn: the relay has it without
 * delay.
 *
 * Invariant: flights + `loading` + `again` + queue hold every uncommitted entry once, oldest first,
 * and `nextNumber` is the lane's batch number plus the numbered flights plus one. A failure also
 * drops the flights behind it. The heads that they touched are evicted, and their entries are
 * reduced again.
 */
export class BatchPipeline {
  readonly cache: HeadCache;
  private readonly poison: PoisonSearch;
  private readonly size = new BatchSize();
  private flights: Flight[] = [];
  /** Taken; their orders are being read. They stay here as long as the database is away. */
  private loading: readonly Entry[] = [];
  private again: Entry[] = [];
  private nextNumber: bigint;
  /** Covers all batches up to `nextNumber` - 1. */
  private unproven: Unproven;
  private readonly generation: number;
  private stopped = false;
  /** See `loadKnown`. Not after a failure, until the database has taken a batch. */
  private trustsFirst = true;
  /** Why nothing commits: the first failure since the last commit. Only the pipeline sets it. */
  trouble: string | undefined;
  private readonly deps: PipelineDeps;
  private readonly options: IngestOptions;

  constructor(deps: PipelineDeps, options: IngestOptions, hold: LaneHold) {
    this.deps = deps;
    this.options = options;
    this.cache = new HeadCache(options.headCacheCount);
    this.poison = new PoisonSearch(options.batchMaxCount);
    this.nextNumber = hold.batch + 1n;
    this.generation = hold.generation;
    this.unproven = noneUnproven(hold.batch);
  }

  /**
   * Other processes may have changed these accounts' orders. Orders with uncommitted entries stay:
   * an account is never given away with them.
   */
  forgetOrders(isOf: (accountId: string) => boolean): void {
    const loading = new Set(keysOf(this.loading));
    this.cache.forget((accountId, key) => isOf(accountId) && !loading.has(key));
  }

  /** Works until `stop`, or until the lane is lost. Never rejects. */
  async run(): Promise<void> {
    await this.resumeProofs();
    while (!this.stopped) {
      const first = this.flights[0]?.result;
      if (first !== undefined && first.kind !== 'committed') {
        await this.recover();
      } else if (this.flights.length < (this.poison.searching ? 1 : maxFlights)) {
        // Batches of a busy process do not rest: 4 ms apart, an update cost 129 µs (without: 122)
        // at 5,000/s, and the p99 was 131 ms (without: 50).
        await this.deps.clock.turn();
        const entries = this.takeEntries();
        await (entries.length === 0 ? this.deps.wakeup.wait() : this.send(entries));
      } else {
        await this.deps.wakeup.wait();
      }
    }
    await Promise.all(this.flights.map((flight) => flight.answer));
  }

  stop(): void {
    this.stopped = true;
    this.deps.wakeup.wake();
  }

  /**
   * The next proof then follows the last one of the term before. While the database is away this
   * waits: nothing could be committed either. If the database refuses the read, the proofs have a
   * distance. Consumers report it, and nothing else is lost.
   */
  private async resumeProofs(): Promise<void> {
    while (!this.stopped) {
      try {
        this.unproven = (await this.deps.store.readUnproven(this.deps.lease.lane, this.generation)) ?? this.unproven;
        return;
      } catch (err) {
        if (err instanceof RefusedReadError) {
          this.deps.log.warn({ err }, 'the last proof could not be read; consumers will see a distance to the next');
          return;
        }
        await this.pause();
      }
    }
  }

  /** The entries taken and not committed, oldest first. */
  uncommitted(): Entry[] {
    return [...this.flights.flatMap((flight) => flight.entries), ...this.loading, ...this.again];
  }

  get uncommittedCount(): number {
    return this.flights.reduce((sum, { entries }) => sum + entries.length, this.loading.length + this.again.length);
  }

  get oldestUncommitted(): Entry | undefined {
    return this.flights[0]?.entries[0] ?? this.loading[0] ?? this.again[0];
  }

  private takeEntries(): Entry[] {
    const { limit } = this.poison;
    const { maxBytes } = this.size;
    if (this.again.length === 0) return this.deps.source(limit, maxBytes);
    const count = countFitting(this.again, limit, maxBytes);
    const entries = this.again.slice(0, count);
    this.again = this.again.slice(count);
    return entries;
  }

  private async send(entries: Entry[]): Promise<void> {
    this.loading = entries;
    const keys = keysOf(entries);
    const known = await this.load(entries, keys);
    this.loading = [];
    if (known instanceof RefusedReadError) {
      this.again = entries.concat(this.again);
      // The flights come first: a single entry can be isolated only when its batch is the
      // first in line.
      if (this.flights.length === 0) await this.isolateFailure(entries, known);
      else await this.pause();
      return;
    }
    const failed = this.flights.some((flight) => flight.result !== undefined && flight.result.kind !== 'committed');
    if (known === undefined || failed || this.stopped) {
      this.again = entries.concat(this.again);
      return;
    }
    const unprovenBefore = this.unproven;
    const { lane, epoch } = this.deps.lease;
    const { generation, nextNumber } = this;
    const term = { keys, lane, generation, number: nextNumber, unproven: unprovenBefore, ...known };
    const prepared = prepareBatch(entries, this.cache, term);
    this.unproven = prepared.unproven;
    this.cache.trim();
    const { heads, updates, places, deadLetters, bindings: bound } = prepared;
    const rows = heads.length + updates.length + deadLetters.length;
    const writes = rows > 0 || entries.some((entry) => entry.kind === 'barrier' && entry.numbered);
    const number = writes ? nextNumber : undefined;
    if (writes) this.nextNumber += 1n;
    const rest = { updates, places, deadLetters, ...(bound.length > 0 && { bindings: bound }) };
    const answer: Promise<ApplyResult> =
      number === undefined
        ? Promise.resolve({ kind: 'committed', lastSeq: undefined })
        : this.deps.store
            .applyBatch({ lane, epoch, number, heads, ...rest })
            .catch((error: unknown) => ({ kind: 'unknown', code: String(error) }));
    this.launch({ number, entries, prepared, unprovenBefore, answer });
  }

  private launch(sent: Omit<Flight, 'sentMs' | 'result'>): void {
    const flight: Flight = { ...sent, sentMs: this.deps.clock.monotonicMs(), result: undefined };
    this.flights.push(flight);
    void sent.answer.then((result) => {
      flight.result = result;
      if (!this.stopped) this.completeReady();
      this.deps.wakeup.wake();
    });
  }

  /** Resolves the committed flights at the front. */
  private completeReady(): void {
    for (;;) {
      const flight = this.flights[0];
      if (flight?.result?.kind !== 'committed') return;
      this.flights.shift();
      this.complete(flight, flight.result.lastSeq, true);
    }
  }

  private complete(flight: Flight, lastSeq: bigint | undefined, handOver: boolean): void {
    const { clock, lease, metrics, onCommitted, onCommitUnseen: onUnhanded, backoff } = this.deps;
    for (const slot of flight.prepared.touched) this.cache.unpin(slot);
    this.cache.keep(flight.prepared.kept);
    const committedMs = clock.monotonicMs();
    if (flight.number !== undefined) {
      this.trustsFirst = true;
      lease.confirmByBatch(flight.sentMs);
      lease.checkpoint.sawBatch(flight.number);
      metrics.batchSize.observe(flight.entries.length);
      metrics.applySeconds.observe((committedMs - flight.sentMs) / 1000);
      this.size.passed(flight.entries);
      const { rows, receivedMs, streams, bytes } = flight.prepared;
      const batch = { number: flight.number, lastSeq, rows, receivedMs, streams, committedMs, bytes };
      if (handOver) onCommitted(batch);
      else onUnhanded();
    }
    this.poison.passed(flight.entries.length, flight.number !== undefined && flight.prepared.heads.length > 0);
    endEntries(flight.entries, flight.prepared, metrics.observations);
    for (const begun of flight.prepared.begun) this.deps.log.warn(begun, idGivenAgain);
    for (const { observation, raised } of flight.prepared.doubts) observation.onDoubt?.(observation, ...raised);
    backoff.reset();
    this.trouble = undefined;
    this.deps.onProgress();
  }

  /**
   * The first flight failed. Learns the others' results, puts back the entries without a commit,
   * and brings the lane back into step.
   */
  private async recover(): Promise<void> {
    const results = await Promise.all(this.flights.map((flight) => flight.answer));
    const first = results.find((result) => result.kind !== 'committed');
    if (first === undefined) return;
    if (results.some((result) => result.kind === 'lane_lost')) {
      this.lose('batch_refused');
      return;
    }
    // Tried again at once: heads are read now. If no guess was the cause, it is refused once more.
    const guessed = this.trustsFirst && first.kind === 'retry' && first.code === staleHead;
    if (!guessed) this.report(first);
    // One unknown anywhere is enough: an orphan of the second batch could still enter the lane
    // behind the first one's second try.
    if (first.kind === 'out_of_order' || results.some((result) => result.kind === 'unknown')) {
      const hold = await this.reclaim();
      if (hold === undefined) return;
      if (!this.isInStep(hold.batch)) {
        this.lose('forgotten');
        return;
      }
      this.completeUpTo(hold.batch);
    }
    const failed = this.flights;
    this.flights = [];
    this.putBack(failed);
    const entries = failed[0]?.entries;
    if (entries === undefined) return;
    const none = failed.length === results.length;
    if (first.kind === 'poison') this.isolate(entries, first);
    else if (first.kind === 'failed' && none) await this.isolateFailure(entries, first);
    else if (!guessed) {
      this.size.failed(entries);
      // After partial progress no rest is needed. A batch that breaks its connection each time
      // needs one: each try raises the epoch, and the next may begin within milliseconds.
      if (none) await this.pause();
    }
  }

  /**
   * False: a failover or a restore took back committed batches. Then no head in the cache can be
   * trusted, and our batches' numbers would never fit again.
   */
  private isInStep(batch: bigint): boolean {
    const lowest = this.flights.find((flight) => flight.number !== undefined)?.number ?? this.nextNumber;
    const checkpointed = this.deps.lease.checkpoint.newest?.batch ?? 0n;
    return batch >= lowest - 1n && batch >= checkpointed && batch < this.nextNumber;
  }

  /**
   * `batch` is final: every flight up to it committed. Their seqs are not known here, so the relay
   * reads them from the log.
   */
  private completeUpTo(batch: bigint): void {
    for (;;) {
      const flight = this.flights[0];
      if (flight === undefined || (flight.number !== undefined && flight.number > batch)) break;
      this.flights.shift();
      this.complete(flight, undefined, false);
    }
    this.nextNumber = batch + 1n;
  }

  private putBack(flights: readonly Flight[]): void {
    for (const { prepared } of flights) {
      for (const slot of prepared.touched) this.cache.evict(slot);
    }
    this.nextNumber = flights.find((flight) => flight.number !== undefined)?.number ?? this.nextNumber;
    this.trustsFirst = false;
    this.unproven = flights[0]?.unprovenBefore ?? this.unproven;
    this.again = flights.flatMap((flight) => flight.entries).concat(this.again);
  }

  private isolate(entries: readonly Entry[], refusal: Refusal): void {
    const [entry] = entries;
    // A single entry refused at once is tried once more. It was reduced against a cached head, and
    // its heads have been evicted since.
    if (entries.length > 1 || entry === undefined || !this.poison.searching) {
      this.poison.refused(entries.length);
      return;
    }
    this.deadLetterFirst(entry, refusal);
  }

  /**
   * The entries are first in line again. If other entries pass without them, the fault lies in
   * these.
   */
  private async isolateFailure(entries: readonly Entry[], failure: Refusal): Promise<void> {
    const [entry] = entries;
    if (!this.poison.failed(failure.code) || entry === undefined) this.size.failed(entries);
    else if (entries.length > 1) this.poison.refused(entries.length);
    else if (this.poison.othersPass) this.deadLetterFirst(entry, failure);
    else this.tryAnotherBefore(entry);
    await this.pause();
  }

  /** An entry may go ahead of others, even of a barrier: none is committed later because of it. */
  private tryAnotherBefore(entry: Entry): void {
    this.poison.refused(1);
    if (this.again.length < this.options.batchMaxCount)
      this.again = this.again.concat(
        this.deps.source(this.options.batchMaxCount - this.again.length, this.size.maxBytes),
      );
    const place = this.poison.anotherToTry(entry, this.again);
    if (place > 0) this.again = [...this.again.splice(place, 1), ...this.again];
  }

  private deadLetterFirst(entry: Entry, refusal: Refusal): void {
    const kept = storedInstead(entry, refusal, this.deps.log);
    if (entry.kind === 'order') entry.onDoubt?.(entry, 'dead_lettered', 0);
    if (kept !== undefined) {
      this.again[0] = kept;
      return;
    }
    this.again.shift();
    this.poison.passed(1, false);
    endEntries([entry], { results: ['dead_lettered'] }, this.deps.metrics.observations);
  }

  /** Asks until the database answers: before that nothing is known, and nothing may be sent. */
  private async reclaim(): Promise<LaneHold | undefined> {
    while (!this.stopped) {
      try {
        const hold = await this.deps.lane.reclaim();
        if (hold === undefined) this.lose('reclaim_refused');
        return hold;
      } catch (error) {
        this.deps.log.debug({ err: error }, 'the lane could not be reclaimed yet');
        await this.pause();
      }
    }
    return undefined;
  }

  private async load(entries: readonly Entry[], keys: readonly string[]): Promise<Loaded> {
    try {
      return await loadKnown(this.deps, this.cache, entries, keys, this.trustsFirst);
    } catch (error) {
      this.report({ kind: 'unknown', code: String(error) });
      if (error instanceof RefusedReadError) return error;
      this.size.failed(entries);
      await this.pause();
      return undefined;
    }
  }

  private lose(why: LossReason): void {
    this.stopped = true;
    this.deps.lane.reportLost(why);
  }

  /** One line when the store begins to fail; the rest is counted by the metrics. */
  private report(result: ApplyResult): void {
    // The store has logged this itself: it has made the partition, or could not.
    if (this.trouble !== undefined || (result.kind === 'retry' && result.code === 'NO_PARTITION')) return;
    this.trouble = sqlstateSentence('code' in result ? result.code : result.kind);
    this.deps.log.warn({ result, why: this.trouble }, 'a batch failed; its observations are kept and tried again');
  }

  private async pause(): Promise<void> {
    this.deps.onProgress();
    await this.deps.clock.sleep(this.deps.backoff.nextMs());
  }
}
