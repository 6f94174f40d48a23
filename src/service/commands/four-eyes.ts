import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { CommandJournal } from '../../store/commands/command-journal.ts';
import { type Approval, mostWaiting, type OperatorAction } from '../../store/commands/stops-journal.ts';
import type { CommandOptions } from './command-options.ts';
import type { ApprovalsResult, ApproveResult, OperatorWord, Requested } from './commands.ts';

interface FourEyesDeps {
  readonly journal: Pick<CommandJournal, 'requestApproval' | 'approvals' | 'findApproval' | 'takeApproval'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

type Declined = Extract<ApproveResult, { kind: 'declined' }>;

const unreachable = {
  kind: 'declined',
  code: 'STORE_UNAVAILABLE',
  message: 'the database could not be reached',
} as const;

/**
 * Acts for two principals, if so configured: each is written down as it was asked for, and done
 * once another principal has approved it.
 *
 * A request's states: waiting → approved, once, by another principal than its own; or it expires.
 * It is approved before it is done: if the process dies between the two, the act is not done, the
 * approval is used up, and the act has to be asked for again.
 */
export class FourEyes {
  private readonly deps: FourEyesDeps;
  private readonly options: Pick<CommandOptions, 'fourEyes' | 'approvalMs'>;

  constructor(deps: FourEyesDeps, options: Pick<CommandOptions, 'fourEyes' | 'approvalMs'>) {
    this.deps = deps;
    this.options = options;
  }

  /**
   * Undefined: no second principal is needed. If the same principal asks for the same act again,
   * the answer is the waiting request: it has one line in the list, and ends an hour after it was
   * first asked for. Never rejects.
   */
  async request(
    action: OperatorAction,
    accountId: string | undefined,
    word: OperatorWord,
  ): Promise<Requested | typeof unreachable | typeof tooMany | undefined> {
    const { fourEyes, approvalMs } = this.options;
    if (!fourEyes) return undefined;
    const { journal, clock, random, log } = this.deps;
    const atMs = clock.nowMs();
    const { by, reason, requestId } = word;
    const approval: Approval = {
      ...{ approvalId: random.uuid(), action, by, reason, requestId, atMs, expiresAtMs: atMs + approvalMs },
      ...(accountId !== undefined && { accountId }),
    };
    try {
      const waiting = await journal.requestApproval(approval);
      if (waiting === undefined) return tooMany;
      if (waiting.approvalId !== approval.approvalId) return { kind: 'requested', approval: waiting };
    } catch (err) {
      log.warn({ err, action }, 'a request for a second principal could not be written');
      return unreachable;
    }
    log.warn({ approvalId: approval.approvalId, action, by, reason }, 'a second principal is asked for');
    return { kind: 'requested', approval };
  }

  /** The requests that wait, oldest first. Never rejects. */
  list(accounts?: readonly string[]): Promise<ApprovalsResult> {
    return this.read(() => this.deps.journal.approvals(this.deps.clock.nowMs(), accounts));
  }

  /** The one with this id, or none: it must not depend on how many wait. Never rejects. */
  find(approvalId: string): Promise<ApprovalsResult> {
    return this.read(async () => {
      const found = await this.deps.journal.findApproval(approvalId, this.deps.clock.nowMs());
      return found === undefined ? [] : [found];
    });
  }

  private async read(look: () => Promise<readonly Approval[]>): Promise<ApprovalsResult> {
    try {
      return { kind: 'done', approvals: await look() };
    } catch (err) {
      this.deps.log.warn({ err }, 'what waits for a second principal could not be read');
      return unreachable;
    }
  }

  /** `run` carries out the act, in the asking principal's words. Never rejects. */
  async approve(
    approvalId: string,
    word: OperatorWord,
    run: (action: OperatorAction, word: OperatorWord) => Promise<{ readonly kind: string } | Declined>,
  ): Promise<ApproveResult> {
    const { journal, clock, log } = this.deps;
    try {
      const waiting = await journal.findApproval(approvalId, clock.nowMs());
      if (waiting === undefined) return notFound;
      if (waiting.by === word.by) return samePrincipal;
      const { by, reason, requestId } = word;
      const taken = await journal.takeApproval(approvalId, { by, reason, requestId, atMs: clock.nowMs() });
      if (taken === undefined) return notFound;
      log.warn({ approvalId, by, of: taken.by, reason }, 'a second principal has approved');
      const result = await run(taken.action, { by: taken.by, reason: taken.reason, requestId, approvedBy: by });
      if (!isDeclined(result)) return { kind: 'done', approval: taken };
      return { ...result, message: `${result.message}; the approval is used up, and has to be asked for anew` };
    } catch (err) {
      log.warn({ err, approvalId }, 'an approval could not be written');
      return unreachable;
    }
  }
}

function isDeclined(result: { readonly kind: string } | Declined): result is Declined {
  return result.kind === 'declined';
}

const notFound = {
  kind: 'declined',
  code: 'APPROVAL_NOT_FOUND',
  message: 'there is no such request, or it has been approved or has expired',
} as const;
const tooMany = {
  kind: 'declined',
  code: 'TOO_MANY_APPROVALS',
  message: `${mostWaiting} requests of this principal wait for a second one already: each has to be approved, or ends an hour after it was made`,
} as const;
const samePrincipal = {
  kind: 'declined',
  code: 'SECOND_PRINCIPAL_NEEDED',
  message: 'the principal that asked for it cannot approve it, whichever of its tokens signs in',
} as const;

/** The second principal, as the audit trail names it. */
export function secondPrincipal({ approvedBy }: OperatorWord): { readonly approvedBy?: string } {
  return approvedBy === undefined ? {} : { approvedBy };
}
