import { attemptPrefix, type Command, type CommandRequest } from '../../domain/command.ts';
import { Backoff } from '../../runtime/backoff.ts';
import { timeOrderedUuid } from '../../runtime/random.ts';
import { notSent, type WriteResult } from '../../venue/write-result.ts';
import type { CommandOptions } from './command-options.ts';
import type { CommandParts, SendingTerm } from './command-parts.ts';
import { type Answer, answerEvidence, decideAnswer, nextAttempt } from './decide-step.ts';
import { haltedBecause } from './halts.ts';
import type { Opening } from './opening.ts';
import { budgetOf } from './rate-budget.ts';
import type { Watched } from './watched.ts';
import { WritePermit } from './write-permit.ts';

/** How a cancel-all spreads its cancels: all first attempts go before any other. */
export interface Pacing {
  /** Its first attempt is over, with any result. Not called if nothing was journaled for it. */
  readonly firstOver: () => void;
  /** No further attempt is begun before it resolves. Never rejects. */
  readonly others: Promise<void>;
}

export interface Sending {
  readonly request: CommandRequest;
  readonly attemptId: string;
  /** Asked by the first attempt: the command is journaled when its connection is there. */
  readonly opening: Opening;
  readonly under: SendingTerm;
  /** Monotonic; after it no attempt is begun or written. */
  readonly deadlineMs: number;
  readonly pacing?: Pacing | undefined;
  /**
   * The caller can get its answer: the command is answered, even if the
   * answer can't be recorded. Called once or more.
   */
  readonly onAnswered: () => void;
}

type Written = Pick<Answer, 'result' | 'abandoned'>;

/** At 200 requests a minute, cancels of 2,000 orders are out by then. */
const longestHeldMs = 600_000;

/**
 * A cancel-all may have more orders than the venue takes requests until it counts anew: its cancels
 * wait for that beyond their deadline, since no person asks for each of them again.
 */
function isHeld({ pacing }: Sending, result: WriteResult): boolean {
  return pacing !== undefined && result.kind === 'not_sent' && result.reason.code === 'REQUESTS_USED_UP';
}

/**
 * Sends one command's attempts, one after the other, each at most once, and records their results.
 *
 * Invariant: an attempt is written only after SENDING is committed for it (`WritePermit`): of the
 * first one by the opening, where its connection was there in time. Another one is prepared only in
 * the step which records the attempt before as not sent (or refused for an old token, once). There
 * is no other loop around the socket. Further attempts take from the account's budget, and wait for
 * as long as the platform asks. For each order, at most one cancel is in flight at a time.
 */
export class SendAttempts {
  /** Each order's last cancel in flight or waiting. */
  private readonly cancels = new Map<string, Promise<void>>();
  private readonly deps: CommandParts;
  private readonly options: CommandOptions;

  constructor(deps: CommandParts, options: CommandOptions) {
    this.deps = deps;
    this.options = options;
  }

  /** Resolves when no attempt of it is in hand any more. Never rejects. */
  async run(asked: Sending): Promise<void> {
    const { clock, random } = this.deps;
    const backoff = new Backoff(random, this.options.attemptBackoff);
    const lastMs = clock.monotonicMs() + longestHeldMs;
    let sending = asked;
    let { attemptId } = sending;
    let tokens = 1;
    for (let held = false; ; ) {
      const { result, abandoned } = await this.writeUnlessStopped(sending, attemptId, held);
      // An attempt that ended without asking was not sent, and the journal must say so.
      const watched = (await sending.opening.ask('prepared'))?.watched;
      if (watched === undefined) return;
      sending.pacing?.firstOver();
      watched.sentAtMs = clock.monotonicMs();
      const oldToken = result.kind === 'refused' && result.staleToken === true && tokens > 0;
      if (oldToken) tokens -= 1;
      const delayMs = oldToken ? 0 : this.delayMs(sending, result, backoff);
      held = isHeld(sending, result);
      if (held) {
        const deadlineMs = Math.min(lastMs, clock.monotonicMs() + delayMs + this.options.deadlineMs);
        sending = { ...sending, deadlineMs };
      }
      const mayRepeat =
        (oldToken || (result.kind === 'not_sent' && result.mayRepeat)) && this.mayBegin(sending, delayMs);
      // A held one sends nothing, and must not turn away people's own cancels.
      if (mayRepeat && !held) budgetOf(this.deps.budgets, sending.request).owe(sending.request.accountId);
      const atMs = clock.nowMs();
      const answer: Answer = {
        attemptId,
        result,
        abandoned,
        atMs,
        ...(mayRepeat && { nextAttemptId: `${attemptPrefix}${timeOrderedUuid(random, atMs)}` }),
      };
      const command = await this.record(watched, answer, sending);
      const next = command && nextAttempt(command, attemptId);
      if (next === undefined) {
        this.deps.book.release(watched);
        sending.onAnswered();
        return;
      }
      ({ attemptId } = next);
      const { term, giveUp, stopping } = sending.under;
      const stops = held ? [term.over, giveUp, stopping] : [term.over, giveUp];
      await Promise.all([clock.sleep(delayMs, ...stops), this.turnOfOthers(sending, stops)]);
    }
  }

  /**
   * A cancel-all's cancel, to be repeated, ends as its term stops, for this reason: it holds up no
   * handover, and the next process goes on with it.
   */
  private async writeUnlessStopped(sending: Sending, attemptId: string, held: boolean): Promise<Written> {
    const { pacing, under } = sending;
    const early = held ? under.stopped() : undefined;
    if (early !== undefined) return { result: notSent(early.code, early.message), abandoned: true };
    const { result, abandoned } = await this.writeInTurn(sending, attemptId);
    const mayRepeat = pacing !== undefined && result.kind === 'not_sent' && result.mayRepeat;
    const stop = mayRepeat ? under.stopped() : undefined;
    if (!mayRepeat || stop === undefined) return { result, abandoned };
    const reason = { ...result.reason, code: stop.code, message: `${stop.message}; before: ${result.reason.message}` };
    return { result: { kind: 'not_sent', reason, mayRepeat: false }, abandoned };
  }

  /**
   * Resolves at the deadline at the latest: then the attempt is
   * given up, with the deadline as its reason.
   */
  private async turnOfOthers({ pacing, deadlineMs }: Sending, stops: readonly AbortSignal[]): Promise<void> {
    if (pacing === undefined) return;
    const { clock } = this.deps;
    const waited = new AbortController();
    const over = clock.sleep(deadlineMs - clock.monotonicMs(), waited.signal, ...stops);
    await Promise.race([pacing.others, over]);
    waited.abort();
  }

  private delayMs({ request }: Sending, result: WriteResult, backoff: Backoff): number {
    const askedMs = result.kind === 'not_sent' ? (result.retryAfterMs ?? 0) : 0;
    return Math.max(backoff.nextMs(), askedMs, budgetOf(this.deps.budgets, request).waitMs(request.accountId));
  }

  private mayBegin(sending: Sending, delayMs: number): boolean {
    const { under, deadlineMs } = sending;
    if (under.term.over.aborted || under.giveUp.aborted || under.stopped() !== undefined) return false;
    return this.deps.clock.monotonicMs() + delayMs < deadlineMs;
  }

  /**
   * A cancel waits for its order's earlier cancel, until its own deadline. It waits for no replace:
   * a caller who wants out must get out.
   */
  private async writeInTurn(sending: Sending, attemptId: string): Promise<Written> {
    const { request, deadlineMs, under } = sending;
    if (request.kind !== 'cancel') return this.write(sending, attemptId);
    const { clock } = this.deps;
    const key = `${request.stream}:${request.orderId}`;
    const before = this.cancels.get(key);
    const { promise: mine, resolve: leave } = Promise.withResolvers<void>();
    const last = (before ?? Promise.resolve()).then(() => mine);
    this.cancels.set(key, last);
    void last.then(() => this.cancels.get(key) === last && this.cancels.delete(key));
    try {
      if (before === undefined) return await this.write(sending, attemptId);
      void sending.opening.ask('prepared');
      const waited = new AbortController();
      const over = clock.sleep(deadlineMs - clock.monotonicMs(), waited.signal, under.term.over, under.giveUp);
      const inTime = await Promise.race([before.then(() => true), over.then(() => false)]);
      waited.abort();
      if (inTime) return await this.write(sending, attemptId);
      const result = notSent('ORDER_ACTION_PENDING', 'another cancel of the order had no answer in time');
      return { result, abandoned: true };
    } finally {
      leave();
    }
  }

  private async write(sending: Sending, attemptId: string): Promise<Written> {
    const { entry, halts, log } = this.deps;
    const { request, under } = sending;
    // Checked before the connection, which may never be made: the
    // caller must get the halt as the reason.
    const halted = haltedBecause(halts, request);
    if (halted !== undefined)
      return { result: { kind: 'not_sent', reason: halted, mayRepeat: false }, abandoned: true };
    const permit = new WritePermit(this.deps, this.options, { ...sending, attemptId });
    let result: WriteResult;
    try {
      result = await entry.send(request, attemptId, {
        mayWrite: () => permit.ask(),
        mayStillWrite: () => permit.askAgain(),
        signal: under.giveUp,
      });
    } catch (err) {
      log.error({ err, attemptId }, 'order entry rejected, which it must not');
      result = { kind: 'unknown', reason: { code: 'ENTRY_FAILED', message: 'the write ended in an error of ours' } };
    }
    // A write that was never permitted was never made, even if the answer says otherwise.
    if (permit.granted) return { result, abandoned: false };
    const reason = permit.refusal ?? result.reason ?? { code: 'NOT_PERMITTED', message: 'the write was not permitted' };
    const mayRepeat =
      permit.refusal === undefined ? result.kind === 'not_sent' && result.mayRepeat : permit.mayAskAgain;
    const retryAfterMs = result.kind === 'not_sent' ? result.retryAfterMs : undefined;
    const asked = retryAfterMs === undefined ? {} : { retryAfterMs };
    return { result: { kind: 'not_sent', reason, mayRepeat, ...asked }, abandoned: true };
  }

  /**
   * The command once the answer is recorded; undefined: the term ended before, and the next holder
   * finds the attempt as it is.
   */
  private async record(watched: Watched, answer: Answer, { under, onAnswered }: Sending): Promise<Command | undefined> {
    const { clock, journal, log, steps } = this.deps;
    const patience = clock.after(this.options.recordPatienceMs, onAnswered);
    const result = await steps.commitUntilOver(watched.command, decideAnswer(answer), under.term);
    patience.cancel();
    if (result.kind !== 'over') return result.command;
    const { commandId } = watched.command;
    await journal.addEvidence(commandId, [answerEvidence(answer)]).catch((err: unknown) => {
      log.warn(
        { err, commandId, answer: answer.result.kind },
        'an answer came when the lane was gone, and could not be kept',
      );
    });
    return undefined;
  }
}
