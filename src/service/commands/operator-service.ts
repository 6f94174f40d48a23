import { isDeepStrictEqual } from 'node:util';
import type { Command } from '../../domain/command.ts';
import {
  type Bounds,
  type BoundsChange,
  changedBounds,
  type LimitRow,
  type LimitScope,
  loosens,
  opens,
} from '../../domain/limits.ts';
import type { Approval, Halt, PersonsResult } from '../../store/commands/halts-journal.ts';
import type { Term } from '../../store/commands/term.ts';
import { type Answer, anotherLeads, type Declined, type Done, declined } from './answer.ts';
import type { CommandOptions } from './command-options.ts';
import type { CommandParts } from './command-parts.ts';
import type { HaltsNow, LimitsNow, OperatorActs, OperatorWord, Requested } from './commands.ts';
import { decidePerson } from './decide-step.ts';
import { FourEyes, noSuchRequest, secondPrincipal } from './four-eyes.ts';
import { haltedForEveryAccount } from './halts.ts';

/** A change's tries, in case several people change the same row at the same moment. */
const mostTries = 5;

/**
 * Changes one scope's bounds as `change` names them, and leaves the others. They hold for each
 * command journaled after this has answered, in every process: none keeps a copy. `secondOf` is
 * asked if the change lets more through: its answer, if any, is the call's answer, and nothing is
 * changed. Never rejects.
 */
async function changeLimits(
  deps: Pick<CommandParts, 'journal' | 'accounts' | 'clock' | 'log'>,
  scope: LimitScope,
  change: BoundsChange,
  word: OperatorWord,
  secondOf: () => Promise<Answer<Requested> | undefined>,
): Promise<Answer<LimitsNow | Requested>> {
  const { journal, clock, log } = deps;
  try {
    for (let left = mostTries; left > 0; left -= 1) {
      const rows = await journal.limits();
      const before = boundsOf(rows, scope);
      const bounds = changedBounds(before, change);
      // An approved change is written even then: the write spends its approval.
      if (isDeepStrictEqual(before, bounds) && word.approval === undefined) return { kind: 'done', limits: rows };
      const widens = loosens(before, bounds, scope) || (opens(rows, scope, before, bounds) && mayBeReal(deps, scope));
      const waits = widens ? await secondOf() : undefined;
      if (waits !== undefined) return waits;
      const { ofSomeAccounts: _of, ...said } = word;
      const changed = await journal.changeLimits({ ...scope, before, bounds, ...said, atMs: clock.nowMs() });
      if (changed === 'not_waiting') return noSuchRequest;
      if (changed) {
        log.warn({ ...scope, before, bounds, by: word.by, reason: word.reason }, 'limits were changed');
        return { kind: 'done', limits: await journal.limits() };
      }
    }
  } catch (err) {
    log.warn({ err, ...scope }, 'limits could not be changed');
  }
  return unreachable;
}

/**
 * False only if every stream with the account calls it simulated: so an unknown one is judged where
 * its limits are required (`SubmitCommand`), too.
 */
function mayBeReal({ accounts }: Pick<CommandParts, 'accounts'>, { accountId }: LimitScope): boolean {
  if (accountId === undefined) return true;
  const known = accounts.streams.flatMap((stream) => accounts.account(stream, accountId) ?? []);
  return known.length === 0 || known.some(({ isSim }) => isSim !== true);
}

function boundsOf(rows: readonly LimitRow[], { principal, accountId }: LimitScope): Bounds {
  return rows.find((row) => row.principal === principal && row.accountId === accountId)?.bounds ?? {};
}

const unreachable = declined(
  'STORE_UNAVAILABLE',
  'the database could not be reached; ask for the limits to learn whether they were changed',
);

type Resolved = Done<{ command: Command }>;

const noSuchCommand = declined('COMMAND_NOT_FOUND', 'no such command');
const unresolved = declined(
  'STORE_UNAVAILABLE',
  'the database could not be reached; ask again to learn whether it was resolved',
);

function resolvedAlready({ state }: Command): Declined {
  const message = state === 'open' ? 'its attempt is still under way' : `the command is ${state} already`;
  return declined('ALREADY_RESOLVED', message);
}

interface OperatorServiceDeps extends CommandParts {
  /** The term to clear this scope's halts under. Undefined: this process stands by. */
  readonly termFor: (scope: Halt['scope']) => Term | undefined;
}

/**
 * The operator's acts: halt and resume, resolve, change limits, and approve another principal's
 * request. If an act needs a second principal, it is written down first (`FourEyes`); every act
 * done is in the audit trail. Acts are accepted while the process drains too: a halt must not wait
 * for a takeover.
 */
export class OperatorService implements OperatorActs {
  readonly halts: OperatorActs['halts'];
  readonly approvals: FourEyes;
  private readonly deps: OperatorServiceDeps;
  private readonly options: CommandOptions;

  constructor(deps: OperatorServiceDeps, options: CommandOptions) {
    this.halts = deps.halts;
    this.approvals = new FourEyes(deps, options);
    this.deps = deps;
    this.options = options;
  }

  async resolve(commandId: string, result: PersonsResult, word: OperatorWord): Promise<Answer<Resolved | Requested>> {
    if (!this.options.fourEyes) return this.resolveNow(commandId, result, word);
    let command: Command | undefined;
    try {
      command = await this.deps.journal.find(commandId);
    } catch (err) {
      // Without the command there is no second principal to ask, and
      // without the second principal it is not done.
      this.deps.log.warn({ err, commandId }, 'a command that is to be resolved could not be read');
      return unresolved;
    }
    if (command === undefined) return noSuchCommand;
    const action = { kind: 'resolve', commandId, result } as const;
    const waits = await this.approvals.request(action, command.request.accountId, word);
    return waits ?? this.resolveNow(commandId, result, word);
  }

  /**
   * Resolves when no process writes anything but cancels for the scope any more. Needs no shard: it
   * only forbids, so a process that holds none, or has just lost them, may do it too.
   */
  halt(scope: Halt['scope'], word: OperatorWord): Promise<Answer<HaltsNow>> {
    return this.operate('halt', scope, word, async () => {
      await this.deps.halts.raise(scope, word.ofSomeAccounts ? 'account_operator' : 'operator', word);
      await this.writesAreOver();
      return undefined;
    });
  }

  /**
   * An attempt marked before a halt's commit is written within `writeWithinMs`, counted from before
   * its mark (`WritePermit`), or never. Counted here from after the answer to that commit:
   * monotonic time, so no clock that is set shortens it. A timer may fire early.
   */
  private async writesAreOver(): Promise<void> {
    const { clock } = this.deps;
    const overAtMs = clock.monotonicMs() + this.options.writeWithinMs;
    while (clock.monotonicMs() < overAtMs) await clock.sleep(overAtMs - clock.monotonicMs());
  }

  async resume(scope: Halt['scope'], word: OperatorWord): Promise<Answer<HaltsNow | Requested>> {
    const accountId = scope.kind === 'account' ? scope.accountId : undefined;
    const { ofSomeAccounts } = word;
    const action = { kind: 'resume', scope, ...(ofSomeAccounts && { ofSomeAccounts }) } as const;
    return (await this.approvals.request(action, accountId, word)) ?? this.resumeNow(scope, word);
  }

  async limits(): Promise<Answer<LimitsNow>> {
    try {
      return { kind: 'done', limits: await this.deps.journal.limits() };
    } catch (err) {
      this.deps.log.warn({ err }, 'the limits could not be read');
      return unreachable;
    }
  }

  changeLimits(scope: LimitScope, change: BoundsChange, word: OperatorWord): Promise<Answer<LimitsNow | Requested>> {
    const action = { kind: 'change_limits', scope, change } as const;
    return changeLimits(this.deps, scope, change, word, () => this.approvals.request(action, scope.accountId, word));
  }

  approve(approvalId: string, word: OperatorWord): Promise<Answer<Done<{ approval: Approval }>>> {
    return this.approvals.approve(approvalId, word, (action, asked) => {
      // It lifts only what both may lift: neither gets the other's right.
      const ofSomeAccounts = word.ofSomeAccounts ?? (action.kind === 'resume' ? action.ofSomeAccounts : undefined);
      const both = { ...asked, ...(ofSomeAccounts && { ofSomeAccounts }) };
      if (action.kind === 'resume') return this.resumeNow(action.scope, both);
      if (action.kind === 'resolve') return this.resolveNow(action.commandId, action.result, both);
      return changeLimits(this.deps, action.scope, action.change, both, async () => undefined);
    });
  }

  /**
   * An operator gives a command's result. It is recorded as evidence and as the command's reason; a
   * resolved command is not changed. Never rejects.
   */
  private async resolveNow(commandId: string, result: PersonsResult, word: OperatorWord): Promise<Answer<Resolved>> {
    const { journal, steps, held, clock, record } = this.deps;
    try {
      const known = await journal.find(commandId);
      if (known === undefined) return noSuchCommand;
      const term = held.get(known.shard);
      if (term === undefined) return anotherLeads;
      const atMs = clock.nowMs();
      const commit = await steps.commit(known, (newest) => decidePerson(newest, result, word, atMs), term);
      if (commit.kind === 'over') return anotherLeads;
      const { command } = commit;
      if (commit.kind === 'nothing') return commit.notWaiting ? noSuchRequest : resolvedAlready(command);
      const { by: principal, reason, requestId } = word;
      const detail = { result, ...secondPrincipal(word) };
      const { accountId } = command.request;
      record({ principal, action: 'resolve', accountId, commandId, requestId, reason, detail });
      return { kind: 'done', command };
    } catch {
      return unresolved;
    }
  }

  private async resumeNow(scope: Halt['scope'], word: OperatorWord): Promise<Answer<HaltsNow>> {
    const term = this.deps.termFor(scope);
    if (term === undefined) return anotherLeads;
    return this.operate('resume', scope, word, async () => {
      const cleared = await this.deps.halts.clear(scope, word, term);
      if (cleared === 'over') return anotherLeads;
      if (cleared === 'not_waiting') return noSuchRequest;
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
    work: () => Promise<Declined | undefined>,
  ): Promise<Answer<HaltsNow>> {
    try {
      const objection = await work();
      if (objection !== undefined) return objection;
    } catch (err) {
      this.deps.log.warn({ err, action }, 'a halt could not be written');
      const known =
        action === 'halt'
          ? '; the halt holds in this process all the same, and is written when the database is back'
          : '';
      return declined('STORE_UNAVAILABLE', `the database could not be reached${known}`);
    }
    const { by: principal, reason, requestId } = word;
    this.deps.record({
      ...{ principal, action, requestId, reason },
      ...(word.approval !== undefined && { detail: secondPrincipal(word) }),
      ...(scope.kind === 'account' && { accountId: scope.accountId }),
    });
    return { kind: 'done', halts: this.halts.list() };
  }
}
