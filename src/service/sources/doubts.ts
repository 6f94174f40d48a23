import type { Doubt } from '../../domain/head.ts';
import { compareInstants } from '../../domain/instant.ts';
import type { Observation } from '../../domain/observation.ts';
import { clientReferenceOf } from '../../domain/order-fields.ts';
import { accountContent } from '../../domain/view-content.ts';
import type { Ambient } from '../../observability/ambient.ts';
import { type ByteBudget, type ByteShare, entryBytes } from '../../runtime/byte-budget.ts';
import { concernsWholeAccount } from './account-access.ts';
import type { OrderLook, OrderLooks } from './order-looks.ts';
import { restAfter } from './questions.ts';
import type { RowIntake } from './row-intake.ts';
import type { Pace } from './window.ts';

interface DoubtsDeps extends Pick<Ambient, 'clock' | 'log'> {
  readonly looks: OrderLooks;
  readonly intake: RowIntake;
  /** For the looks at doubted orders of all accounts. */
  readonly doubtPace: Pace;
  readonly budget: ByteBudget;
}

/** The second read of a correction comes this long after the first. */
const settleMs = 2_000;
/**
 * An older view counts only where a read meets the same again this long after: a list may lag
 * behind the stream by seconds, and a clock that was set back stays so for longer. The next audit
 * comes later than that.
 */
const olderAfterMs = 45_000;
/** Audits by which an older view has to be met again. */
const olderWithin = 3;
/**
 * Answers deciding nothing: no such order, an unreadable row, an order changing between two reads.
 */
const maxUndecided = 20;
/** Two reads and the time between them take two seconds: ten at once use the whole pace. */
const atOnce = 10;

interface Candidate {
  readonly orderId: string;
  /** `updatedAt` of the view that raised the doubt. */
  readonly updatedAt: string;
  /**
   * Raised by an older view, or by one without a version, at the revision that stood then and at
   * each read: else undefined.
   */
  readonly older: { readonly doubt: Doubt; revision: number | undefined } | undefined;
  undecided: number;
  /** A read from REST has disputed our state since the present check began. */
  disputed: boolean;
  /** The stream has, too: an earlier read may not know. */
  stirred: boolean;
  /** That read has shown another order under the id. */
  reused: boolean;
}

/** A read has met an older view than ours. */
interface OlderView {
  readonly updatedAt: string;
  /** Our revision, which it was held against. */
  readonly revision: number;
  readonly atMs: number;
  readonly audit: number;
  /** A person has it: it is no doubt any more. */
  readonly given?: true;
}

/**
 * Orders in doubt (`Reduction`), or whose stored state can't be read: each is read once from REST,
 * and what a read shows begins such a state again. If the read disputes our
 * state (fills or an end taken back, another content at the same instant), a second one 2 s later
 * has to agree; then the row is offered as a correction. Nothing else can lower cumQty, or reopen
 * an ended order (docs/merging.md).
 *
 * The same two reads confirm that the platform gave the id of an ended order to another one
 * (docs/decisions/091-an-id-that-is-given-again.md).
 *
 * A row with an earlier instant than ours and another content is mostly late. It is only noted, and
 * becomes a candidate where a read meets one again, behind any lag
 * (docs/decisions/076-a-clock-that-was-set-back.md). So is a row without a version that is newer
 * than ours: two reads that agree give it to a person, since the stream has lost its version
 * (docs/decisions/086-a-newer-row-without-a-version.md).
 *
 * A candidate's states: waiting → checked, ten at a time, at a pace for all accounts → done, or
 * waiting again if the platform did not answer or nothing was decided. Invariant: a candidate is
 * kept until it is done, and no complete read is remembered past it, so another process meets it
 * again. The same holds for a doubt without room: the next audit meets it again.
 */
export class Doubts {
  private readonly candidates = new Map<string, Candidate>();
  private readonly waiting: Candidate[] = [];
  private readonly olderViews = new Map<string, OlderView>();
  private audits = 0;
  private checking = 0;
  /** Doubts without room: their earliest instant, and the count up to the newest. */
  private refused: { updatedAt: string; newest: number } | undefined;
  private refusals = 0;
  private readonly room: ByteShare;
  private readonly deps: DoubtsDeps;
  private readonly options: { readonly signal: AbortSignal; readonly about: object };

  constructor(deps: DoubtsDeps, options: { signal: AbortSignal; about: object }) {
    this.deps = deps;
    this.options = options;
    this.room = deps.budget.share({ signal: options.signal, lasting: true });
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

  /** The earliest `updatedAt` still in doubt, with or without room. */
  get oldest(): string | undefined {
    let oldest = this.refused?.updatedAt;
    for (const { updatedAt } of this.candidates.values())
      if (oldest === undefined || compareInstants(updatedAt, oldest) < 0) oldest = updatedAt;
    return oldest;
  }

  /**
   * An audit begins. Returns the earliest `updatedAt` of the older views that it ought to meet: its
   * own mark may be later, since the same clock made that.
   */
  auditBegins(): string | undefined {
    this.audits += 1;
    let earliest: string | undefined;
    for (const [orderId, { audit, updatedAt, given }] of this.olderViews) {
      if (given !== true && this.audits - audit > olderWithin) this.forgetOlder(orderId);
      else if (given !== true && (earliest === undefined || compareInstants(updatedAt, earliest) < 0))
        earliest = updatedAt;
    }
    return earliest;
  }

  /** After the view's commit. */
  raise({ view, cause, correction }: Observation, doubt: Doubt, revision: number): void {
    const { orderId } = view;
    const fromRest = cause !== 'stream';
    const known = this.candidates.get(orderId);
    const disputes = doubt === 'taken_back' || doubt === 'same_instant' || doubt === 'reused';
    if (doubt === 'older' || doubt === 'unversioned' || doubt === 'reused_earlier') {
      if (correction === true || this.options.signal.aborted) return;
      if (known !== undefined) meetsAgain(known, revision);
      else if (this.isMetAgain(view, revision)) this.enter(view, { doubt, revision: undefined });
      return;
    }
    // A read that was under way may be older than what could not be read: one more has to follow.
    const isLost = doubt === 'unreadable';
    if (known !== undefined) {
      if ((disputes && fromRest) || (isLost && !fromRest)) known.disputed = true;
      if (doubt === 'reused' && fromRest) known.reused = true;
      if (disputes && !fromRest) known.stirred = true;
      return;
    }
    // What REST itself shows has been read from it.
    if (this.options.signal.aborted || correction === true || (fromRest && !disputes && !isLost)) return;
    this.enter(view, undefined);
  }

  private enter({ orderId, updatedAt }: Observation['view'], older: Candidate['older']): void {
    if (!this.room.take(entryBytes(orderId))) {
      this.refuse(updatedAt);
      return;
    }
    const checked = { disputed: false, stirred: false, reused: false };
    const candidate: Candidate = { orderId, updatedAt, older, undecided: 0, ...checked };
    this.candidates.set(orderId, candidate);
    this.waiting.push(candidate);
    if (this.checking < atOnce) void this.checkWaiting();
  }

  /** Notes the view, unless it is one that was noted long enough ago. */
  private isMetAgain({ orderId, updatedAt }: Observation['view'], revision: number): boolean {
    const known = this.olderViews.get(orderId);
    if (known?.given === true && known.updatedAt === updatedAt && known.revision === revision) return false;
    const nowMs = this.deps.clock.monotonicMs();
    const atMs = known?.revision === revision && known.given !== true ? known.atMs : nowMs;
    if (nowMs - atMs >= olderAfterMs) {
      this.forgetOlder(orderId);
      return true;
    }
    if (known !== undefined || this.room.take(entryBytes(orderId)))
      this.olderViews.set(orderId, { updatedAt, revision, atMs, audit: this.audits });
    return false;
  }

  private given({ orderId, updatedAt }: Observation['view'], revision: number): void {
    if (this.room.take(entryBytes(orderId)))
      this.olderViews.set(orderId, { updatedAt, revision, atMs: 0, audit: this.audits, given: true });
  }

  private forgetOlder(orderId: string): void {
    if (this.olderViews.delete(orderId)) this.room.giveBack(entryBytes(orderId));
  }

  private async checkWaiting(): Promise<void> {
    const { signal } = this.options;
    this.checking += 1;
    for (let next = this.waiting.shift(); next !== undefined && !signal.aborted; next = this.waiting.shift()) {
      if (await this.isDone(next)) {
        this.candidates.delete(next.orderId);
        this.room.giveBack(entryBytes(next.orderId));
        continue;
      }
      await this.deps.clock.sleep(restAfter('doubt', 0), signal);
      this.waiting.push(next);
    }
    this.checking -= 1;
  }

  private async isDone(candidate: Candidate): Promise<boolean> {
    candidate.disputed = false;
    candidate.stirred = false;
    candidate.reused = false;
    if (candidate.older !== undefined) candidate.older.revision = undefined;
    const first = await this.look(candidate);
    if (passes(first)) return false;
    if (first.kind === 'found' && !candidate.disputed) return true;
    if (first.kind === 'found') {
      await this.deps.clock.sleep(settleMs, this.options.signal);
      const second = await this.look(candidate);
      if (passes(second)) return false;
      if (second.kind === 'found' && isConfirmed(first.item, second.item, candidate)) {
        this.correct(second, candidate);
        if (candidate.older?.doubt === 'unversioned') this.given(second.item.view, candidate.older.revision ?? 0);
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
   * Offered once more, now as the confirmed row. Only the reducer knows our state: it takes the row
   * as a correction only if it disputes our state.
   */
  private correct({ row, bytes, storeMark }: Extract<OrderLook, { kind: 'found' }>, { older }: Candidate): void {
    const receivedMs = this.deps.clock.monotonicMs();
    this.deps.intake.takeRow(row, {
      cause: 'snapshot',
      receivedMs,
      bytes,
      // From a store lost since, it must not get the versions of the next one.
      storeMark,
      raw: () => JSON.stringify(row),
      correction: true,
      // Without one of its own it is an order that was raised by a newer view: none fits.
      overrules: older?.revision ?? 0,
    });
  }

  private refuse(updatedAt: string): void {
    this.refusals += 1;
    const before = this.refused?.updatedAt ?? updatedAt;
    const isFirst = this.refused === undefined;
    this.refused = { updatedAt: compareInstants(updatedAt, before) < 0 ? updatedAt : before, newest: this.refusals };
    if (isFirst)
      this.deps.log.warn(
        { ...this.options.about, waiting: this.count },
        'there is no room for more orders in doubt (TIDEMARK_NOTES_MAX_BYTES): audits meet the others again',
      );
  }
}

/** A failure that says nothing of this order. One for good (400, say) will not decide it either. */
function passes(look: OrderLook): boolean {
  return look.kind === 'failed' && (look.error.retryable || concernsWholeAccount(look.error));
}

/** While its check goes on: what was raised by a newer view is not decided by an older one. */
function meetsAgain(candidate: Candidate, revision: number): void {
  const { older } = candidate;
  if (older === undefined) return;
  candidate.disputed = true;
  // The order may have changed between the two reads: then no revision fits.
  older.revision = older.revision === undefined || older.revision === revision ? revision : 0;
}

/** Another order under the id may go on meanwhile: it is enough that both reads show that one. */
function isConfirmed(first: Observation, second: Observation, { reused, stirred }: Candidate): boolean {
  if (!reused) return agree(first, second) && !stirred;
  return (
    clientReferenceOf(first.view) === clientReferenceOf(second.view) && first.view.createdAt === second.view.createdAt
  );
}

function agree(first: Observation, second: Observation): boolean {
  return first.view.updatedAt === second.view.updatedAt && accountContent(first.view) === accountContent(second.view);
}
