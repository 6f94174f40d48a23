import { compareInstants, formatInstant, parseInstant } from '../../domain/instant.ts';
import type { Observation, Outcome } from '../../domain/observation.ts';
import type { Stream } from '../../domain/order.ts';
import { isTerminal } from '../../domain/order.ts';
import type { Log } from '../../observability/log.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { AccountRecord, AccountRegistry } from '../../store/fleet/account-registry.ts';
import type { ListRequest, OrderReads, Page, ReadBudget } from '../../venue/platform/order-reads.ts';
import type { PlatformError } from '../../venue/platform/platform-error.ts';
import type { AbsentOrders } from './absent-orders.ts';
import { givenUp, notSettled, storeIsLost, unclear } from './account-access.ts';
import { askAfterSilent } from './ask-after-silent.ts';
import type { Doubts } from './doubts.ts';
import type { ObservationSink } from './observation-sink.ts';
import { roomIn } from './observation-sink.ts';
import type { OrderLooks } from './order-looks.ts';
import type { ReadKind, ReadOutcome, ReadProgress } from './read-progress.ts';
import { Repairs } from './repairs.ts';
import type { RowIntake, TakenRow } from './row-intake.ts';
import type { SilencePace } from './silence-pace.ts';
import type { StreamTimings } from './stream-timings.ts';
import type { Unrecovered } from './unrecovered.ts';
import type { Window } from './window.ts';

interface AccountReaderDeps {
  readonly reads: OrderReads;
  readonly registry: AccountRegistry;
  readonly sink: ObservationSink;
  readonly intake: RowIntake;
  readonly looks: OrderLooks;
  readonly absent: AbsentOrders;
  readonly silencePace: SilencePace;
  readonly doubts: Pick<Doubts, 'oldest' | 'mark' | 'readComplete'>;
  readonly unrecovered: Unrecovered;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * For the reads that make accounts live, of all accounts. Accounts whose last read failed have
   * places of their own, so that they delay only each other.
   */
  readonly gate: Window;
  readonly troubledGate: Window;
}

interface AccountReaderOptions {
  readonly stream: Stream;
  readonly timings: StreamTimings;
  /** Called with the outcome of each row of an audit, to find losses and corrections. */
  readonly onAudited: (observation: Observation, outcome: Outcome) => void;
}

/**
 * An audit is slow on purpose. Its pages are small, each goes through ingest before it rests nine
 * times as long as that took, and one account is audited at a time: a tenth of the process's
 * capacity at the most. Pages of 500, a rest by the time of decoding alone and all accounts at once
 * left little of the process to the stream: unpaced throughput fell from 17.7k to 11k updates a
 * second once audits had begun.
 */
const auditPageRows = 100;
const auditRest = 9;
const auditRestMaxMs = 2_000;

/**
 * The one reader of an account's lists. Its reads run at the same time, so that none waits for a
 * longer one: a backfill of hours delays neither the read of a command, which has 30 s, nor the one
 * that makes the account live. Each kind runs once at a time; its callers see to that.
 *
 * Invariant: `record.readUpTo` is the highest updatedAt that a complete read showed, after every
 * row that it showed was committed; the stream never moves it. A read that makes the account
 * live begins a little before it, so its length does not grow with the account's rate over
 * minutes. `record.auditedUpTo` is the same of audits alone, and an audit begins `overlapMs`
 * before that one: it misses nothing that any earlier read missed. A read during which the
 * platform's store was lost is not complete.
 */
export class AccountReader {
  private current: AccountRecord;
  /** Monotonic time at which the newest complete read began. */
  completeSinceMs: number | undefined;
  /** The last read that should make the account live failed. */
  private inTrouble = false;
  /** The last complete read showed nothing at all. */
  private wasEmpty = false;
  private saved: Promise<unknown> = Promise.resolve();
  /** By the reads that make the account live. */
  readonly repairs = new Repairs();
  private readonly deps: AccountReaderDeps;
  private readonly options: AccountReaderOptions;

  constructor(deps: AccountReaderDeps, options: AccountReaderOptions, record: AccountRecord) {
    this.deps = deps;
    this.options = options;
    this.current = record;
  }

  get record(): AccountRecord {
    return this.current;
  }

  /**
   * Reads the orders of `kind`, through ingest to the commit. Never rejects. `sinceMs`, for a
   * probe: wall time of the oldest change that it has to show; the read reaches back to before it
   * if the mark of the last complete read is later.
   */
  async read(kind: ReadKind, signal: AbortSignal, sinceMs?: number, budget?: ReadBudget): Promise<ReadOutcome> {
    const work = () => this.readNow(kind, signal, sinceMs, budget).catch((error) => incomplete(notSettled(error)));
    if (kind !== 'resync' && kind !== 'complete') return work();
    this.deps.silencePace.beginAnew();
    const outcome = await (this.inTrouble ? this.deps.troubledGate : this.deps.gate).run(work);
    if (!signal.aborted) this.inTrouble = !outcome.complete;
    return outcome;
  }

  /**
   * Changes the stored record of the account, durably, one change after the other. Rejects when the
   * database can't be reached.
   */
  save(change: (record: AccountRecord) => AccountRecord): Promise<void> {
    const saved = this.saved.then(async () => {
      const next = change(this.current);
      if (next === this.current) return;
      await this.deps.registry.save(next);
      this.current = next;
    });
    this.saved = saved.catch(() => undefined);
    return saved;
  }

  private async readNow(
    kind: ReadKind,
    signal: AbortSignal,
    sinceMs?: number,
    budget?: ReadBudget,
  ): Promise<ReadOutcome> {
    if (signal.aborted) return incomplete(givenUp);
    const { clock, unrecovered, reads, intake, silencePace } = this.deps;
    const beganMs = clock.monotonicMs();
    const { mark } = unrecovered;
    const doubtMark = this.deps.doubts.mark;
    const progress = this.begun(kind, signal, budget);
    for (const request of this.requests(progress, sinceMs)) {
      const list = await reads.listOrders(request, (page) => this.page(page, progress), signal, budget);
      if (!list.complete) return incomplete(list.error);
    }
    // Not from what follows: a list of the open orders shows newer changes than the lists before
    // it, and no order that ended in between.
    const { highest } = progress;
    if (kind === 'audit' && progress.asksSilent) silencePace.asked(beganMs);
    const silent = await askAfterSilent(
      { ...this.deps, page: (page) => this.page(page, progress), taken: (item) => this.taken(item, progress) },
      this.options.stream,
      this.current.accountId,
      progress,
    );
    if (silent !== undefined) {
      silencePace.beginAnew();
      return incomplete(silent);
    }
    if (signal.aborted) return incomplete(givenUp);
    if (progress.storeMark !== intake.mark) return incomplete(storeIsLost);
    if (kind === 'probe' && progress.unread.size > 0) return incomplete(unclear);
    await this.remember({ ...progress, highest });
    this.deps.doubts.readComplete(doubtMark);
    if (progress.asksSilent) {
      unrecovered.readComplete(mark, progress.unread);
      this.completeSinceMs = Math.max(beganMs, this.completeSinceMs ?? beganMs);
    }
    const { rows, startedMs, certain, shown } = progress;
    return { complete: true, rows, startedMs, certain, shown };
  }

  private begun(kind: ReadKind, signal: AbortSignal, budget?: ReadBudget): ReadProgress {
    const { clock, intake, silencePace, unrecovered } = this.deps;
    const isAudit = kind === 'audit';
    return {
      kind,
      // A loss that is still open is closed only by a read that asks for every order.
      asksSilent: !isAudit || silencePace.isDue || unrecovered.count > 0,
      onOutcome: isAudit ? this.options.onAudited : kind === 'probe' ? undefined : this.repairs.note,
      cause: kind === 'probe' ? 'probe' : 'snapshot',
      startedMs: clock.nowMs(),
      storeMark: intake.mark,
      signal,
      budget,
      shownOpen: new Set(),
      shown: [],
      rows: 0,
      unread: new Set(),
      certain: true,
      highest: undefined,
    };
  }

  private requests({ kind, startedMs }: ReadProgress, sinceMs: number | undefined): ListRequest[] {
    const { accountId, readUpTo, auditedUpTo } = this.current;
    const { stream, timings } = this.options;
    const all = { stream, accountId, state: 'all' } as const;
    if (kind === 'complete') return [all];
    const pages = kind === 'audit' ? { pageRows: auditPageRows } : {};
    const mark = kind === 'audit' ? auditedUpTo : readUpTo;
    const overlapMs = kind === 'resync' ? timings.resyncOverlapMs : timings.overlapMs;
    if (mark !== undefined) return [{ ...all, ...pages, updatedAfter: earlier(mark, sinceMs, overlapMs) }];
    // First start: open orders of any age, and orders closed within the horizon. If there was none,
    // all later ones are within the horizon.
    const recent = { ...all, updatedAfter: formatInstant(startedMs - timings.snapshotMs) };
    return this.wasEmpty ? [recent] : [{ ...all, state: 'open' }, recent];
  }

  private async page({ rows, bytes }: Page, progress: ReadProgress): Promise<void> {
    const { clock, sink } = this.deps;
    const startedMs = clock.monotonicMs();
    for (const row of rows) this.row(row, Math.ceil(bytes / rows.length), startedMs, progress);
    await roomIn(sink, progress.signal);
    if (progress.kind !== 'audit') return;
    await sink.settled();
    const restMs = Math.min(auditRestMaxMs, (clock.monotonicMs() - startedMs) * auditRest);
    await clock.sleep(restMs, progress.signal);
  }

  private row(row: unknown, bytes: number, receivedMs: number, progress: ReadProgress): void {
    const item = this.deps.intake.takeRow(row, {
      cause: progress.cause,
      receivedMs,
      bytes,
      raw: () => JSON.stringify(row),
      storeMark: progress.storeMark,
      onOutcome: progress.onOutcome,
    });
    this.taken(item, progress);
    if (item.kind !== 'order') return;
    progress.rows += 1;
    const { orderId, status, updatedAt } = item.view;
    if (progress.asksSilent && !isTerminal(status)) progress.shownOpen.add(orderId);
    if (progress.highest === undefined || compareInstants(updatedAt, progress.highest) > 0)
      progress.highest = updatedAt;
  }

  private taken(item: TakenRow, progress: ReadProgress): void {
    if (item.kind !== 'order') {
      progress.unread.add(item.kind === 'unreadable' ? item.orderId : undefined);
      return;
    }
    if (item.view.certainty !== 'certain') progress.certain = false;
    if (progress.kind === 'probe') progress.shown.push(item.view.orderId);
  }

  /**
   * The mark is the platform's own time. A list that shows nothing leaves no mark: a mark by our
   * clock, if that is fast, would hide the next changes from every later read, and reading nothing
   * from the horizon on again costs nothing. A row from the future would hide them too, so the mark
   * never passes our own clock by more than the shorter overlap.
   */
  private async remember({ kind, highest, startedMs, storeMark }: ReadProgress): Promise<void> {
    this.wasEmpty = highest === undefined;
    if (highest === undefined) return;
    const cap = formatInstant(startedMs + this.options.timings.resyncOverlapMs);
    // Orders in doubt must be shown again, also to the process that takes over.
    const { oldest = highest } = this.deps.doubts;
    const next = [cap, oldest].reduce((least, each) => (compareInstants(each, least) < 0 ? each : least), highest);
    await this.save((record) => {
      const readUpTo = later(record.readUpTo, next);
      // The first read of all looks back as far as an audit.
      const looksFar = kind === 'audit' || kind === 'complete' || record.readUpTo === undefined;
      const auditedUpTo = looksFar ? later(record.auditedUpTo, next) : record.auditedUpTo;
      const isKnown = readUpTo === record.readUpTo && auditedUpTo === record.auditedUpTo;
      return isKnown || storeMark !== this.deps.intake.mark ? record : { ...record, readUpTo, auditedUpTo };
    });
  }
}

function later(mark: string | undefined, next: string): string {
  return mark !== undefined && compareInstants(next, mark) <= 0 ? mark : next;
}

function earlier(instant: string, sinceMs: number | undefined, byMs: number): string {
  const instantMs = Number((parseInstant(instant) ?? 0n) / 1_000_000n);
  return formatInstant(Math.min(instantMs, sinceMs ?? instantMs) - byMs);
}

function incomplete(error: PlatformError): ReadOutcome {
  return { complete: false, error };
}
