import { compareInstants, formatInstant, parseInstant } from '../domain/instant.ts';
import type { Observation, Outcome } from '../domain/observation.ts';
import type { Stream } from '../domain/order.ts';
import { isTerminal } from '../domain/terminal.ts';
import type { Log } from '../observability/log.ts';
import type { GetResult, ListRequest, OrderReads, Page } from '../platform/order-reads.ts';
import type { PlatformError } from '../platform/platform-error.ts';
import type { Clock } from '../runtime/clock.ts';
import type { ReadBudget } from '../runtime/read-budget.ts';
import type { AccountRecord, AccountRegistry } from './account-registry.ts';
import { askAfterSilent } from './ask-after-silent.ts';
import { GetQueue } from './get-queue.ts';
import type { ObservationSink } from './observation-sink.ts';
import type { ReadKind, ReadOutcome, ReadProgress } from './read-progress.ts';
import { roomIn } from './room-in.ts';
import type { RowIntake } from './row-intake.ts';
import type { StreamTimings } from './stream-timings.ts';
import type { Window } from './window.ts';

export interface AccountReaderDeps {
  readonly reads: OrderReads;
  readonly registry: AccountRegistry;
  readonly sink: ObservationSink;
  readonly intake: RowIntake;
  readonly clock: Clock;
  readonly log: Log;
  /** Shared by all accounts. */
  readonly gate: Window;
  readonly auditGate: Window;
}

export interface AccountReaderOptions {
  readonly stream: Stream;
  readonly timings: StreamTimings;
  /** The life of the account's session: reads under way are given up when it aborts. */
  readonly signal: AbortSignal;
  /** What became of a row of an audit, for those who look for losses and corrections. */
  readonly onAudited: (observation: Observation, outcome: Outcome) => void;
}

/**
 * An audit is slow on purpose. Its pages are small, each goes through ingest before it rests nine times as long as that took, and one account is audited at a
 * time: a tenth of what the process can do at the most. Pages of 500, a rest by the time of decoding alone and all accounts at once left little of the process
 * to the stream: unpaced throughput fell from 17.7k to 11k updates a second once audits had begun.
 */
const auditPageRows = 100;
const auditRest = 9;
const auditRestMaxMs = 2_000;

/**
 * The one reader of an account: resync, audit, probes and single orders wait for each other, so that the platform sees one careful reader whatever happens. Only
 * an audit, which may rest for minutes, lets probes go between its pages: a command of unknown outcome waits for them.
 *
 * Invariant: `record.readUpTo` is the highest updatedAt that a complete read showed, after everything it showed was committed; the stream never moves it.
 * So a read that begins `overlapMs` before it misses nothing that any earlier one missed.
 */
export class AccountReader {
  private current: AccountRecord;
  /** Monotonic time at which the newest read began that was complete. */
  completeSinceMs: number | undefined;
  /** The last complete read showed nothing at all. */
  private wasEmpty = false;
  private tail: Promise<unknown> = Promise.resolve();
  private readonly urgent: (() => Promise<void>)[] = [];
  /** Ends the rest between two pages of an audit. */
  private rest = new AbortController();
  private readonly gets: GetQueue;
  private readonly deps: AccountReaderDeps;
  private readonly options: AccountReaderOptions;

  constructor(deps: AccountReaderDeps, options: AccountReaderOptions, record: AccountRecord) {
    this.deps = deps;
    this.options = options;
    this.current = record;
    this.gets = new GetQueue(deps, options, record.accountId, (work) => this.serially(work));
  }

  get record(): AccountRecord {
    return this.current;
  }

  /**
   * Reads what `kind` asks for, through ingest to the commit. Never rejects. `sinceMs`, of a probe: wall time of the oldest thing that it has to show; the read
   * reaches back to before it, should the mark of the last complete read be later.
   */
  read(kind: ReadKind, signal: AbortSignal, sinceMs?: number, budget?: ReadBudget): Promise<ReadOutcome> {
    const work = async () => {
      try {
        const gate = kind === 'audit' ? this.deps.auditGate : this.deps.gate;
        return await gate.run(() => this.readNow(kind, signal, sinceMs, budget));
      } catch (error) {
        return incomplete(notSettled(error));
      }
    };
    return kind === 'probe' ? this.soon(work) : this.serially(work);
  }

  /** `work` in its turn, or between two pages of the audit that is under way. `work` never rejects. */
  soon<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve) => {
      this.urgent.push(() => work().then(resolve));
      this.rest.abort();
      // Whichever comes first does it: this turn, or the audit.
      void this.serially(() => this.doUrgent());
    });
  }

  /** One GET of the order, behind what is being read; several before its turn are one. */
  ask(orderId: string): void {
    this.gets.ask(orderId);
  }

  /** One GET in its turn. What it brings is not offered. */
  get(orderId: string): Promise<GetResult> {
    const { stream, signal } = this.options;
    return this.serially(() => this.deps.reads.getOrder(stream, this.current.accountId, orderId, signal));
  }

  /** Replaces what is kept of the account, durably. Rejects when the database can't be reached. */
  async save(record: AccountRecord): Promise<void> {
    await this.deps.registry.save(record);
    // As in the database: what was saved for an older source epoch does not replace a newer one, however late its answer comes.
    if (record.sourceEpoch >= this.current.sourceEpoch) this.current = record;
  }

  private serially<T>(work: () => Promise<T>): Promise<T> {
    const result = this.tail.then(work);
    this.tail = result.catch(() => undefined);
    return result;
  }

  private async doUrgent(): Promise<void> {
    for (let next = this.urgent.shift(); next !== undefined; next = this.urgent.shift()) await next();
  }

  private async readNow(kind: ReadKind, signal: AbortSignal, sinceMs?: number, budget?: ReadBudget): Promise<ReadOutcome> {
    if (signal.aborted) return incomplete(givenUp);
    const beganMs = this.deps.clock.monotonicMs();
    const progress = this.begun(kind, signal, budget);
    for (const request of this.requests(progress, sinceMs)) {
      const list = await this.deps.reads.listOrders(request, (page) => this.page(page, progress), signal, budget);
      if (!list.complete) return incomplete(list.error);
    }
    await this.deps.sink.settled();
    const silent = await askAfterSilent(
      { ...this.deps, page: (page) => this.page(page, progress), taken: (item) => this.taken(item, progress) },
      this.options.stream,
      this.current.accountId,
      progress,
    );
    if (silent !== undefined) return incomplete(silent);
    if (signal.aborted) return incomplete(givenUp);
    if (kind === 'probe' && progress.unclear > 0) return incomplete(unclear);
    await this.remember(progress);
    this.completeSinceMs = beganMs;
    const { rows, startedMs, certain, shown } = progress;
    return { complete: true, rows, startedMs, certain, shown };
  }

  private begun(kind: ReadKind, signal: AbortSignal, budget?: ReadBudget): ReadProgress {
    const { clock, intake } = this.deps;
    return {
      kind,
      cause: kind === 'probe' ? 'probe' : 'snapshot',
      startedMs: clock.nowMs(),
      asked: intake.mark,
      signal,
      budget,
      shownOpen: new Set(),
      shown: [],
      rows: 0,
      unclear: 0,
      certain: true,
      highest: undefined,
    };
  }

  private requests({ kind, startedMs }: ReadProgress, sinceMs: number | undefined): ListRequest[] {
    const { accountId, readUpTo } = this.current;
    const { stream, timings } = this.options;
    const all = { stream, accountId, state: 'all' } as const;
    if (kind === 'complete') return [all];
    const pages = kind === 'audit' ? { pageRows: auditPageRows } : {};
    if (readUpTo !== undefined) return [{ ...all, ...pages, updatedAfter: earlier(readUpTo, sinceMs, timings.overlapMs) }];
    // First start: what is open, however old, and what was closed within the horizon. Where there was nothing, what comes is within the horizon.
    const recent = { ...all, updatedAfter: formatInstant(startedMs - timings.snapshotMs) };
    return this.wasEmpty ? [recent] : [{ ...all, state: 'open' }, recent];
  }

  private async page({ rows, bytes }: Page, progress: ReadProgress): Promise<void> {
    const { clock, sink } = this.deps;
    const startedMs = clock.monotonicMs();
    for (const row of rows) this.row(row, Math.ceil(bytes / rows.length), startedMs, progress);
    await roomIn(sink, progress.signal);
    if (progress.kind === 'audit') {
      await sink.settled();
      const restMs = Math.min(auditRestMaxMs, (clock.monotonicMs() - startedMs) * auditRest);
      if (this.urgent.length === 0) await this.restFor(restMs, progress.signal);
      await this.doUrgent();
    }
  }

  private async restFor(restMs: number, signal: AbortSignal): Promise<void> {
    const rest = new AbortController();
    this.rest = rest;
    const end = () => rest.abort();
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) rest.abort();
    await this.deps.clock.sleep(restMs, rest.signal);
    signal.removeEventListener('abort', end);
  }

  private row(row: unknown, bytes: number, receivedMs: number, progress: ReadProgress): void {
    const item = this.deps.intake.take(row, {
      cause: progress.cause,
      receivedMs,
      bytes,
      raw: () => JSON.stringify(row),
      asked: progress.asked,
      ...(progress.kind === 'audit' && { onOutcome: this.options.onAudited }),
    });
    this.taken(item, progress);
    if (item.kind !== 'order') return;
    progress.rows += 1;
    const { orderId, status, updatedAt } = item.view;
    if (!isTerminal(status)) progress.shownOpen.add(orderId);
    if (progress.highest === undefined || compareInstants(updatedAt, progress.highest) > 0) progress.highest = updatedAt;
  }

  private taken(item: ReturnType<RowIntake['take']>, progress: ReadProgress): void {
    if (item.kind !== 'order') {
      progress.unclear += 1;
      return;
    }
    if (item.view.certainty !== 'certain') progress.certain = false;
    if (progress.kind === 'probe') progress.shown.push(item.view.orderId);
  }

  /**
   * The mark is the platform's own word. A list that shows nothing leaves none: one by our clock, should that be fast, would hide what comes next from every later
   * read, and to read nothing from the horizon on again costs nothing. A row from the future would blind them too, so the mark never passes our own clock by
   * more than the overlap.
   */
  private async remember({ highest, startedMs }: ReadProgress): Promise<void> {
    this.wasEmpty = highest === undefined;
    if (highest === undefined) return;
    const { readUpTo } = this.current;
    const cap = formatInstant(startedMs + this.options.timings.overlapMs);
    const next = compareInstants(highest, cap) > 0 ? cap : highest;
    if (readUpTo !== undefined && compareInstants(next, readUpTo) <= 0) return;
    await this.save({ ...this.current, readUpTo: next });
  }
}

const givenUp: PlatformError = {
  code: 'NO_ANSWER',
  message: 'given up: the account left its connection',
  retryable: true,
  sent: 'maybe',
};

const unclear: PlatformError = {
  code: 'BAD_ANSWER',
  message: 'the list has rows that cannot be read, or that are of a store that was lost: it shows no absence',
  retryable: true,
  sent: 'yes',
};

function earlier(instant: string, sinceMs: number | undefined, byMs: number): string {
  const instantMs = Number((parseInstant(instant) ?? 0n) / 1_000_000n);
  return formatInstant(Math.min(instantMs, sinceMs ?? instantMs) - byMs);
}

/** The lane ended, or the database could not be asked. What was read is safe to read again. */
export function notSettled(error: unknown): PlatformError {
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'STORE_UNAVAILABLE', message, retryable: true, sent: 'yes' };
}

function incomplete(error: PlatformError): ReadOutcome {
  return { complete: false, error };
}
