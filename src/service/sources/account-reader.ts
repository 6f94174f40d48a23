import { compareInstants, formatInstant, msOf } from '../../domain/instant.ts';
import { isTerminal, type Stream } from '../../domain/order.ts';
import { listedAt, traits } from '../../domain/streams.ts';
import type { ClockAndLogger } from '../../observability/ambient.ts';
import type { AccountRecord, AccountRegistry } from '../../store/fleet/account-registry.ts';
import type { ListRequest, OrderReads, Page, ReadBudget } from '../../venue/order-reads.ts';
import type { AbsentOrders } from './absent-orders.ts';
import { givenUp, incomplete, type LookSince, notCommitted, storeIsLost, unclear } from './account-access.ts';
import { askAfterSilent } from './ask-after-silent.ts';
import type { Doubts } from './doubts.ts';
import { type ObservationSink, roomIn } from './observation-sink.ts';
import type { OrderLooks } from './order-looks.ts';
import type { AccountReadResult, ReadKind, ReadProgress } from './read-progress.ts';
import { Repairs } from './repairs.ts';
import type { OnRowResult, RowIntake, TakenRow } from './row-intake.ts';
import type { SilencePace } from './silence-pace.ts';
import type { StreamTimings } from './stream-timings.ts';
import { TouchedReads } from './touched-reads.ts';
import type { Unrecovered } from './unrecovered.ts';
import type { Window } from './window.ts';

interface AccountReaderDeps extends ClockAndLogger {
  readonly reads: OrderReads;
  readonly registry: AccountRegistry;
  readonly sink: ObservationSink;
  readonly intake: RowIntake;
  readonly looks: OrderLooks;
  readonly absent: AbsentOrders;
  readonly silencePace: SilencePace;
  readonly doubts: Pick<Doubts, 'oldest' | 'mark' | 'readComplete' | 'auditBegins'>;
  readonly unrecovered: Unrecovered;
  /** `updatedAt` of the newest event, while it tells the platform's time. */
  readonly newestEventAt: () => string | undefined;
  /**
   * For all reads to make an account live. Accounts with a failed last read have places to
   * themselves, so they delay only each other.
   */
  readonly gate: Window;
  readonly troubledGate: Window;
}

interface AccountReaderOptions {
  readonly stream: Stream;
  readonly timings: StreamTimings;
  /** Called with each audit row's result, to find losses and corrections. */
  readonly onAudited: OnRowResult;
}

/** How a read differs from the others: all is in `kinds`. */
interface Kind {
  /** It makes an account live, so it waits for a place among all such reads. */
  readonly makesLive: boolean;
  /** It asks for changes since this mark, less the overlap. Undefined: for everything. */
  readonly since:
    | { readonly mark: 'readUpTo' | 'auditedUpTo'; readonly less: 'resyncOverlapMs' | 'overlapMs' }
    | undefined;
  /** It finds what any earlier read missed, so it moves `auditedUpTo` as well. */
  readonly looksFar: boolean;
  /** It takes little from the process, and seldom asks for orders missing in its list. */
  readonly isSlow: boolean;
  /** A caller judges by what it lacks: it names its orders, and every row must be readable. */
  readonly showsAbsence: boolean;
}

// biome-ignore format: a table
const kinds: Readonly<Record<ReadKind, Kind>> = {
  resync:   { makesLive: true,  since: { mark: 'readUpTo', less: 'resyncOverlapMs' }, looksFar: false, isSlow: false, showsAbsence: false },
  complete: { makesLive: true,  since: undefined,                                     looksFar: true,  isSlow: false, showsAbsence: false },
  audit:    { makesLive: false, since: { mark: 'auditedUpTo', less: 'overlapMs' },    looksFar: true,  isSlow: true,  showsAbsence: false },
  probe:    { makesLive: false, since: { mark: 'readUpTo', less: 'overlapMs' },       looksFar: false, isSlow: false, showsAbsence: true },
};

/**
 * An audit is slow on purpose. Its pages are small, each goes through ingest before it rests nine
 * times as long as it took, and one account is audited at a time: a tenth of the process's capacity
 * at most. Pages with 500 rows, a rest by decoding time alone and all accounts at once left the
 * stream little: unpaced throughput fell from 17.7k to 11k updates a second once audits had begun.
 */
const auditPageRows = 100;
const auditRest = 9;
const auditRestMaxMs = 2_000;
/** It gives way to all other requests. */
const auditBudget: ReadBudget = { purpose: 'audit', mayRepeat: () => true };
const onceBudget: ReadBudget = { purpose: 'resync', mayRepeat: () => false };

/**
 * The one reader for an account's lists: it asks the platform for pages, gives each row to ingest,
 * and knows afterwards up to when the account was read. `kinds` has four kinds. They run at the
 * same time, so none waits for a longer one: a backfill may take hours, a command's read has 30 s,
 * and an account waits to be live. Each kind runs once at a time; its callers see to it.
 *
 * A read's states, as in `readNow`: waiting for a place (only to make the account live) → listing,
 * page by page → asking for orders we hold open and no page showed (`askAfterSilent`, after every
 * row is committed) → judged → remembered → complete. From each it may become incomplete: then
 * nothing is remembered, and its rows stay, since they are true.
 *
 * Invariants, each with its enforcement:
 * - `record.readUpTo` is the highest instant shown by a complete read, after all its rows were
 *   committed; the stream never moves it (`remember`, after `askAfterSilent`). So the next read
 *   begins a little before it, and does not grow with the account's rate over minutes.
 * - That instant is the one by which the stream's lists go (`listedAt`). By change, the next list
 *   shows whatever changed. By creation, every order older than the mark is known here: those that
 *   are open here are listed as open, or asked for one by one (`showsEnds`).
 * - `record.auditedUpTo` is the same for reads far back, and an audit begins `overlapMs` before it:
 *   it misses nothing an earlier read missed (`kinds`).
 * - If the platform's store is lost during a read, the read is not complete, and changes no mark
 *   (`storeMark`, compared in `readNow` and again in `remember`).
 */
export class AccountReader {
  private current: AccountRecord;
  /** Monotonic: when the newest complete read began, if it asked for every order. */
  completeSinceMs: number | undefined;
  /** The last read that should make the account live failed. */
  private inTrouble = false;
  /** The last complete read showed nothing at all. */
  private wasEmpty = false;
  private saved: Promise<unknown> = Promise.resolve();
  /** By the reads that make the account live. */
  readonly repairs = new Repairs();
  private readonly touchedReads: TouchedReads;
  private readonly deps: AccountReaderDeps;
  private readonly options: AccountReaderOptions;

  constructor(deps: AccountReaderDeps, options: AccountReaderOptions, record: AccountRecord) {
    this.deps = deps;
    this.options = options;
    this.current = record;
    const { stream, timings } = options;
    const { accountId } = record;
    this.touchedReads = new TouchedReads(deps, { stream, accountId, overlapMs: timings.overlapMs });
  }

  get record(): AccountRecord {
    return this.current;
  }

  /**
   * Reads the orders by `kind`, through ingest to the commit. Never rejects. `from`, for a
   * probe: it has to show all changes since then, and reaches back further than the last complete
   * read's mark if it must.
   */
  async read(kind: ReadKind, signal: AbortSignal, from?: LookSince, budget?: ReadBudget): Promise<AccountReadResult> {
    const work = () => this.readNow(kind, signal, from, budget).catch((error) => incomplete(notCommitted(error)));
    if (!kinds[kind].makesLive) return work();
    this.deps.silencePace.beginAnew();
    const result = await (this.inTrouble ? this.deps.troubledGate : this.deps.gate).run(work);
    if (!signal.aborted) this.inTrouble = !result.complete;
    return result;
  }

  private async readNow(
    kind: ReadKind,
    signal: AbortSignal,
    from?: LookSince,
    budget = kinds[kind].isSlow ? auditBudget : undefined,
  ): Promise<AccountReadResult> {
    if (signal.aborted) return incomplete(givenUp);
    const { unrecovered, reads, intake, silencePace, doubts } = this.deps;
    const [lossMark, doubtMark] = [unrecovered.mark, doubts.mark];
    const progress = this.begun(kind, signal, budget);
    const { beganMs } = progress;
    const page = (each: Page) => this.page(each, progress);
    // Listing.
    const requests = this.requests(progress, from);
    for (const request of requests) {
      const list = await reads.listOrders(request, page, signal, budget);
      if (!list.complete) return incomplete(list.error);
    }
    const touched = await this.readTouched(progress, requests.at(-1)?.after);
    if (touched !== undefined && 'error' in touched) return incomplete(touched.error);
    // Not from what follows: a list with the open orders shows newer changes than the lists before,
    // and no order ended in between.
    const { highest } = progress;
    // Asking.
    if (kinds[kind].isSlow && progress.asksSilent) silencePace.asked(beganMs);
    const taken = (item: TakenRow) => this.taken(item, progress);
    const notShown = (orderId: string) => this.touchedReads.noteNotShown(orderId, progress);
    const asking = { ...this.deps, page, taken, notShown };
    const silent = await askAfterSilent(asking, this.options.stream, this.current.accountId, progress);
    if (silent !== undefined) {
      silencePace.beginAnew();
      return incomplete(silent);
    }
    // Judged.
    if (signal.aborted) return incomplete(givenUp);
    if (progress.storeMark !== intake.mark) return incomplete(storeIsLost);
    if (kinds[kind].showsAbsence && progress.unread.size > 0) return incomplete(unclear);
    // Remembered.
    await this.remember({ ...progress, highest });
    // No list shows an ended order in doubt without room: its activity has to name it again.
    const isLeft = progress.isTouchedLeft || doubts.oldest !== undefined;
    if (touched !== undefined) this.touchedReads.readComplete(touched, isLeft);
    doubts.readComplete(doubtMark);
    if (progress.asksSilent) {
      // By creation no list shows how an older order ended: a lost frame may have shown it.
      const saysEnds = this.showsEnds || reads.touchedOrders === undefined || touched !== undefined;
      const isWhole = saysEnds && !progress.isTouchedLeft && !progress.unread.has(undefined);
      unrecovered.readComplete(lossMark, isWhole);
      this.completeSinceMs = Math.max(beganMs, this.completeSinceMs ?? beganMs);
    }
    const { rows, startedMs, certain, shown, working, uncertain } = progress;
    return { complete: true, rows, startedMs, certain, shown, working, uncertain };
  }

  private begun(kind: ReadKind, signal: AbortSignal, budget?: ReadBudget): ReadProgress {
    const { clock, intake, silencePace, unrecovered } = this.deps;
    const { makesLive, isSlow, showsAbsence } = kinds[kind];
    return {
      kind,
      // Only a read for every order closes an open loss.
      asksSilent: !isSlow || !this.showsEnds || silencePace.isDue || unrecovered.holdsBack,
      onResult: makesLive ? this.repairs.note : isSlow ? this.options.onAudited : undefined,
      cause: showsAbsence ? 'probe' : 'snapshot',
      startedMs: clock.nowMs(),
      beganMs: clock.monotonicMs(),
      storeMark: intake.mark,
      signal,
      budget,
      shownOpen: new Set(),
      touched: new Map(),
      isTouchedLeft: false,
      shown: [],
      working: [],
      uncertain: [],
      rows: 0,
      unread: new Set(),
      certain: true,
      highest: undefined,
    };
  }

  /**
   * A list of newer changes shows how an older order ended. By creation, it shows newer orders
   * alone: the open ones are listed too, and an order open here and in neither list is asked for.
   */
  private get showsEnds(): boolean {
    return traits[this.options.stream].lists === 'by_change';
  }

  private requests({ kind, startedMs }: ReadProgress, from: LookSince | undefined): ListRequest[] {
    const { stream, timings } = this.options;
    const { since, isSlow } = kinds[kind];
    const all = { stream, accountId: this.current.accountId, state: 'all' } as const;
    if (since === undefined) return [all];
    const mark = this.current[since.mark];
    const pages = isSlow ? { pageRows: auditPageRows } : {};
    const overlapMs = timings[since.less];
    if (mark !== undefined) {
      // By the platform's clock, and not later than its present, also where it was set back.
      const shownMs = Math.min(msOf(mark), this.setBackMs(kind, mark, overlapMs));
      const fromMs = Math.min(shownMs - (from?.agoMs ?? 0), from?.atMs ?? Number.POSITIVE_INFINITY);
      const newer = { ...all, ...pages, after: earlier(mark, fromMs, overlapMs) };
      return this.showsEnds ? [newer] : [{ ...all, ...pages, state: 'open' }, newer];
    }
    // First start: open orders of any age, and orders closed within the horizon. If there was none,
    // all later ones are within the horizon.
    const recent = { ...all, after: formatInstant(startedMs - timings.snapshotMs) };
    return this.wasEmpty ? [recent] : [{ ...all, state: 'open' }, recent];
  }

  /**
   * From when a list has to begin where the platform's clock was set back: the mark was made by the
   * same clock, and the changes since stand before it. Seen by the newest event, and in an audit by
   * rows that were met with an earlier instant than ours.
   */
  private setBackMs(kind: ReadKind, mark: string, overlapMs: number): number {
    const { doubts, newestEventAt } = this.deps;
    const older = kind === 'audit' ? doubts.auditBegins() : undefined;
    const told = [newestEventAt(), older].flatMap((at) => (at === undefined ? [] : [msOf(at)]));
    return Math.min(...told.filter((at) => at < msOf(mark) - overlapMs), Number.POSITIVE_INFINITY);
  }

  /**
   * From the mark of audits on, whatever the read: no other one says that they were asked for. A
   * read that makes the account live asks once, and goes on without an answer: its first audit asks
   * again.
   */
  private async readTouched(progress: ReadProgress, listedFrom: string | undefined) {
    const { makesLive, looksFar } = kinds[progress.kind];
    if (this.showsEnds) return undefined;
    if (looksFar) return this.touchedReads.read(progress, listedFrom);
    if (!makesLive) return undefined;
    const { auditedUpTo: mark } = this.current;
    const { overlapMs } = this.options.timings;
    const after = mark && earlier(mark, this.setBackMs(progress.kind, mark, overlapMs), overlapMs);
    const touched = await this.touchedReads.read({ ...progress, budget: onceBudget }, after);
    return touched === undefined || 'error' in touched ? undefined : touched;
  }

  private async page({ rows, bytes }: Page, progress: ReadProgress): Promise<void> {
    const { clock, sink } = this.deps;
    const startedMs = clock.monotonicMs();
    for (const row of rows) this.row(row, Math.ceil(bytes / rows.length), startedMs, progress);
    await roomIn(sink, progress.signal);
    if (!kinds[progress.kind].isSlow) return;
    await sink.committed();
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
      onResult: progress.onResult,
    });
    this.taken(item, progress);
    if (item.kind !== 'order') return;
    progress.rows += 1;
    const { orderId, status } = item.view;
    if (progress.asksSilent && !isTerminal(status)) progress.shownOpen.add(orderId);
    progress.highest = later(progress.highest, listedAt(item.view));
  }

  private taken(item: TakenRow, progress: ReadProgress): void {
    if (item.kind !== 'order') {
      const orderId = item.kind === 'unreadable' || item.kind === 'unacknowledged' ? item.orderId : undefined;
      progress.unread.add(orderId);
      if (item.kind === 'unreadable' && orderId !== undefined) this.deps.unrecovered.unread(orderId);
      return;
    }
    progress.touched.delete(item.view.orderId);
    if (item.view.certainty !== 'certain') progress.certain = false;
    if (!kinds[progress.kind].showsAbsence) return;
    progress.shown.push(item.view.orderId);
    if (item.view.certainty !== 'certain') progress.uncertain.push(item.view.orderId);
    if (!isTerminal(item.view.status)) progress.working.push(item.view.orderId);
  }

  /**
   * The mark is the platform's own time. A list that shows nothing leaves no mark: a mark by our
   * clock, if that is fast, would hide the next changes from every later read, and reading nothing
   * from the horizon on again costs nothing. A row from the future would hide them too, so the mark
   * never passes our own clock by more than the shorter overlap.
   */
  private async remember({ kind, highest, startedMs, storeMark, isTouchedLeft }: ReadProgress): Promise<void> {
    this.wasEmpty = highest === undefined;
    if (highest === undefined) return;
    const cap = formatInstant(startedMs + this.options.timings.resyncOverlapMs);
    // Orders in doubt must be shown again, also to the process that takes over.
    const { oldest = highest } = this.deps.doubts;
    const next = [cap, oldest].reduce((least, each) => (compareInstants(each, least) < 0 ? each : least), highest);
    await this.save((record) => {
      const readUpTo = later(record.readUpTo, next);
      // The first read of all looks back as far as an audit. After a start activities are asked for
      // from this mark on.
      const looksFar = (kinds[kind].looksFar && !isTouchedLeft) || record.readUpTo === undefined;
      const auditedUpTo = looksFar ? later(record.auditedUpTo, next) : record.auditedUpTo;
      const isKnown = readUpTo === record.readUpTo && auditedUpTo === record.auditedUpTo;
      return isKnown || storeMark !== this.deps.intake.mark ? record : { ...record, readUpTo, auditedUpTo };
    });
  }
  /**
   * Changes the account's stored record, durably, one change after the other. Rejects when the
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
}

function later(mark: string | undefined, next: string): string {
  return mark !== undefined && compareInstants(next, mark) <= 0 ? mark : next;
}

function earlier(instant: string, fromMs: number, byMs: number): string {
  return formatInstant(Math.min(msOf(instant), fromMs) - byMs);
}
