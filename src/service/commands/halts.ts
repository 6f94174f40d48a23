import type { CommandRequest, Reason } from '../../domain/command.ts';
import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { WitnessedStops } from '../../runtime/lease.ts';
import type { CommandJournal } from '../../store/commands/command-journal.ts';
import type { Halt } from '../../store/commands/stops-journal.ts';
import type { Term } from '../../store/commands/term.ts';
import type { OperatorWord } from './commands.ts';

/**
 * `operator`: raised by a person with a token for every account; `account_operator`: with one for
 * some accounts.
 */
type HaltCause =
  | 'unresolved'
  | 'unreadable'
  | 'late_landing'
  | 'rate'
  | 'operator'
  | 'account_operator'
  | 'commits_lost';

interface HaltsDeps extends Ambient {
  readonly journal: Pick<CommandJournal, 'activeHalts' | 'raiseHalt' | 'clearHalts'>;
  readonly metrics: Pick<Metrics['commands'], 'placingHalted'>;
  /**
   * Begins a generation if the database lacks this halt, after it had acknowledged it. Rejects when
   * it can't be asked. Left out: only the halt is put back.
   */
  readonly noticeLost?: (stop: Pick<WitnessedStops, 'haltId'>) => Promise<void>;
}

export const service: Halt['scope'] = { kind: 'service' };

/** The scope of one account. */
export function accountScope(accountId: string): Halt['scope'] {
  return { kind: 'account', accountId };
}

/** The halt that stops this request, if any. No halt stops a cancel. */
export function haltedBecause(halts: Pick<Halts, 'blocking'>, { kind, accountId }: CommandRequest): Reason | undefined {
  const halt = kind === 'cancel' ? undefined : halts.blocking(accountId);
  return (
    halt && { code: 'PLACING_HALTED', message: `placing was halted (${halt.cause}): ${halt.reason}`.slice(0, 500) }
  );
}

/** The reason why a token of some accounts does not resume. */
export const haltedForEveryAccount = {
  code: 'EVERY_ACCOUNT_NEEDED',
  message: 'an operator for every account has halted this, and the token names only some: it stays halted',
} as const;

/** One halt in memory. */
interface Held {
  halt: Halt;
  /** The journal has it. */
  durable: boolean;
  /**
   * The journal had it, and has lost it. Until that was noticed it is not put back: its absence is
   * the proof, and may be the only one.
   */
  lost: boolean;
  /**
   * How many `clear`s were asked for after it was raised and have not ended. A halt raised in the
   * meantime is another one, which they leave.
   */
  clears: number;
}

/**
 * The one table for halts: what may not be placed or replaced, and why. Cancels never ask here;
 * every other write asks immediately before its first byte (`WritePermit`).
 *
 * Invariant: a halt holds in memory from the moment it is raised, before the journal has it, so a
 * slow or lost database lets nothing through. A halt ends only by a later `clear`, and it takes a
 * person and a reason. One scope's writes go to the journal one after the other, as they were asked
 * for, so the journal ends in the same state as memory. Memory has the journal's halts and those
 * still on their way. The latter outlive their term: `keepDurable` writes them, whether this
 * process leads or stands by.
 */
export class Halts {
  private active: readonly Held[] = [];
  /** Each scope's last write, until it has ended. */
  private readonly turns = new Map<string, Promise<void>>();
  /** For each read under way: the scopes written to meanwhile. */
  private readonly reads = new Set<Set<string>>();
  /** Rises with each read by which a term began. */
  private loads = 0;
  private readonly deps: HaltsDeps;

  constructor(deps: HaltsDeps) {
    this.deps = deps;
  }

  list(): readonly Halt[] {
    return this.active.map(({ halt }) => halt);
  }

  /** The halt that stops placing and replacing on this account, if any. */
  blocking(accountId: string): Halt | undefined {
    return this.active.find(({ halt: { scope } }) => scope.kind === 'service' || scope.accountId === accountId)?.halt;
  }

  /**
   * Reads the journal's halts, and keeps those it does not have yet. Rejects when it can't be read:
   * nothing may be placed without knowing the halts.
   */
  async load(): Promise<void> {
    const before = this.durable();
    const halts = await this.deps.journal.activeHalts(idsOf(before));
    this.loads += 1;
    this.merge(halts, before);
  }

  /**
   * Reads the journal for other processes' halts: they cover all accounts or were asked from the
   * wrong holder. Halts raised here and missing in the journal are on their way there. If we wrote
   * to a scope meanwhile, the answer may be out of date, and says nothing about it; nor does an
   * answer overtaken by a later read. If the journal had a halt, and has no row any more, it was
   * lost with the database's newest commits: it holds, and `keepDurable` puts it back. Rejects when
   * the journal can't be read.
   */
  async refresh(): Promise<void> {
    const { loads } = this;
    const written = new Set(this.turns.keys());
    this.reads.add(written);
    const before = this.durable();
    const answer = await this.deps.journal.activeHalts(idsOf(before)).finally(() => this.reads.delete(written));
    if (this.loads !== loads) return;
    const isOld = ({ scope }: Halt) => written.has(nameOf(scope));
    const halts = answer.filter((halt) => !isOld(halt));
    const known = new Set(this.active.map(({ halt }) => halt.haltId));
    for (const { haltId, scope, cause, by, clearedAtMs } of halts)
      if (clearedAtMs === undefined && !known.has(haltId))
        this.deps.log.error({ ...named(scope), cause, by }, 'placing is halted by another process');
    this.merge(halts, new Set([...before].filter(({ halt }) => !isOld(halt))));
  }

  /**
   * Writes the halts missing in the journal: its database was away when they were raised.
   * `termFor`: without a term it writes as a process standing by, so the holder gets them. Rejects
   * when the journal could not be written; until then they hold in memory.
   */
  async keepDurable(termFor: (scope: Halt['scope']) => Term | undefined): Promise<void> {
    const lacking = this.active.filter(({ durable, clears }) => !durable && clears === 0);
    await Promise.all(lacking.map((held) => this.write(held, termFor(held.halt.scope))));
  }

  /** The journal lacks a halt that holds here. */
  get lacksOne(): boolean {
    return this.active.some(({ durable }) => !durable);
  }

  /**
   * Halts at once, and durably once it resolves. Undefined: the term is over; without a term it is
   * written in any case, as a person's word is. Rejects when the journal could not be written.
   * Either way the halt holds in memory, and `keepDurable`, or asking again for the same scope and
   * cause, makes it durable.
   */
  async raise(
    scope: Halt['scope'],
    cause: HaltCause,
    word: Pick<OperatorWord, 'by' | 'reason'>,
    term: Term | undefined,
  ): Promise<Halt | undefined> {
    const halt = await this.write(this.hold(scope, cause, word), term);
    // It was in the journal already, without our knowing, and a person has
    // resumed since: this call is newer than that.
    return halt?.clearedAtMs === undefined ? halt : this.write(this.hold(scope, cause, word), term);
  }

  /**
   * For a halt without a caller who waits: it holds in memory at once. If the database does not
   * take it now, it is written later (`keepDurable`).
   */
  notWaitingFor(raised: Promise<unknown>): void {
    raised.catch((err: unknown) =>
      this.deps.log.warn({ err }, 'a halt could not be written; it holds, and is written later'),
    );
  }

  private async write(held: Held, term: Term | undefined): Promise<Halt | undefined> {
    return this.inTurn(held.halt.scope, async () => {
      // The write before this one made it durable, or cleared it.
      if (held.durable || !this.active.includes(held)) return held.halt;
      if (held.lost) await this.deps.noticeLost?.({ haltId: held.halt.haltId });
      held.lost = false;
      const durable = await this.deps.journal.raiseHalt(held.halt, term?.fence);
      if (durable === 'fenced') return undefined;
      held.halt = durable;
      held.durable = true;
      // The journal already had a halt with this scope and cause: it may be here as well, if its
      // `clear` failed. A cleared one is here no more.
      const stays = durable.clearedAtMs === undefined;
      this.keep(this.active.filter((each) => (each === held ? stays : each.halt.haltId !== durable.haltId)));
      return durable;
    });
  }

  /**
   * Clears every halt in the scope, first in the journal. `over`: the term is over. `kept`: all
   * stay, since an operator raised one for every account, and this token names only some.
   * `not_waiting`: all stay, since its approval is gone. Rejects when the journal could not be
   * written; the halts stay.
   */
  async clear(
    scope: Halt['scope'],
    word: OperatorWord,
    term: Term,
  ): Promise<'cleared' | 'kept' | 'over' | 'not_waiting'> {
    const { journal, clock, log } = this.deps;
    const cleared = new Set(this.active.filter(({ halt }) => sameScope(halt.scope, scope)));
    if (word.ofSomeAccounts && [...cleared].some(({ halt }) => halt.cause === 'operator')) return 'kept';
    for (const held of cleared) held.clears += 1;
    try {
      return await this.inTurn(scope, async () => {
        const halts = await journal.clearHalts(scope, { ...word, atMs: clock.nowMs() }, term.fence);
        if (halts === 'fenced') return 'over';
        if (typeof halts === 'string') return halts;
        this.keep(this.active.filter((held) => !cleared.has(held)));
        log.warn({ ...named(scope), by: word.by, reason: word.reason, halts }, 'placing may go on');
        return 'cleared';
      });
    } finally {
      for (const held of cleared) held.clears -= 1;
    }
  }

  /**
   * The halt with this scope and cause, in memory from now on. It is a new one even if the journal
   * has one: another process may have cleared it since we read it. If it stands, the journal
   * answers with it, and it is here once.
   */
  private hold(scope: Halt['scope'], cause: HaltCause, word: Pick<OperatorWord, 'by' | 'reason'>): Held {
    const { clock, random, log } = this.deps;
    const known = this.active.find(
      ({ halt, durable, clears }) => !durable && clears === 0 && halt.cause === cause && sameScope(halt.scope, scope),
    );
    if (known !== undefined) return known;
    const halt: Halt = { haltId: random.uuid(), scope, cause, ...word, sinceMs: clock.nowMs() };
    const held: Held = { halt, durable: false, lost: false, clears: 0 };
    this.keep([...this.active, held]);
    log.error({ ...named(scope), cause, reason: word.reason, by: word.by }, 'placing is halted; only cancels pass');
    return held;
  }

  /** Runs `write` after all earlier writes of the scope. Each has the database's deadlines. */
  private inTurn<T>(scope: Halt['scope'], write: () => Promise<T>): Promise<T> {
    const name = nameOf(scope);
    for (const read of this.reads) read.add(name);
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

  /**
   * `before`: the halts durable when the journal was asked. It may not have known the rest. The
   * journal keeps each halt's row for good: so it tells which were cleared, and has lost those it
   * does not name.
   */
  private merge(halts: readonly Halt[], before: ReadonlySet<Held>): void {
    const known = new Map(this.active.map((held) => [held.halt.haltId, held]));
    const told = new Set(halts.map(({ haltId }) => haltId));
    const standing = halts.filter(({ clearedAtMs }) => clearedAtMs === undefined);
    const active = standing.map((halt) => known.get(halt.haltId) ?? { halt, durable: true, lost: false, clears: 0 });
    const others = this.active.filter(
      (held) => !active.includes(held) && !(before.has(held) && told.has(held.halt.haltId)),
    );
    for (const held of others) if (before.has(held)) this.putBack(held);
    this.keep([...active, ...others]);
  }

  private putBack(held: Held): void {
    const { haltId, scope, cause, by } = held.halt;
    held.durable = false;
    held.lost = true;
    this.deps.log.error(
      { ...named(scope), haltId, cause, by },
      'the database has lost this halt; it holds, and is put back',
    );
  }

  private keep(active: readonly Held[]): void {
    this.active = active;
    const { placingHalted } = this.deps.metrics;
    for (const kind of ['account', 'service'] as const)
      placingHalted.set({ scope: kind }, active.filter(({ halt }) => halt.scope.kind === kind).length);
  }
}

function idsOf(halts: ReadonlySet<Held>): string[] {
  return [...halts].map(({ halt }) => halt.haltId);
}

function nameOf(scope: Halt['scope']): string {
  return scope.kind === 'service' ? '' : scope.accountId;
}

function named(scope: Halt['scope']): object {
  return { scope: scope.kind, ...(scope.kind === 'account' && { accountId: scope.accountId }) };
}

function sameScope(a: Halt['scope'], b: Halt['scope']): boolean {
  return a.kind === 'service' ? b.kind === 'service' : b.kind === 'account' && a.accountId === b.accountId;
}
