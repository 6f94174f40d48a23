import type { Doubt } from '../../domain/head.ts';
import { compareInstants } from '../../domain/instant.ts';
import type { Observation } from '../../domain/observation.ts';
import { clientReferenceOf } from '../../domain/order-fields.ts';
import { listedAt, traits } from '../../domain/streams.ts';
import { accountContent } from '../../domain/view-content.ts';
import type { ClockAndLogger } from '../../observability/ambient.ts';
import { BudgetedMap, type ByteBudget } from '../../runtime/byte-budget.ts';
import { errorBeside, type OrderLook, type OrderLooks } from './order-looks.ts';
import { restAfter } from './questions.ts';
import type { RowIntake } from './row-intake.ts';
import type { Pace } from './window.ts';

interface DoubtsDeps extends ClockAndLogger {
  readonly looks: OrderLooks;
  readonly intake: RowIntake;
  /** For the looks at doubted orders of all accounts. */
  readonly doubtPace: Pace;
  readonly budget: ByteBudget;
}

/** The second read of a correction comes this long after the first. */
const settleMs = 2_000;
/**
 * A row that may be late counts only where a read meets one again this long after: a list may lag
 * behind the stream by seconds, and a clock that was set back stays so for longer. The next audit
 * comes later than that.
 */
const lateAfterMs = 45_000;
/** Audits by which such a row has to be met again. */
const lateWithin = 3;
/** For ever: a person has the row. */
const decided = Number.POSITIVE_INFINITY;
/**
 * Answers deciding nothing: no such order, an unreadable row, an order changing between two reads.
 */
const maxUndecided = 20;
/** Two reads and the time between them take two seconds: ten at once use the whole pace. */
const atOnce = 10;

type Found = Extract<OrderLook, { kind: 'found' }>;

interface Candidate {
  readonly orderId: string;
  /** Of the view that raised the doubt. */
  readonly listedAt: string;
  /** It has waited behind any lag: rows that may be late count. */
  readonly waited: boolean;
  undecided: number;
  /** Ours, if a read of the present check has contradicted it; 0: it has changed since. */
  revision: number | undefined;
  /** The stream has contradicted it, too: an earlier read may not know. */
  stirred: boolean;
  /** A read has shown another order under the id. */
  reused: boolean;
}

/** A read has met a row that may be late. */
interface LateView {
  readonly updatedAt: string;
  /** Our revision, which it was held against. */
  readonly revision: number;
  readonly atMs: number;
  readonly audit: number;
}

/**
 * Orders in doubt (`Reduction`): each is read from REST. If the row contradicts our state, a second
 * read 2 s later has to agree, and to meet the same revision; then the row is offered as a
 * correction. Nothing else can lower cumQty, reopen an ended order
 * (docs/decisions/112-a-correction-is-two-reads-at-one-revision.md), show another order under an id
 * (091), or give a newer row without a version to a person (086).
 *
 * A row that may be late mostly is. It is only noted, and becomes a candidate where a read meets
 * one again, behind any lag (docs/decisions/076-a-clock-that-was-set-back.md).
 *
 * A candidate's states: waiting → checked, ten at a time, at a pace for all accounts → done, or
 * waiting again if the platform did not answer or nothing was decided. Invariant: a candidate is
 * kept until it is done, and no complete read is remembered past it, so another process meets it
 * again. The same holds for a doubt without room: the next audit meets it again.
 */
export class Doubts {
  private readonly candidates: BudgetedMap<Candidate>;
  private readonly waiting: Candidate[] = [];
  private readonly lateViews: BudgetedMap<LateView>;
  private audits = 0;
  private checking = 0;
  /** Doubts without room: their earliest instant, and the count up to the newest. */
  private refused: { listedAt: string; newest: number } | undefined;
  private refusals = 0;
  private readonly deps: DoubtsDeps;
  private readonly options: { readonly signal: AbortSignal; readonly about: object };

  constructor(deps: DoubtsDeps, options: Doubts['options']) {
    this.deps = deps;
    this.options = options;
    const room = deps.budget.share({ signal: options.signal, lasting: true });
    this.candidates = new BudgetedMap(room);
    this.lateViews = new BudgetedMap(room);
  }

  get count(): number {
    return this.candidates.size;
  }

  /** Taken before a read begins, and handed back when it was complete. */
  get mark(): number {
    return this.refusals;
  }

  /**
   * A complete read begun at `mark` was remembered: it has raised every doubt refused by then
   * again.
   */
  readComplete(mark: number): void {
    if (this.refused !== undefined && this.refused.newest <= mark) this.refused = undefined;
  }

  /** From when a list shows all that is still in doubt, with or without room. */
  get oldest(): string | undefined {
    let oldest = this.refused?.listedAt;
    for (const { listedAt: at } of this.candidates.values())
      if (oldest === undefined || compareInstants(at, oldest) < 0) oldest = at;
    return oldest;
  }

  /**
   * An audit begins. Returns the earliest `updatedAt` of the late rows that it ought to meet: its
   * own mark may be later, since the same clock made that.
   */
  auditBegins(): string | undefined {
    this.audits += 1;
    let earliest: string | undefined;
    for (const [orderId, { audit, updatedAt, atMs }] of this.lateViews) {
      if (atMs === decided) continue;
      if (this.audits - audit > lateWithin) this.lateViews.delete(orderId);
      else if (earliest === undefined || compareInstants(updatedAt, earliest) < 0) earliest = updatedAt;
    }
    return earliest;
  }

  /** After the view's commit. `revision`: ours, which it was held against. */
  raise({ view, cause }: Observation, doubt: Doubt, revision: number): void {
    if (this.options.signal.aborted) return;
    const isLate = doubt === 'late' || doubt === 'reused_late';
    const known = this.candidates.get(view.orderId);
    if (known === undefined) {
      if (!isLate || this.isMetAgain(view, revision)) this.enter(view, isLate);
    } else if (isLate && !known.waited) {
      return;
    } else if (cause !== 'stream') {
      known.reused ||= doubt === 'reused';
      known.revision = (known.revision ?? revision) === revision ? revision : 0;
    } else {
      known.stirred = true;
    }
  }

  private enter(view: Observation['view'], waited: boolean): void {
    const { orderId } = view;
    const checked = { revision: undefined, stirred: false, reused: false };
    const candidate: Candidate = { orderId, listedAt: listedAt(view), waited, undecided: 0, ...checked };
    if (!this.candidates.keep(orderId, candidate)) {
      this.refuse(candidate.listedAt);
      return;
    }
    this.waiting.push(candidate);
    if (this.checking < atOnce) void this.checkWaiting();
  }

  /** Notes the view, unless it is one that was noted long enough ago. */
  private isMetAgain(view: Observation['view'], revision: number): boolean {
    const known = this.lateViews.get(view.orderId);
    const isSame = known?.revision === revision && (known.atMs !== decided || known.updatedAt === view.updatedAt);
    const nowMs = this.deps.clock.monotonicMs();
    const atMs = isSame ? known.atMs : nowMs;
    const isAgain = nowMs - atMs >= lateAfterMs;
    if (isAgain) this.lateViews.delete(view.orderId);
    else this.note(view, revision, atMs);
    return isAgain;
  }

  private note({ orderId, updatedAt }: Observation['view'], revision: number, atMs: number): void {
    this.lateViews.keep(orderId, { updatedAt, revision, atMs, audit: this.audits });
  }

  private async checkWaiting(): Promise<void> {
    const { signal } = this.options;
    this.checking += 1;
    for (let next = this.waiting.shift(); next !== undefined && !signal.aborted; next = this.waiting.shift()) {
      if (await this.isDone(next)) {
        this.candidates.delete(next.orderId);
        continue;
      }
      await this.deps.clock.sleep(restAfter('doubt', 0), signal);
      this.waiting.push(next);
    }
    this.checking -= 1;
  }

  private async isDone(candidate: Candidate): Promise<boolean> {
    candidate.revision = undefined;
    candidate.stirred = false;
    candidate.reused = false;
    const first = await this.look(candidate);
    // A failure for good (400, say) will not decide it either.
    if (errorBeside(first) !== undefined) return false;
    if (first.kind === 'found' && candidate.revision === undefined) return true;
    if (first.kind === 'found') {
      await this.deps.clock.sleep(settleMs, this.options.signal);
      const second = await this.look(candidate);
      if (errorBeside(second) !== undefined) return false;
      if (second.kind === 'found' && isConfirmed(first.item, second.item, candidate)) {
        this.correct(second, candidate);
        return true;
      }
    }
    candidate.undecided += 1;
    return candidate.undecided >= maxUndecided;
  }

  private async look({ orderId }: Candidate): Promise<OrderLook> {
    const { signal } = this.options;
    await this.deps.doubtPace.turn(signal);
    return this.deps.looks.lookAt(orderId, { question: 'doubt', signal });
  }

  /**
   * Offered once more, now as the confirmed row. Only the reducer knows our state: the row is a
   * correction only of this revision.
   */
  private correct({ row, bytes, storeMark, item }: Found, { revision = 0, waited }: Candidate): void {
    // A row without a version goes to a person, once, and the revision stays.
    if (waited && traits[item.view.stream].reduction === 'versioned') this.note(item.view, revision, decided);
    const receivedMs = this.deps.clock.monotonicMs();
    this.deps.intake.takeRow(row, {
      cause: 'snapshot',
      receivedMs,
      bytes,
      // From a store lost since, it must not get the versions of the next one.
      storeMark,
      raw: () => JSON.stringify(row),
      overrules: revision,
    });
  }

  private refuse(at: string): void {
    this.refusals += 1;
    const before = this.refused?.listedAt ?? at;
    const isFirst = this.refused === undefined;
    this.refused = { listedAt: compareInstants(at, before) < 0 ? at : before, newest: this.refusals };
    if (isFirst)
      this.deps.log.warn(
        { ...this.options.about, waiting: this.count },
        'there is no room for more orders in doubt (TIDEMARK_NOTES_MAX_BYTES): audits meet the others again',
      );
  }
}

/** Another order under the id may go on meanwhile: it is enough that both reads show that one. */
function isConfirmed(first: Observation, second: Observation, { revision, reused, stirred }: Candidate): boolean {
  if (revision === 0) return false;
  if (!reused) return agree(first, second) && !stirred;
  return (
    clientReferenceOf(first.view) === clientReferenceOf(second.view) && first.view.createdAt === second.view.createdAt
  );
}

function agree(first: Observation, second: Observation): boolean {
  return first.view.updatedAt === second.view.updatedAt && accountContent(first.view) === accountContent(second.view);
}
