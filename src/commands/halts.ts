import type { CommandRequest, Reason } from '../domain/command.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { CommandJournal, Halt, Term } from '../store/command-journal.ts';
import type { OperatorWord } from './commands.ts';

/** `operator`: of a person whose token is for every account; `account_operator`: of one whose token names some. */
export type HaltCause = 'unresolved' | 'late_landing' | 'rate' | 'operator' | 'account_operator' | 'commits_lost';

export interface HaltsDeps {
  readonly journal: Pick<CommandJournal, 'activeHalts' | 'raiseHalt' | 'clearHalts'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Pick<Metrics['commands'], 'placingHalted'>;
}

export const service: Halt['scope'] = { kind: 'service' };

/** The scope of one account. */
export function accountScope(accountId: string): Halt['scope'] {
  return { kind: 'account', accountId };
}

/** Why nothing of this request may be written: a halt that stops it. Cancels are stopped by none. */
export function haltedBecause(halts: Pick<Halts, 'blocking'>, { kind, accountId }: CommandRequest): Reason | undefined {
  const halt = kind === 'cancel' ? undefined : halts.blocking(accountId);
  return halt && { code: 'PLACING_HALTED', message: `placing was halted (${halt.cause}): ${halt.reason}`.slice(0, 500) };
}

/** Why a token of some accounts does not resume. */
export const haltedForEveryAccount = {
  code: 'EVERY_ACCOUNT_NEEDED',
  message: 'an operator for every account has halted this, and the token names only some: it stays halted',
} as const;

/** One halt in memory. */
interface Held {
  halt: Halt;
  /** The journal has it. */
  durable: boolean;
  /** How many `clear`s that were asked for after it was raised have not ended. What is raised meanwhile is another halt, which they leave. */
  clears: number;
}

/**
 * The one table of halts: where placing and replacing are stopped, and why. Cancels never ask here; every other write asks in its own turn (`WritePermit`).
 *
 * Invariant: a halt holds in memory from the moment it is raised, before the journal has it, so that a database that is slow or gone lets nothing through; it
 * ends only by a `clear` that was asked for after it was raised, which takes a person and a reason. The journal's writes of one scope come one after the other, in the
 * order in which they were asked for, so that it ends as memory does. Memory is what the journal says and what it lacks yet, which outlives the term that raised it:
 * `keepDurable` writes it, whether this process leads or stands by.
 */
export class Halts {
  private active: readonly Held[] = [];
  /** The last write of each scope that has not ended. */
  private readonly turns = new Map<string, Promise<void>>();
  private writes = 0;
  private readonly deps: HaltsDeps;

  constructor(deps: HaltsDeps) {
    this.deps = deps;
  }

  list(): readonly Halt[] {
    return this.active.map(({ halt }) => halt);
  }

  /** What stops placing and replacing on this account, if anything. */
  blocking(accountId: string): Halt | undefined {
    return this.active.find(({ halt: { scope } }) => scope.kind === 'service' || scope.accountId === accountId)?.halt;
  }

  /** What the journal says, and what it lacks yet. Rejects when it can't be read: nothing may be placed without knowing the halts. */
  async load(): Promise<void> {
    const before = this.durable();
    this.merge(await this.deps.journal.activeHalts(), before);
  }

  /**
   * Takes over what the journal says of other lanes' halts, which are for everybody's accounts or were asked of the wrong holder. What the journal lacks and was raised
   * here is on its way there. Does nothing where a write of ours made the answer an old one, or `still` does not hold; rejects when it can't be read.
   */
  async refresh(still: () => boolean): Promise<void> {
    const { writes } = this;
    const before = this.durable();
    const halts = await this.deps.journal.activeHalts();
    if (!still() || this.turns.size > 0 || this.writes !== writes) return;
    const known = new Set(this.active.map(({ halt }) => halt.haltId));
    for (const { haltId, scope, cause, by } of halts)
      if (!known.has(haltId)) this.deps.log.error({ ...named(scope), cause, by }, 'placing is halted by another process');
    this.merge(halts, before);
  }

  /**
   * Writes what the journal lacks: its database was away when it was raised. Without a term as a process that stands by, so that the holder hears of it. Rejects when the
   * journal could not be written; what it lacks holds meanwhile.
   */
  async keepDurable(term: Term | undefined): Promise<void> {
    const lacking = this.active.filter(({ durable, clears }) => !durable && clears === 0);
    await Promise.all(lacking.map((held) => this.write(held, term)));
  }

  /** The journal lacks one that holds here. */
  get lacksOne(): boolean {
    return this.active.some(({ durable }) => !durable);
  }

  /**
   * Halts at once, and durably when it resolves. Undefined: the term is over; rejects when the journal could not be written. Either way the halt holds meanwhile, and
   * `keepDurable`, or asking again for the same scope and cause, makes it durable.
   */
  async raise(
    scope: Halt['scope'],
    cause: HaltCause,
    word: Pick<OperatorWord, 'by' | 'reason'>,
    term: Term,
  ): Promise<Halt | undefined> {
    return this.write(this.hold(scope, cause, word), term);
  }

  private async write(held: Held, term: Term | undefined): Promise<Halt | undefined> {
    if (held.durable) return held.halt;
    return this.inTurn(held.halt.scope, async () => {
      // Made durable, or cleared, by the write before it.
      if (held.durable || !this.active.includes(held)) return held.halt;
      const durable = await this.deps.journal.raiseHalt(held.halt, term?.fence);
      if (durable === 'fenced') return undefined;
      held.halt = durable;
      held.durable = true;
      // The journal had one of that scope and cause: it may be here as well, when a `clear` of it has failed.
      this.keep(this.active.filter((each) => each === held || each.halt.haltId !== durable.haltId));
      return durable;
    });
  }

  /**
   * Clears every halt of the scope: first in the journal. `over`: the term is. `kept`: all of them stay, since one is an operator's for every account and `word` is of a token
   * that names some. Rejects when the journal could not be written; the halts stay.
   */
  async clear(scope: Halt['scope'], word: OperatorWord, term: Term): Promise<'cleared' | 'kept' | 'over'> {
    const { journal, clock, log } = this.deps;
    const those = new Set(this.active.filter(({ halt }) => sameScope(halt.scope, scope)));
    if (word.ofSomeAccounts && [...those].some(({ halt }) => halt.cause === 'operator')) return 'kept';
    for (const held of those) held.clears += 1;
    try {
      return await this.inTurn(scope, async () => {
        const halts = await journal.clearHalts(scope, { ...word, atMs: clock.nowMs() }, term.fence);
        if (halts === 'fenced') return 'over';
        if (halts === 'kept') return 'kept';
        this.keep(this.active.filter((held) => !those.has(held)));
        log.warn({ ...named(scope), by: word.by, reason: word.reason, halts }, 'placing may go on');
        return 'cleared';
      });
    } finally {
      for (const held of those) held.clears -= 1;
    }
  }

  /** The halt of that scope and cause, in memory from now on. */
  private hold(scope: Halt['scope'], cause: HaltCause, word: Pick<OperatorWord, 'by' | 'reason'>): Held {
    const { clock, random, log } = this.deps;
    const known = this.active.find(({ halt, clears }) => clears === 0 && halt.cause === cause && sameScope(halt.scope, scope));
    if (known !== undefined) return known;
    const halt: Halt = { haltId: random.uuid(), scope, cause, ...word, sinceMs: clock.nowMs() };
    const held: Held = { halt, durable: false, clears: 0 };
    this.keep([...this.active, held]);
    log.error({ ...named(scope), cause, reason: word.reason, by: word.by }, 'placing is halted; only cancels pass');
    return held;
  }

  /** After every write of the scope that was asked for before. Each has the deadlines of the database. */
  private inTurn<T>(scope: Halt['scope'], write: () => Promise<T>): Promise<T> {
    const name = scope.kind === 'service' ? '' : scope.accountId;
    this.writes += 1;
    const result = this.turns.get(name)?.then(write) ?? write();
    const turn = result.then(
      () => {},
      () => {},
    );
    this.turns.set(name, turn);
    void turn.then(() => this.turns.get(name) === turn && this.turns.delete(name));
    return result;
  }

  private durable(): ReadonlySet<Held> {
    return new Set(this.active.filter(({ durable }) => durable));
  }

  /** `before`: what was durable when the journal was asked. The rest it may not have known. */
  private merge(halts: readonly Halt[], before: ReadonlySet<Held>): void {
    const known = new Map(this.active.map((held) => [held.halt.haltId, held]));
    const told = halts.map((halt) => known.get(halt.haltId) ?? { halt, durable: true, clears: 0 });
    this.keep([...told, ...this.active.filter((held) => !before.has(held) && !told.includes(held))]);
  }

  private keep(active: readonly Held[]): void {
    this.active = active;
    const { placingHalted } = this.deps.metrics;
    for (const kind of ['account', 'service'] as const)
      placingHalted.set({ scope: kind }, active.filter(({ halt }) => halt.scope.kind === kind).length);
  }
}

function named(scope: Halt['scope']): object {
  return { scope: scope.kind, ...(scope.kind === 'account' && { accountId: scope.accountId }) };
}

function sameScope(a: Halt['scope'], b: Halt['scope']): boolean {
  return a.kind === 'service' ? b.kind === 'service' : b.kind === 'account' && a.accountId === b.accountId;
}
