import { isUnresolved } from '../../domain/command.ts';
import type { UnreadableCommand } from '../../store/commands/decode-command.ts';
import type { Term } from '../../store/commands/term.ts';
import type { HeldShard } from '../../store/fleet/shard-store.ts';
import { type Answer, anotherLeads, type Declined, ending } from './answer.ts';
import type { CancelAlls } from './cancel-all/cancel-all.ts';
import { CancelTimers } from './cancel-all/cancel-timers.ts';
import { CommandBook } from './command-book.ts';
import type { CommandBooks } from './command-books.ts';
import type { CommandGauges } from './command-gauges.ts';
import type { CommandOptions } from './command-options.ts';
import { CommandSteps, type MadeStep } from './command-steps.ts';
import type { Halts } from './halts.ts';
import { Reconciler } from './reconciler.ts';
import type { SendingTerm } from './sending-term.ts';

/** The ports for its parts, and all the terms in one process share. */
type ShardTermDeps = Omit<ConstructorParameters<typeof CommandSteps>[0], 'book' | 'onStep'> &
  Omit<ConstructorParameters<typeof Reconciler>[0], 'book' | 'steps'> &
  Omit<ConstructorParameters<typeof CancelTimers>[0], 'maySend' | 'cancelAll'> & {
    /** A step was committed, or a takeover has made some. */
    readonly onStep: (made?: MadeStep) => void;
    readonly books: CommandBooks;
    readonly halts: Pick<Halts, 'refresh' | 'adopt'>;
    readonly gauges: CommandGauges;
    readonly cancelAlls: CancelAlls;
    /** The term to send under, or why nothing may be sent. */
    readonly maySend: (shard: number) => Answer<SendingTerm>;
    /** The process takes no new commands. */
    readonly draining: () => boolean;
    /** Asks the writes under way to give up: the process is ending. */
    readonly giveUp: AbortSignal;
  };

/**
 * How far back a takeover returns final commands: if not `applied`, one may have landed while the
 * shard had no holder.
 */
const takeOverRecentMs = 120_000;

/**
 * One shard's commands, for as long as this process holds it under one epoch: it knows the
 * unsettled ones, and follows them until they are settled (docs/commands.md).
 *
 * States: taking over → leading → closing, when the shard is given away → over. Invariant: every
 * write and every send belongs to the term it began under, and none is begun once the term is over.
 * With the term goes all this process knew about the shard's commands.
 */
export class ShardTerm implements SendingTerm {
  readonly term: Term;
  readonly giveUp: AbortSignal;
  readonly book: CommandBook;
  readonly steps: CommandSteps;
  readonly reconciler: Reconciler;
  readonly timers: CancelTimers;
  private state: 'taking over' | 'leading' | 'closing' = 'taking over';
  private readonly over = new AbortController();
  private readonly deps: ShardTermDeps;
  private readonly options: Pick<CommandOptions, 'haltAt'>;

  constructor(deps: ShardTermDeps, { shard, epoch }: HeldShard, options: CommandOptions) {
    this.deps = deps;
    this.options = options;
    this.term = { fence: { shard, epoch }, over: this.over.signal };
    this.giveUp = deps.giveUp;
    this.book = new CommandBook(deps.clock, options, deps.books);
    this.steps = new CommandSteps({ ...deps, book: this.book }, options);
    this.reconciler = new Reconciler({ ...deps, book: this.book, steps: this.steps }, this.term, options);
    this.timers = new CancelTimers(
      {
        ...deps,
        maySend: () => deps.maySend(shard),
        cancelAll: (scope, word) => deps.cancelAlls.run(shard, scope, word),
      },
      { ...options, shard },
    );
    this.book.onChange = (watched, before) => {
      deps.gauges.changed(watched, before);
      this.reconciler.changed(watched, before);
    };
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
    const { journal, clock, log, halts, gauges, cancelAlls, onStep } = this.deps;
    const { fence, over } = this.term;
    const unreadable: UnreadableCommand[] = [];
    const taken = await journal.takeOver(fence, clock.nowMs(), takeOverRecentMs, this.options.haltAt, (command) =>
      unreadable.push(command),
    );
    await this.haltUnreadable(unreadable);
    await halts.refresh();
    if (over.aborted) return;
    this.state = 'leading';
    this.reconciler.begin(taken);
    gauges.begin();
    cancelAlls.begin(this.term);
    this.timers.begin(this.term);
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

  /** The shard is about to be given away: no new commands. */
  close(): void {
    if (this.leads) this.state = 'closing';
  }

  /** Nothing more is sent or settled under it. Attempts in hand may still add evidence. */
  end(): void {
    this.over.abort();
    this.timers.end();
    this.deps.cancelAlls.end(this.term.fence.shard);
    this.reconciler.end();
    this.book.close();
  }

  stopped(): Declined | undefined {
    return this.deps.draining() ? ending : this.state === 'closing' ? anotherLeads : undefined;
  }
}
