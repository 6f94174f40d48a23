import { createHash } from 'node:crypto';
import { attemptPrefix, type Command } from '../../domain/command.ts';
import { canonicalRequest, canonicalTerms } from '../../domain/command-checks.ts';
import type { LimitBreach } from '../../domain/limits.ts';
import { present } from '../../domain/present.ts';
import { timeOrderedUuid } from '../../runtime/random.ts';
import type { NewCommand, OpenResult } from '../../store/commands/command-journal.ts';
import type { Term } from '../../store/commands/term.ts';
import { type Answer, anotherLeads, type Declined, declined } from './answer.ts';
import { awaitCommand } from './await-command.ts';
import {
  type CheckResult,
  checkSubmission,
  orderNotFound,
  storeUnavailable,
  untradedObjection,
} from './check-submission.ts';
import type { CommandBook } from './command-book.ts';
import type { CommandOptions } from './command-options.ts';
import type { CommandParts, SendingTerm } from './command-parts.ts';
import type { Journaled, Submission } from './commands.ts';
import type { JournalSweep } from './journal-sweep.ts';
import {
  allQuotes,
  callerRefReused,
  judgedOf,
  limitedBecause,
  measureOf,
  notSuperseded,
  readQuotes,
  releasedBy,
} from './judge-submission.ts';
import type { UnseenOrders } from './look-at-order.ts';
import { type OpenedAs, Opening } from './opening.ts';
import { budgetOf } from './rate-budget.ts';
import type { Pacing, SendAttempts } from './send-attempts.ts';
import { Turns } from './turns.ts';
import type { Watched } from './watched.ts';

interface SubmitDeps extends CommandParts {
  readonly sender: SendAttempts;
  readonly unseen: UnseenOrders;
  /** A command was opened, and its event is in the outbox. */
  readonly onStep: () => void;
  readonly sweep: Pick<JournalSweep, 'lookFor'>;
  /** The account sends more than it should: halts it, at once. */
  readonly trip: (accountId: string) => void;
}

type Opened =
  | { readonly kind: 'opened'; readonly answered: Promise<void>; readonly watched: Watched }
  | { readonly kind: 'replayed'; readonly command: Command }
  | Declined
  /** The platform has to be asked about its order first. */
  | { readonly kind: 'unseen' };

/**
 * When to look for a command whose opening lost its answer, before the caller gets the answer it
 * was not journaled.
 */
const confirmDelaysMs = [0, 100, 400] as const;

/**
 * Takes a command from the caller's request to its answer (docs/commands.md, "Result of a write").
 *
 * Invariant: declined means this call has sent nothing and will send nothing; a known key is
 * answered even if a new command would be declined. Of equal places, of one order's replaces and of
 * its cancels, the next one is checked once the one before is opened. The connection to the
 * platform is made in between, so other commands of the account do not wait for it; they are
 * written to the journal one after the other. An opened command is answered with a committed state.
 */
export class SubmitCommand {
  /**
   * A command's checks and its journaling must not interleave with a command that the checks hold
   * it against: otherwise two equal places would both find nothing unresolved before them.
   */
  private readonly turns: Turns;
  /**
   * Cancels never wait behind places: a strategy that runs wild must be cancellable. Their checks
   * read nothing that a place or a replace changes. No cancel is turned away here: a connection of
   * REST has 64 at most, and a cancel-all sends many at once.
   */
  private readonly turnsOfCancels = new Turns();
  /**
   * The burst of one account must not fill the groups of writes that all share. Cancels wait for
   * cancels alone.
   */
  private readonly openings = new Turns();
  /** Commands whose attempts are in hand, with their shards. */
  private readonly inFlight = new Map<Promise<void>, number>();
  private readonly deps: SubmitDeps;
  private readonly options: CommandOptions;

  constructor(deps: SubmitDeps, options: CommandOptions) {
    this.deps = deps;
    this.options = options;
    this.turns = new Turns(options.maxWaitingPerAccount);
  }

  /** Resolves when nothing (of the shard) is in flight, or the signal aborts. */
  async drained(signal: AbortSignal, shard?: number): Promise<void> {
    const gaveUp = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    const left = () => [...this.inFlight].filter(([, of]) => shard === undefined || of === shard);
    for (let work = left(); work.length > 0 && !signal.aborted; work = left())
      await Promise.race([Promise.allSettled(work.map(([attempt]) => attempt)), gaveUp]);
  }

  /** Never rejects. */
  async submit(submission: Submission, under: SendingTerm, pacing?: Pacing): Promise<Answer<Journaled>> {
    const { clock, unseen } = this.deps;
    const { request } = submission;
    const calledAtMs = clock.monotonicMs();
    let opened = await this.open(submission, under, pacing);
    // Outside the turn, so other cancels of the account do not wait for it.
    if (opened.kind === 'unseen' && request.kind === 'cancel')
      opened = (await unseen.objection(request, under.term.over)) ?? (await this.open(submission, under, pacing));
    return this.answer(opened, submission, calledAtMs);
  }

  /**
   * Nothing new may be sent, for this reason; the command of a
   * known key is still answered. Never rejects.
   */
  async replayOr(submission: Submission, reason: Declined): Promise<Answer<Journaled>> {
    const calledAtMs = this.deps.clock.monotonicMs();
    return this.answer(await this.recall(submission, reason), submission, calledAtMs);
  }

  private async answer(opened: Opened, submission: Submission, calledAtMs: number): Promise<Answer<Journaled>> {
    if (opened.kind === 'declined') return opened;
    if (opened.kind === 'unseen') return orderNotFound;
    const { waitMs } = submission;
    if (opened.kind === 'opened' && waitMs === undefined) await opened.answered;
    let { command } = opened.kind === 'opened' ? opened.watched : opened;
    const leftMs = (waitMs ?? 0) - (this.deps.clock.monotonicMs() - calledAtMs);
    // A replay waits for a command in hand only if the caller asked it to.
    if (leftMs > 0) {
      const newest = await awaitCommand(this.deps, command.commandId, leftMs);
      if (newest !== undefined && newest.version >= command.version) command = newest;
    }
    return { kind: 'journaled', command, replayed: opened.kind === 'replayed' };
  }

  /** In the account's turn. Never rejects. */
  private async open(submission: Submission, under: SendingTerm, pacing: Pacing | undefined): Promise<Opened> {
    const { request } = submission;
    const { book } = this.deps;
    const { term } = under;
    const calledAtMs = this.deps.clock.monotonicMs();
    const turns = request.kind === 'cancel' ? this.turnsOfCancels : this.turns;
    using _place = this.deps.placesUnderWay.begin(request);
    const turn = turns.take(request.accountId, heldAgainst(request));
    if (turn === undefined) return this.recall(submission, tooManyWait);
    using _turn = await turn;
    const early = under.stopped();
    if (early !== undefined) return await this.recall(submission, early);
    if (term.over.aborted) return await this.recall(submission, anotherLeads);
    if (isFollowed(submission, book)) return await this.recall(submission, storeUnavailable);
    try {
      const checked = await checkSubmission(this.deps, this.options, submission, pacing !== undefined);
      if (checked.kind === 'passed') {
        // From here on it is in flight, and a closing term waits for it: it must not begin after
        // the term has closed. An account leaving while its order was read would be judged as a
        // real one.
        const late = under.stopped() ?? untradedObjection(this.deps, this.options, request);
        if (late !== undefined) {
          if (checked.tookToken) budgetOf(this.deps.budgets, request).giveBack(request.accountId);
          return await this.recall(submission, late);
        }
        const opened = await this.journalIt(submission, checked, under, { calledAtMs, pacing });
        if (opened.kind !== 'opened' && checked.tookToken)
          budgetOf(this.deps.budgets, request).giveBack(request.accountId);
        return opened;
      }
      // Looked up only where a check declines, since most commands are new and pass.
      const known = await this.recall(submission, checked);
      if (known === checked && known.kind === 'declined' && known.code === 'RATE_LIMITED') this.countAsked(request);
      return known;
    } catch (err) {
      return this.uncheckable(err, submission);
    }
  }

  /** The answer if nothing new is sent: the known key's command, or `reason`. Never rejects. */
  private async recall(submission: Submission, reason: Declined | { readonly kind: 'unseen' }): Promise<Opened> {
    try {
      const known = await this.deps.journal.findByKey(submission.principal, submission.idempotencyKey);
      return known === undefined ? reason : this.replay(known, submission);
    } catch (err) {
      return this.uncheckable(err, submission);
    }
  }

  /**
   * Its key may belong to a command at work: a caller must not read "not sent" as the command's
   * result.
   */
  private uncheckable(err: unknown, { requestId }: Submission): Declined {
    this.deps.log.warn({ err, requestId }, 'a command could not be checked against the journal');
    return storeUnavailable;
  }

  private replay(command: Command, submission: Submission): Opened {
    const { metrics, book, sweep } = this.deps;
    const attempt = command.attempts.at(-1);
    if (command.state === 'open' && attempt !== undefined && book.get(command.commandId) === undefined)
      sweep.lookFor(attempt.attemptId, false);
    const same = command.requestHash === hashOf(submission);
    metrics.idempotency.inc({ result: same ? 'replayed' : 'reused' });
    return same ? { kind: 'replayed', command } : { ...keyReused, prior: command };
  }

  private async journalIt(
    submission: Submission,
    passed: Passed,
    under: SendingTerm,
    { calledAtMs, pacing }: { readonly calledAtMs: number; readonly pacing: Pacing | undefined },
  ): Promise<Opened> {
    const { clock, sender, book } = this.deps;
    const { term } = under;
    const { request } = submission;
    const { attemptId, ...command } = this.newCommand(submission, passed);
    const { commandId } = command;
    book.opening.add(commandId);
    const opening = new Opening(request);
    const { promise: answered, resolve: onAnswered } = Promise.withResolvers<void>();
    const deadlineMs = calledAtMs + this.options.deadlineMs;
    const sending = sender
      .run({ request, attemptId, opening, under, deadlineMs, pacing, onAnswered })
      .finally(() => this.inFlight.delete(sending));
    this.inFlight.set(sending, term.fence.shard);
    const late = clock.after(this.options.connectWithinMs, () => void opening.ask('prepared'));
    const as = await opening.wanted;
    late.cancel();
    using _turn = await this.openings.take(request.accountId, request.kind === 'cancel' ? 'cancel' : '');
    const { result, askedAtMs } = await this.write({ ...command, attemptId }, as, term);
    book.opening.delete(commandId);
    if (result.kind !== 'opened') {
      opening.resolve(undefined);
      return this.notOpened(result, submission);
    }
    const watched = book.watch(result.command, calledAtMs, term);
    book.retain(watched);
    // The stream may show its end while the platform's answer is lost.
    const stop = book.listen(commandId, ({ state }) => {
      if (state !== 'open') onAnswered();
    });
    void answered.then(stop);
    const isSending = result.command.attempts[0]?.state === 'sending';
    opening.resolve({ watched, sending: isSending ? { attemptId, askedAtMs } : undefined });
    return this.isOpened(watched, answered);
  }

  private newCommand(
    submission: Submission,
    { orderId, baseline, order }: Passed,
  ): NewCommand & { readonly attemptId: string } {
    const { clock, random } = this.deps;
    const { tokenNumber, idempotencyKey } = submission;
    const atMs = clock.nowMs();
    const released = releasedBy(this.deps.book, submission.supersedes);
    return {
      ...judgedOf(this.deps.accounts, this.options, submission, { atMs, order, released }),
      commandId: timeOrderedUuid(random, atMs),
      ...present({ tokenNumber, idempotencyKey, requestHash: hashOf(submission), orderId, baseline }),
      deadlineAtMs: atMs + this.options.deadlineMs,
      attemptId: `${attemptPrefix}${timeOrderedUuid(random, atMs)}`,
    };
  }

  private isOpened(watched: Watched, answered: Promise<void>): Opened {
    const { metrics } = this.deps;
    metrics.idempotency.inc({ result: 'new' });
    this.deps.onStep();
    this.countAsked(watched.command.request);
    return { kind: 'opened', answered, watched };
  }

  /**
   * Counts commands the budget turns away, too: the budget paces a loop out of control, and would
   * hide it.
   */
  private countAsked({ kind, accountId }: Submission['request']): void {
    if (kind !== 'cancel' && this.deps.breaker.count(accountId)) this.deps.trip(accountId);
  }

  private notOpened(result: Answer<OpenResult>, submission: Submission): Opened | Promise<Opened> {
    if (result.kind === 'declined') return result;
    if (result.kind === 'replayed') return this.replay(result.command, submission);
    // Another request took the key since it was looked up.
    if (result.kind === 'key_reused') return this.recall(submission, keyReused);
    if (result.kind === 'caller_ref_reused') return callerRefReused;
    if (result.kind === 'limited') return this.refuse(result.breach, submission);
    if (result.kind === 'not_superseded') return notSuperseded;
    return anotherLeads;
  }

  private refuse(breach: LimitBreach, { request, principal, requestId }: Submission): Declined {
    const { log, metrics } = this.deps;
    const { accountId } = request;
    metrics.limited.inc({ limit: breach.limit });
    log.warn({ principal, accountId, requestId, ...breach }, 'a command breaks a limit');
    return limitedBecause(breach, accountId);
  }

  /**
   * A quote is read only once a limit has asked for one: most commands have no such limit, and only
   * the journal knows its limits. Never rejects.
   */
  private async write(command: NewCommand, as: OpenedAs, term: Term, isMeasured = false): Promise<Written> {
    const { journal, quotes, clock } = this.deps;
    if (term.over.aborted) return { result: anotherLeads };
    const askedAtMs = clock.monotonicMs();
    let result: OpenResult;
    try {
      result = await journal.open({ ...command, ...(as === 'sending' && { sendingAtMs: clock.nowMs() }) }, term.fence);
    } catch (err) {
      return { result: await this.lookForLost(command, term, err) };
    }
    if (isMeasured || result.kind !== 'limited' || result.breach.needsQuote !== true) return { result, askedAtMs };
    const { request } = command;
    const found = allQuotes(await readQuotes(quotes, request));
    const measure = found && measureOf(request, undefined, found);
    return measure === undefined ? { result } : this.write({ ...command, measure }, as, term, true);
  }

  /**
   * The result of the commit was lost, and 4xx and 5xx mean nothing was journaled. Never rejects.
   */
  private async lookForLost(command: NewCommand, term: Term, err: unknown): Promise<Answer<OpenResult>> {
    const { journal, clock, log, sweep } = this.deps;
    const { commandId, attemptId } = command;
    log.warn({ err, commandId }, 'the journal did not say whether a command is in it');
    for (const delayMs of confirmDelaysMs) {
      await clock.sleep(delayMs, term.over);
      const found = await journal.find(commandId).catch(() => undefined);
      if (found?.idempotencyKey === command.idempotencyKey) return { kind: 'opened', command: found };
    }
    // It may still commit: then it is found, open and with no process to send it, and given up.
    if (attemptId !== undefined) sweep.lookFor(attemptId, true);
    return storeUnavailable;
  }
}

const keyReused = declined('IDEMPOTENCY_KEY_REUSED', 'the key belongs to another request');
const tooManyWait = declined('RATE_LIMITED', 'too many commands of the account wait for their turn', 1_000);

/** Its key has a command that is not over: no connection is made for it. */
function isFollowed({ principal, idempotencyKey, request }: Submission, book: CommandBook): boolean {
  for (const { command } of book.ofAccount(request.accountId))
    if (command.principal === principal && command.idempotencyKey === idempotencyKey) return true;
  return false;
}

/** `askedAtMs`: monotonic, when the journal was asked for this very answer. */
interface Written {
  readonly result: Answer<OpenResult>;
  readonly askedAtMs?: number;
}

/** The commands of its account that its checks hold it against say the same of themselves. */
function heldAgainst(request: Submission['request']): string {
  return request.kind === 'place' ? canonicalTerms(request) : `${request.stream}:${request.orderId}`;
}

type Passed = Extract<CheckResult, { kind: 'passed' }>;

function hashOf({ request, callerRef, supersedes }: Submission): string {
  const text = canonicalRequest(present({ request, callerRef, supersedes }));
  return createHash('sha256').update(text).digest('hex');
}
