import type { BoundsChange, LimitScope } from '../domain/limits.ts';
import type { Log } from '../observability/log.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import { changeLimits, readLimits } from './change-limits.ts';
import type { AuditEntry, CommandJournal, Halt } from './command-journal.ts';
import type { CommandOptions } from './command-options.ts';
import type { CommandSteps } from './command-steps.ts';
import type {
  ApprovalsResult,
  ApproveResult,
  HaltResult,
  LimitsResult,
  OperatorActs,
  OperatorWord,
  Requested,
  SettleResult,
} from './commands.ts';
import type { PersonsOutcome } from './decide-person.ts';
import { FourEyes, secondOf } from './four-eyes.ts';
import { type Halts, haltedForEveryAccount } from './halts.ts';
import type { RateBreaker } from './rate-breaker.ts';
import { settleByPerson } from './settle-by-person.ts';
import type { Term } from './term.ts';

export interface OperatorDeskDeps {
  readonly journal: CommandJournal;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly halts: Halts;
  readonly breaker: Pick<RateBreaker, 'reset'>;
  readonly steps: CommandSteps;
  /** The present one. Undefined: this process stands by. */
  readonly term: () => Term | undefined;
  readonly audit: (entry: Omit<AuditEntry, 'atMs'>) => void;
}

/**
 * The operator's acts: they halt and resume, settle, change limits, and approve what another principal has asked for. Each that needs a second principal is written down first
 * (`FourEyes`); each that is done is in the audit trail. They are taken while the process drains too: a halt must not wait for a takeover.
 */
export class OperatorDesk implements OperatorActs {
  private readonly fourEyes: FourEyes;
  private readonly deps: OperatorDeskDeps;
  private readonly options: Pick<CommandOptions, 'fourEyes' | 'approvalMs'>;

  constructor(deps: OperatorDeskDeps, options: Pick<CommandOptions, 'fourEyes' | 'approvalMs'>) {
    this.fourEyes = new FourEyes(deps, options);
    this.deps = deps;
    this.options = options;
  }

  async settle(commandId: string, outcome: PersonsOutcome, word: OperatorWord): Promise<SettleResult> {
    const command = this.options.fourEyes ? await this.deps.journal.find(commandId).catch(() => undefined) : undefined;
    const deed = { kind: 'settle', commandId, outcome } as const;
    // Where it is not found, or can't be read, the settlement itself says so.
    const waits = command && (await this.fourEyes.request(deed, command.request.accountId, word));
    return waits ?? this.settleNow(commandId, outcome, word);
  }

  async halt(scope: Halt['scope'], word: OperatorWord): Promise<HaltResult> {
    return this.operate('halt', scope, word, async (term) => {
      const cause = word.ofSomeAccounts ? 'account_operator' : 'operator';
      return (await this.deps.halts.raise(scope, cause, word, term)) === undefined ? notLeader : undefined;
    });
  }

  async resume(scope: Halt['scope'], word: OperatorWord): Promise<HaltResult> {
    const accountId = scope.kind === 'account' ? scope.accountId : undefined;
    return (await this.fourEyes.request({ kind: 'resume', scope }, accountId, word)) ?? this.resumeNow(scope, word);
  }

  halts(): readonly Halt[] {
    return this.deps.halts.list();
  }

  limits(): Promise<LimitsResult> {
    return readLimits(this.deps);
  }

  changeLimits(scope: LimitScope, change: BoundsChange, word: OperatorWord): Promise<LimitsResult | Requested> {
    const deed = { kind: 'change_limits', scope, change } as const;
    return changeLimits(this.deps, scope, change, word, () => this.fourEyes.request(deed, scope.accountId, word));
  }

  approvals(): Promise<ApprovalsResult> {
    return this.fourEyes.list();
  }

  approve(approvalId: string, word: OperatorWord): Promise<ApproveResult> {
    return this.fourEyes.approve(approvalId, word, (deed, asked) => {
      const both = { ...asked, ...(word.ofSomeAccounts && { ofSomeAccounts: word.ofSomeAccounts }) };
      if (deed.kind === 'resume') return this.resumeNow(deed.scope, both);
      if (deed.kind === 'settle') return this.settleNow(deed.commandId, deed.outcome, both);
      return changeLimits(this.deps, deed.scope, deed.change, both, async () => undefined);
    });
  }

  private async settleNow(commandId: string, outcome: PersonsOutcome, word: OperatorWord): Promise<SettleResult> {
    const { journal, steps, clock, audit } = this.deps;
    const term = this.deps.term();
    if (term === undefined) return { kind: 'declined', ...notLeader };
    const result = await settleByPerson({ journal, steps, nowMs: () => clock.nowMs() }, commandId, outcome, word, term);
    if (result.kind === 'settled') {
      const { by: principal, reason, requestId } = word;
      const { accountId } = result.command.request;
      const detail = { outcome, ...secondOf(word) };
      audit({ principal, action: 'settle', accountId, commandId, requestId, reason, detail });
    }
    return result;
  }

  private async resumeNow(scope: Halt['scope'], word: OperatorWord): Promise<HaltResult> {
    return this.operate('resume', scope, word, async (term) => {
      const cleared = await this.deps.halts.clear(scope, word, term);
      if (cleared === 'over') return notLeader;
      if (cleared === 'kept') return haltedForEveryAccount;
      this.deps.breaker.reset(scope.kind === 'account' ? scope.accountId : undefined);
      return undefined;
    });
  }

  /** `work` says why it was not done. */
  private async operate(
    action: 'halt' | 'resume',
    scope: Halt['scope'],
    word: OperatorWord,
    work: (term: Term) => Promise<Omit<Extract<HaltResult, { kind: 'declined' }>, 'kind'> | undefined>,
  ): Promise<HaltResult> {
    const term = this.deps.term();
    if (term === undefined) return { kind: 'declined', ...notLeader };
    try {
      const objection = await work(term);
      if (objection !== undefined) return { kind: 'declined', ...objection };
    } catch (err) {
      this.deps.log.warn({ err, action }, 'a halt could not be written');
      return { kind: 'declined', code: 'STORE_UNAVAILABLE', message: 'the database could not be reached' };
    }
    const { by: principal, reason, requestId } = word;
    this.deps.audit({
      ...{ principal, action, requestId, reason },
      ...(word.approvedBy !== undefined && { detail: secondOf(word) }),
      ...(scope.kind === 'account' && { accountId: scope.accountId }),
    });
    return { kind: 'done', halts: this.halts() };
  }
}

export const notLeader = { code: 'NOT_LEADER', message: 'another process holds the lane' } as const;
