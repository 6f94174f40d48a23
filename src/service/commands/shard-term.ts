import { isUnresolved } from '../../domain/command.ts';
import type { UnreadableCommand } from '../../store/commands/decode-command.ts';
import type { Term } from '../../store/commands/term.ts';
import type { HeldShard } from '../../store/fleet/shard-store.ts';
import { anotherLeads, type Declined, ending } from './answer.ts';
import type { CancelAlls } from './cancel-all/cancel-all.ts';
import type { CancelTimers } from './cancel-all/cancel-timers.ts';
import type { CommandGauges } from './command-gauges.ts';
import type { CommandOptions } from './command-options.ts';
import type { CommandParts, SendingTerm } from './command-parts.ts';
import type { Resolver } from './resolver.ts';

/** What all terms of a process share. */
interface ShardTermDeps extends CommandParts {
  /** A takeover has made steps. */
  readonly onStep: () => void;
  /** Of the shards whose commands this process has taken over. */
  readonly held: Map<number, Term>;
  readonly gauges: CommandGauges;
  readonly resolver: Resolver;
  readonly cancelAlls: CancelAlls;
  readonly timers: CancelTimers;
  /** The process takes no new commands. */
  readonly draining: () => boolean;
  /** Asks the writes under way to give up: the process is ending. */
  readonly giveUp: AbortSignal;
}

/**
 * How far back a takeover returns final commands: if not `applied`, one may have landed while the
 * shard had no holder.
 */
const takeOverRecentMs = 120_000;

/**
 * One shard's commands, for as long as this process holds it under one epoch.
 *
 * States: taking over → leading → closing, when the shard is given away → over. Invariant: every
 * write and every send belongs to the term it began under, and none is begun once the term is over.
 * With the term goes all this process knew about the shard's commands.
 */
export class ShardTerm implements SendingTerm {
  readonly term: Term;
  readonly giveUp: AbortSignal;
  private state: 'taking over' | 'leading' | 'closing' = 'taking over';
  private readonly over = new AbortController();
  private readonly stop = new AbortController();
  readonly stopping = this.stop.signal;
  private readonly deps: ShardTermDeps;
  private readonly options: CommandOptions;

  constructor(deps: ShardTermDeps, { shard, epoch }: HeldShard, options: CommandOptions) {
    this.deps = deps;
    this.options = options;
    this.term = { fence: { shard, epoch }, over: this.over.signal };
    this.giveUp = deps.giveUp;
  }

  /** The commands were taken over. */
  get leads(): boolean {
    return this.state !== 'taking over';
  }

  /** New commands may be begun under it. */
  get isOpen(): boolean {
    return this.state === 'leading';
  }

  /**
   * Takes over the commands that the former holder left. Rejects when the journal can't be read or
   * written. An `end` meanwhile wins.
   */
  async begin(): Promise<void> {
    const { journal, clock, log, halts, gauges, resolver, cancelAlls, timers, onStep } = this.deps;
    const { fence, over } = this.term;
    const unreadable: UnreadableCommand[] = [];
    const taken = await journal.takeOver(fence, clock.nowMs(), takeOverRecentMs, this.options.haltAt, (command) =>
      unreadable.push(command),
    );
    await this.haltUnreadable(unreadable);
    await halts.refresh();
    if (over.aborted) return;
    this.state = 'leading';
    this.deps.held.set(fence.shard, this.term);
    resolver.begin(taken, this.term);
    gauges.begin();
    cancelAlls.begin(this.term);
    timers.begin();
    for (const { commandId, accountId, fault } of unreadable)
      log.error({ shard: fence.shard, commandId, accountId, fault }, 'a command is unreadable, and is not followed');
    const unresolved = taken.filter(({ state }) => isUnresolved(state));
    const { shard } = fence;
    if (unresolved.length > 0) log.warn({ shard, commands: unresolved.length }, 'commands of the shard are unresolved');
    onStep();
  }

  /**
   * The sends of a command that can't be read are not known, so placing is halted for its account.
   * One id for each: a later takeover finds the row, and does not undo a resume.
   */
  private async haltUnreadable(commands: readonly UnreadableCommand[]): Promise<void> {
    const { journal, clock, halts } = this.deps;
    for (const { commandId, accountId, isFinal } of commands) {
      if (isFinal) continue;
      const reason = `the stored command ${commandId} of the account can't be read`;
      const about = { scope: { kind: 'account', accountId }, cause: 'unreadable', by: 'tidemark', reason } as const;
      halts.adopt([await journal.raiseHalt({ haltId: `unreadable-${commandId}`, ...about, sinceMs: clock.nowMs() })]);
    }
  }

  /** The shard is about to be given away, or the process ends: no new commands. */
  close(): void {
    if (this.leads) this.state = 'closing';
    this.stop.abort();
  }

  /** Nothing more is sent or resolved under it. Attempts in hand may still add evidence. */
  end(): void {
    const { timers, cancelAlls, book, held } = this.deps;
    const { shard } = this.term.fence;
    this.over.abort();
    held.delete(shard);
    timers.end(shard);
    cancelAlls.end(shard);
    book.forget(this.term);
  }

  stopped(): Declined | undefined {
    return this.deps.draining() ? ending : this.state === 'closing' ? anotherLeads : undefined;
  }
}
