import type { Command, CommandRequest, Reason } from '../../domain/command.ts';
import type { CommandOptions } from './command-options.ts';
import type { CommandParts, SendingTerm } from './command-parts.ts';
import { haltedBecause } from './halts.ts';
import type { Opening } from './opening.ts';

type WritePermitDeps = Pick<CommandParts, 'journal' | 'book' | 'lease' | 'halts' | 'clock'>;

interface PermitScope {
  readonly attemptId: string;
  readonly request: CommandRequest;
  readonly opening: Opening;
  readonly under: SendingTerm;
  /** Monotonic. */
  readonly deadlineMs: number;
}

/**
 * The one permission to write one attempt: SENDING is committed for it under the term's fence, and
 * the write must follow at once. The first attempt asks when its connection is there, and its
 * command is then opened as SENDING, in one commit. PREPARED → SENDING (`markSending`) is for the
 * others: an attempt after the first, a command that was opened before its connection was there, or
 * one that a stop kept from SENDING, which `markSending` names.
 *
 * States: not asked → granted → still granted when the write asks, or refused with its reason.
 * Asked a second time, it is refused. Invariant: `granted` is true only after the journal itself
 * has answered that the attempt is SENDING, less than `writeWithinMs` after it was asked, with a
 * lease still able to act. A commit without a known result grants nothing, also where the command
 * is found by a look-up. No attempt becomes SENDING that an earlier committed halt (or another
 * stop) forbids, and the write follows within `writeWithinMs`: so long after a halt's commit, no
 * process writes anything but cancels. A process with the halt in memory writes nothing from then
 * on: `askAgain` looks there synchronously with the write.
 */
export class WritePermit {
  granted = false;
  refusal: Reason | undefined;
  /** A further attempt may succeed: only time was against this one. */
  mayAskAgain = false;
  private asked = false;
  private askedAgain = false;
  /** Monotonic: when the commit that permits it was asked for. */
  private askedAtMs = Number.NEGATIVE_INFINITY;
  private readonly deps: WritePermitDeps;
  private readonly options: CommandOptions;
  private readonly scope: PermitScope;

  constructor(deps: WritePermitDeps, options: CommandOptions, scope: PermitScope) {
    this.deps = deps;
    this.options = options;
    this.scope = scope;
  }

  /** True: exactly one write, now. Never rejects. */
  async ask(): Promise<boolean> {
    if (this.asked) return this.refuse('ASKED_TWICE', 'an attempt is written once');
    this.asked = true;
    const early = this.objection();
    if (early !== undefined) return this.refuse(...early);
    const { attemptId, opening } = this.scope;
    const opened = await opening.ask('sending');
    if (opened === undefined) return this.refuse('NOT_JOURNALED', 'the command could not be journaled');
    const { watched, sending } = opened;
    if (sending?.attemptId !== attemptId) {
      if (!(await this.mark(watched.command))) return false;
    } else if (sending.askedAtMs === undefined) return this.refuse(...noAnswer, true);
    // Measured from before the commit: a process that was frozen meanwhile must see it.
    else this.askedAtMs = sending.askedAtMs;
    if (this.isTooLate)
      return this.refuse('TOO_SLOW', 'the database took too long to say that the attempt may be sent', true);
    const late = this.objection();
    if (late !== undefined) return this.refuse(...late);
    this.granted = true;
    return true;
  }

  /** PREPARED → SENDING. */
  private async mark(command: Command): Promise<boolean> {
    const early = this.objection();
    if (early !== undefined) return this.refuse(...early);
    const { journal, clock } = this.deps;
    const { attemptId, under } = this.scope;
    this.askedAtMs = clock.monotonicMs();
    const atMs = clock.nowMs();
    let marked: boolean | Reason;
    try {
      marked = await journal.markSending(attemptId, atMs, under.term.fence);
    } catch {
      // It may have committed, or may still do so: that permits nothing.
      return this.refuse(...noAnswer, true);
    }
    if (marked === false) return this.refuse('LANE_LOST', 'another process holds the shard');
    if (marked !== true) return this.refuse(marked.code, marked.message);
    this.deps.book.adopt(sendingSince(command, attemptId, atMs));
    return true;
  }

  /**
   * Asked once, synchronously with the write. An event since `ask` may take
   * back the grant; after the write nothing can.
   */
  askAgain(): boolean {
    if (!this.granted || this.askedAgain) return false;
    this.askedAgain = true;
    const late = this.objection();
    if (late === undefined && !this.isTooLate) return true;
    this.granted = false;
    if (late !== undefined) return this.refuse(...late);
    return this.refuse('TOO_SLOW', 'the write came too late after the commit that permits it', true);
  }

  private get isTooLate(): boolean {
    return this.deps.clock.monotonicMs() - this.askedAtMs >= this.options.writeWithinMs;
  }

  private objection(): [code: string, message: string] | undefined {
    const { under, deadlineMs, request } = this.scope;
    if (under.term.over.aborted || !this.deps.lease.mayAct())
      return ['LANE_LOST', 'the hold on the lane was not certain any more'];
    if (under.giveUp.aborted) return ['DRAINING', 'the process is ending'];
    if (this.deps.clock.monotonicMs() >= deadlineMs) return ['DEADLINE', 'the deadline of the command had passed'];
    const halted = haltedBecause(this.deps.halts, request);
    return halted && [halted.code, halted.message];
  }

  private refuse(code: string, message: string, mayAskAgain = false): boolean {
    this.refusal = { code, message };
    this.mayAskAgain = mayAskAgain;
    return false;
  }
}

const noAnswer = ['STORE_UNAVAILABLE', 'the database did not say whether the attempt may be sent'] as const;

/**
 * The command with its attempt sending, as `markSending` left it in the journal. This is not a
 * step, so the version is the same.
 */
function sendingSince(command: Command, attemptId: string, atMs: number): Command {
  const attempts = command.attempts.map((attempt) =>
    attempt.attemptId === attemptId && attempt.state === 'prepared'
      ? { ...attempt, state: 'sending' as const, sendingAtMs: atMs }
      : attempt,
  );
  return { ...command, attempts };
}
