import type { Command, CommandState } from '../../domain/command.ts';
import type { Term } from '../../store/commands/term.ts';
import type { CommandBooks } from './command-books.ts';
import type { CommandOptions } from './command-options.ts';
import type { Decision } from './decide-step.ts';
import { accountScope, type Halts, service } from './halts.ts';

interface HaltWatchDeps {
  readonly halts: Halts;
  readonly books: Pick<CommandBooks, 'all' | 'ofAccount'>;
}

/**
 * An attempt in flight is not yet doubtful: three orders sent
 * side by side must not halt an account.
 */
function isDoubtful(state: CommandState): boolean {
  return state === 'unknown' || state === 'conflict';
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

  /** After a takeover: looks at the commands it made doubtful. */
  async afterTakeOver(commands: readonly Command[], term: Term): Promise<boolean> {
    const accounts = new Set(commands.filter(({ state }) => isDoubtful(state)).map(({ request }) => request.accountId));
    // Side by side: each halt is in memory before anything is awaited.
    const done = await Promise.all([...accounts].map((accountId) => this.haltIfTooMany(accountId, term)));
    return !done.includes(false);
  }

  private async haltIfTooMany(accountId: string, term: Term): Promise<boolean> {
    const { halts, books } = this.deps;
    const { haltAt } = this.options;
    const by = 'tidemark';
    if (this.count(books.ofAccount(accountId), accountId) >= haltAt.account) {
      const reason = `${haltAt.account} commands of the account have an outcome that is not known`;
      if ((await halts.raise(accountScope(accountId), 'unresolved', { by, reason }, term)) === undefined) return false;
    }
    if (this.count(books.all(), undefined) >= haltAt.service) {
      const reason = `${haltAt.service} commands have an outcome that is not known`;
      if ((await halts.raise(service, 'unresolved', { by, reason }, term)) === undefined) return false;
    }
    return true;
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
