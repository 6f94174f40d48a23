import type { Command, CommandRequest, Reason } from '../../domain/command.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { CommandJournal } from '../../store/commands/command-journal.ts';
import type { CommandOptions } from './command-options.ts';
import { type Halts, haltedBecause } from './halts.ts';
import type { SendingTerm } from './sending-term.ts';
import type { Watched } from './watched.ts';

interface WritePermitDeps {
  readonly journal: Pick<CommandJournal, 'markSending'>;
  readonly lease: Lease;
  readonly halts: Pick<Halts, 'blocking'>;
  readonly clock: Clock;
}

interface PermitScope {
  readonly attemptId: string;
  readonly request: CommandRequest;
  readonly opened: Promise<Watched | undefined>;
  readonly under: SendingTerm;
  /** Monotonic. */
  readonly deadlineMs: number;
}

/**
 * The one permission to write one attempt: PREPARED → SENDING is committed under the term's fence,
 * and the write must follow at once.
 *
 * States: not asked → granted → still granted when the write asks, or refused with its reason.
 * Asked a second time, it is refused. Invariant: `granted` is true only after `markSending` has
 * answered true, less than `writeWithinMs` after it was asked, with a lease still able to act. A
 * commit without a known outcome grants nothing. `markSending` refuses what an earlier committed
 * halt (or another stop) forbids, and the write follows within `writeWithinMs`: so long after a
 * halt's commit, no process writes anything but cancels. A process with the halt in memory writes
 * nothing from then on: `askAgain` looks there synchronously with the write.
 */
export class WritePermit {
  granted = false;
  refusal: Reason | undefined;
  /** A further attempt may succeed: only time was against this one. */
  mayAskAgain = false;
  private asked = false;
  private askedAgain = false;
  /** Monotonic: when `markSending` was asked. */
  private askedAtMs = Number.NEGATIVE_INFINITY;
  private readonly deps: WritePermitDeps;
  private readonly options: Pick<CommandOptions, 'writeWithinMs'>;
  private readonly scope: PermitScope;

  constructor(deps: WritePermitDeps, options: Pick<CommandOptions, 'writeWithinMs'>, scope: PermitScope) {
    this.deps = deps;
    this.options = options;
    this.scope = scope;
  }

  /** True: exactly one write, now. Never rejects. */
  async ask(): Promise<boolean> {
    if (this.asked) return this.refuse('ASKED_TWICE', 'an attempt is written once');
    this.asked = true;
    const watched = await this.scope.opened;
    if (watched === undefined) return this.refuse('NOT_JOURNALED', 'the command could not be journaled');
    const early = this.objection();
    if (early !== undefined) return this.refuse(...early);
    const { journal, clock } = this.deps;
    const { attemptId, under } = this.scope;
    const askedAtMs = clock.monotonicMs();
    const atMs = clock.nowMs();
    let claimed: boolean | Reason;
    try {
      claimed = await journal.markSending(attemptId, atMs, under.term.fence);
    } catch {
      // It may have committed, or may still do so: that permits nothing.
      return this.refuse('STORE_UNAVAILABLE', 'the database did not say whether the attempt may be sent', true);
    }
    if (claimed === false) return this.refuse('LANE_LOST', 'another process holds the shard');
    if (claimed !== true) return this.refuse(claimed.code, claimed.message);
    under.book.adopt(sendingSince(watched.command, attemptId, atMs));
    // Measured from before the commit: a process that was frozen meanwhile must see it.
    this.askedAtMs = askedAtMs;
    if (this.isTooLate)
      return this.refuse('TOO_SLOW', 'the database took too long to say that the attempt may be sent', true);
    const late = this.objection();
    if (late !== undefined) return this.refuse(...late);
    this.granted = true;
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
