import type { Logger } from '../../observability/logger.ts';
import type { Random } from '../../runtime/random.ts';
import type { CommandJournal } from '../../store/commands/command-journal.ts';
import {
  type Approval,
  mostWaiting,
  type NewApproval,
  type OperatorAction,
} from '../../store/commands/halts-journal.ts';
import { type Answer, type Declined, type Done, declined, isDeclined } from './answer.ts';
import type { CommandOptions } from './command-options.ts';
import type { Approvals, OperatorWord, Requested } from './commands.ts';

interface FourEyesDeps {
  readonly journal: Pick<CommandJournal, 'requestApproval' | 'approvals' | 'findApproval'>;
  readonly random: Random;
  readonly log: Logger;
}

const unreachable = declined('STORE_UNAVAILABLE', 'the database could not be reached');

/**
 * Acts for two principals, if so configured: each is written down as it was asked for, and done
 * once another principal has approved it.
 *
 * A request's states: waiting → approved, once, by another principal than its own; or it expires.
 * A request to resume ends with the next halt of its scope, of which its principal could not know.
 * The transaction that does the act approves it (`doAct`): a request whose act was not done, for
 * whatever reason, waits as before, and may be approved again.
 */
export class FourEyes {
  private readonly deps: FourEyesDeps;
  private readonly options: CommandOptions;

  constructor(deps: FourEyesDeps, options: CommandOptions) {
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
  ): Promise<Answer<Requested> | undefined> {
    const { fourEyes, approvalMs } = this.options;
    if (!fourEyes) return undefined;
    const { journal, random, log } = this.deps;
    const { by, reason, requestId } = word;
    const asked: NewApproval = {
      ...{ approvalId: random.uuid(), action, by, reason, requestId, lastsMs: approvalMs },
      ...(accountId !== undefined && { accountId }),
    };
    let approval: Approval | undefined;
    try {
      approval = await journal.requestApproval(asked);
    } catch (err) {
      log.warn({ err, action }, 'a request for a second principal could not be written');
      return unreachable;
    }
    if (approval === undefined) return tooMany;
    const { approvalId } = approval;
    if (approvalId === asked.approvalId)
      log.warn({ approvalId, action, by, reason }, 'a second principal is asked for');
    return { kind: 'requested', approval };
  }

  /** The requests that wait, oldest first. Never rejects. */
  list(accounts?: readonly string[]): Promise<Answer<Approvals>> {
    return this.read(() => this.deps.journal.approvals(accounts));
  }

  /** The one with this id, or none: it must not depend on how many wait. Never rejects. */
  find(approvalId: string): Promise<Answer<Approvals>> {
    return this.read(async () => {
      const found = await this.deps.journal.findApproval(approvalId);
      return found === undefined ? [] : [found];
    });
  }

  private async read(look: () => Promise<readonly Approval[]>): Promise<Answer<Approvals>> {
    try {
      return { kind: 'done', approvals: await look() };
    } catch (err) {
      this.deps.log.warn({ err }, 'what waits for a second principal could not be read');
      return unreachable;
    }
  }

  /**
   * `run` carries out the act, in the asking principal's words, and spends the word's approval in
   * the same transaction. Never rejects.
   */
  async approve(
    approvalId: string,
    word: OperatorWord,
    run: (action: OperatorAction, word: OperatorWord) => Promise<{ readonly kind: string }>,
  ): Promise<Answer<Done<{ approval: Approval }>>> {
    const { journal, log } = this.deps;
    try {
      const waiting = await journal.findApproval(approvalId);
      if (waiting === undefined) return noSuchRequest;
      if (waiting.by === word.by) return samePrincipal;
      const { by, reason, requestId } = word;
      const approval = { approvalId, by, reason, requestId };
      const result = await run(waiting.action, { by: waiting.by, reason: waiting.reason, requestId, approval });
      if (isDeclined(result))
        return result.code === noSuchRequest.code ? result : { ...result, message: waits(result) };
      log.warn({ approvalId, by, of: waiting.by, reason }, 'a second principal has approved');
      return { kind: 'done', approval: waiting };
    } catch (err) {
      log.warn({ err, approvalId }, 'a request that waits for a second principal could not be read');
      return unreachable;
    }
  }
}

/** Without an answer of the database it is not known whether the act was done. */
function waits({ code, message }: Declined): string {
  const known =
    code === 'STORE_UNAVAILABLE' ? 'it waits still where it was not done' : 'nothing was done, and it waits still';
  return `${message}; ${known}`;
}

export const noSuchRequest = declined(
  'APPROVAL_NOT_FOUND',
  'there is no such request, or it has been approved or has expired, or a halt came after it',
);
const tooMany = declined(
  'TOO_MANY_APPROVALS',
  `${mostWaiting} requests of this principal wait for a second one already: each has to be approved, or ends an hour after it was made`,
);
const samePrincipal = declined(
  'SECOND_PRINCIPAL_NEEDED',
  'the principal that asked for it cannot approve it, whichever of its tokens signs in',
);

/** The second principal, as the audit trail names it. */
export function secondPrincipal({ approval }: OperatorWord): { readonly approvedBy?: string } {
  return approval === undefined ? {} : { approvedBy: approval.by };
}
