import type { Command, CommandState } from '../../domain/command.ts';
import type { CommandJournal } from '../../store/commands/command-journal.ts';
import type { UnreadableCommand } from '../../store/commands/decode-command.ts';
import type { Halt } from '../../store/commands/stops-journal.ts';
import type { Term } from '../../store/commands/term.ts';
import type { CommandBooks } from './command-books.ts';
import type { CommandOptions } from './command-options.ts';
import type { Decision } from './decide-step.ts';
import { accountScope, type Halts, service } from './halts.ts';

interface HaltWatchDeps {
  readonly halts: Halts;
  readonly journal: Pick<CommandJournal, 'newestHalts'>;
  readonly books: Pick<CommandBooks, 'all' | 'ofAccount'>;
}

/**
 * An attempt in flight is not yet doubtful: three orders sent
 * side by side must not halt an account.
 */
function isDoubtful(state: CommandState): boolean {
  return state === 'unknown' || state === 'conflict';
}

const cause = 'unresolved';

/** A takeover has made it unknown: every other way to that state raises its halt first. */
function isSwept({ state, reason }: Command): boolean {
  return state === 'unknown' && reason?.code === 'TAKEN_OVER';
}

/** Its times are of different processes: clocks that differ may ask a person once more. */
function hasCounted(newest: Halt | undefined, { attempts, updatedAtMs }: Command): boolean {
  if (newest === undefined) return false;
  const { clearedAtMs = Number.POSITIVE_INFINITY, sinceMs } = newest;
  return Math.max(clearedAtMs, sinceMs) >= (attempts.at(-1)?.answeredAtMs ?? updatedAtMs);
}

function accountsOf(commands: readonly Command[]): ReadonlySet<string> {
  return new Set(commands.map(({ request }) => request.accountId));
}

function accountOf(scope: Halt['scope']): string | undefined {
  return scope.kind === 'account' ? scope.accountId : undefined;
}

/** Where a takeover made commands unknown that no halt has counted. */
interface Uncounted {
  readonly accountIds: ReadonlySet<string>;
  /** Also where the halt of an account has counted them: the service's is raised after it. */
  readonly ofService: boolean;
}

/**
 * Raises halts after command outcomes: when too many are doubtful at once, counted over all the
 * process's shards, and when an order landed late.
 *
 * It acts when a command *becomes* doubtful, never on a number already there. A person may let an
 * account place again while three commands are unknown: a restart does not undo it, but a fourth
 * unknown command does.
 */
export class HaltWatch {
  /**
   * Commands whose step to doubtful is being written now: steps written side by side must see each
   * other.
   */
  private readonly becomingDoubtful = new Map<string, string>();
  private readonly deps: HaltWatchDeps;
  private readonly options: Pick<CommandOptions, 'haltAt'>;

  constructor(deps: HaltWatchDeps, options: Pick<CommandOptions, 'haltAt'>) {
    this.deps = deps;
    this.options = options;
  }

  /**
   * Before a step is written. False: the term is over. Rejects
   * when a halt could not be made durable.
   */
  async beforeStep(command: Command, { step, lateLanding }: Decision, term: Term): Promise<boolean> {
    const { accountId } = command.request;
    if (lateLanding === true) {
      const reason = `an order of command ${command.commandId} appeared after it was ${command.presumedAbsent ? 'presumed absent' : command.state}`;
      const raised = await this.deps.halts.raise(
        accountScope(accountId),
        'late_landing',
        { by: 'tidemark', reason },
        term,
      );
      if (raised === undefined) return false;
    }
    if (!isDoubtful(step.to) || isDoubtful(command.state)) return true;
    this.becomingDoubtful.set(command.commandId, accountId);
    return this.haltIfTooMany(accountId, term);
  }

  /** The step is written, or was not made. */
  afterStep(command: Command): void {
    this.becomingDoubtful.delete(command.commandId);
  }

  /**
   * Which of the commands a takeover returned may never have been counted: those that it swept
   * itself, at `atMs`, and those that a former holder swept. The sweep is committed before its
   * halt, and that process may have ended in between. A halt of the scope that was in force at the
   * sweep or later has counted them, also one that a person has lifted since. Rejects when the
   * journal can't be read.
   */
  async uncounted(taken: readonly Command[], atMs: number): Promise<Uncounted> {
    const own = taken.filter(({ state, updatedAtMs }) => isDoubtful(state) && updatedAtMs === atMs);
    const former = taken.filter((command) => isSwept(command) && !own.includes(command));
    const newest = former.length === 0 ? [] : await this.deps.journal.newestHalts(cause, [...accountsOf(former)]);
    const of = (accountId?: string) => newest.find(({ scope }) => accountId === accountOf(scope));
    const missed = former.filter((command) => !hasCounted(of(command.request.accountId), command));
    return {
      accountIds: accountsOf([...own, ...missed]),
      ofService: own.length > 0 || former.some((command) => !hasCounted(of(), command)),
    };
  }

  /** After a takeover. False: the term is over. Rejects when a halt could not be made durable. */
  async afterTakeOver({ accountIds, ofService }: Uncounted, term: Term): Promise<boolean> {
    // Side by side: each halt is in memory before anything is awaited.
    const done = await Promise.all([
      ...[...accountIds].map((accountId) => this.haltAccount(accountId, term)),
      ...(ofService ? [this.haltService(term)] : []),
    ]);
    return !done.includes(false);
  }

  /**
   * The commands that can't be read, and that no halt has counted yet: what each has sent, or may
   * still bring, is not known. Rejects when the journal can't be read.
   */
  async unknown(unreadable: readonly UnreadableCommand[]): Promise<readonly UnreadableCommand[]> {
    const open = unreadable.filter(({ isFinal }) => !isFinal);
    if (open.length === 0) return open;
    const newest = await this.deps.journal.newestHalts('unreadable', [...new Set(open.map((each) => each.accountId))]);
    return open.filter(({ accountId, commandId }) =>
      newest.every(({ scope, reason }) => accountOf(scope) !== accountId || !reason.includes(commandId)),
    );
  }

  /** False: the term is over. Rejects when a halt could not be made durable. */
  async haltUnknown(commands: readonly UnreadableCommand[], term: Term): Promise<boolean> {
    const ids = Map.groupBy(commands, ({ accountId }) => accountId);
    const raised = await Promise.all(
      [...ids].map(([accountId, unread]) => {
        const named = unread.map(({ commandId }) => commandId).join(', ');
        const reason = `what is stored of a command of the account can't be read: ${named}`.slice(0, 500);
        return this.deps.halts.raise(accountScope(accountId), 'unreadable', { by: 'tidemark', reason }, term);
      }),
    );
    return !raised.includes(undefined);
  }

  private async haltIfTooMany(accountId: string, term: Term): Promise<boolean> {
    return (await this.haltAccount(accountId, term)) && (await this.haltService(term));
  }

  private async haltAccount(accountId: string, term: Term): Promise<boolean> {
    const { account } = this.options.haltAt;
    if (this.count(this.deps.books.ofAccount(accountId), accountId) < account) return true;
    const reason = `${account} commands of the account have an outcome that is not known`;
    const raised = await this.deps.halts.raise(accountScope(accountId), cause, { by: 'tidemark', reason }, term);
    return raised !== undefined;
  }

  private async haltService(term: Term): Promise<boolean> {
    const { service: most } = this.options.haltAt;
    if (this.count(this.deps.books.all(), undefined) < most) return true;
    const reason = `${most} commands have an outcome that is not known`;
    return (await this.deps.halts.raise(service, cause, { by: 'tidemark', reason }, term)) !== undefined;
  }

  private count(commands: Iterable<{ readonly command: Command }>, accountId: string | undefined): number {
    let doubtful = 0;
    for (const { command } of commands)
      if (isDoubtful(command.state) && !this.becomingDoubtful.has(command.commandId)) doubtful += 1;
    for (const account of this.becomingDoubtful.values())
      if (accountId === undefined || account === accountId) doubtful += 1;
    return doubtful;
  }
}
