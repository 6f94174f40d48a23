import type { CommandRequest, Reason } from '../../domain/command.ts';
import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Act } from '../../runtime/lease.ts';
import type { CommandJournal } from '../../store/commands/command-journal.ts';
import type { Halt } from '../../store/commands/halts-journal.ts';
import type { Term } from '../../store/commands/term.ts';
import { type ReadIfChanged, readAlways } from '../../store/fleet/changes.ts';
import { declined } from './answer.ts';
import type { OperatorWord } from './commands.ts';

/**
 * Those that a process raises. `operator`: by a person with a token for every account;
 * `account_operator`: with one for some accounts. The journal itself raises `unresolved`,
 * `late_landing` and `commits_lost`.
 */
type HaltCause = 'rate' | 'operator' | 'account_operator';

interface HaltsDeps extends Ambient {
  readonly journal: Pick<CommandJournal, 'activeHalts' | 'raiseHalt' | 'clearHalts'>;
  readonly metrics: Pick<Metrics['commands'], 'placingHalted'>;
  /**
   * Begins a generation if the database lacks this halt, after it had acknowledged it. Rejects when
   * it can't be asked. Left out: only the halt is put back.
   */
  readonly noticeLost?: (act: Act) => Promise<void>;
  /** Spares the reads while no halt has changed. */
  readonly haltChanges?: ReadIfChanged;
}

/** The halt that stops this request, if any. No halt stops a cancel. */
export function haltedBecause(halts: Pick<Halts, 'blocking'>, { kind, accountId }: CommandRequest): Reason | undefined {
  const halt = kind === 'cancel' ? undefined : halts.blocking(accountId);
  return (
    halt && { code: 'PLACING_HALTED', message: `placing was halted (${halt.cause}): ${halt.reason}`.slice(0, 500) }
  );
}

/** The reason why a token of some accounts does not resume. */
export const haltedForEveryAccount = declined(
  'EVERY_ACCOUNT_NEEDED',
  'an operator for every account has halted this, and the token names only some: it stays halted',
);

/** A halt that the journal lacks. */
interface Unwritten {
  readonly halt: Halt;
  /**
   * The journal had it. Until its loss was noticed it is not put back: its absence is the proof,
   * and may be the only one.
   */
  readonly lost: boolean;
}

/**
 * How often the journal is read. No decision waits for it: another process's halt is only declined
 * with its reason so much later, where before its command ends as `not_sent`.
 */
const lookEveryMs = 1_000;

/**
 * The halts as this process knows them: why a place or a replace is declined, and what is put back
 * if the database loses it. A halt is its row. The journal itself looks at the rows before an
 * attempt becomes SENDING (`WritePermit`), and raises those that a command's step causes.
 *
 * Invariant: what was raised here, or was read once, is known here until the journal says that it
 * was cleared, or a person resumes here. What the journal lacks of it is written until it is there
 * (`keepDurable`), by any process, under no fence.
 */
export class Halts {
  /** As the journal has them. */
  private active: ReadonlyMap<string, Halt> = new Map();
  private readonly unwritten = new Map<string, Unwritten>();
  private readonly deps: HaltsDeps;

  constructor(deps: HaltsDeps) {
    this.deps = deps;
  }

  list(): readonly Halt[] {
    return [...this.active.values(), ...[...this.unwritten.values()].map(({ halt }) => halt)];
  }

  /** The halt that stops placing and replacing on this account, if any. */
  blocking(accountId: string): Halt | undefined {
    return this.list().find(({ scope }) => scope.kind === 'service' || scope.accountId === accountId);
  }

  /** Reads the journal until `signal` aborts, and writes what it lacks. */
  async keepUp(signal: AbortSignal): Promise<void> {
    const { clock, haltChanges = readAlways } = this.deps;
    while (!signal.aborted) {
      const read = this.unwritten.size > 0 ? readAlways : haltChanges;
      await this.keepDurable()
        .then(() => read(() => this.refresh()))
        .catch(() => undefined);
      await clock.sleep(lookEveryMs, signal);
    }
  }

  /**
   * Reads the journal. An answer that something known here has overtaken says nothing: the next
   * look does. The journal keeps each halt's row for good, so one that it had, and does not name,
   * was lost with the newest commits. False: its answer was overtaken. Rejects when the journal
   * can't be read.
   */
  async refresh(): Promise<boolean> {
    const before = this.active;
    const halts = await this.deps.journal.activeHalts([...before.keys()]);
    if (this.active !== before) return false;
    const known = new Set(halts.map(({ haltId }) => haltId));
    for (const halt of before.values()) if (!known.has(halt.haltId)) this.lose(halt);
    this.active = new Map();
    this.adopt(halts, before);
    return true;
  }

  /** Halts with which the journal has answered. */
  adopt(halts: readonly Halt[], before = this.active): void {
    const active = new Map(this.active);
    for (const halt of halts) {
      this.unwritten.delete(halt.haltId);
      if (halt.clearedAtMs !== undefined) continue;
      if (!before.has(halt.haltId)) this.report(halt, 'placing is halted; only cancels pass');
      active.set(halt.haltId, halt);
    }
    this.active = active;
    this.count();
  }

  /** Writes the halts that the journal lacks. Rejects when it can't be written: they hold here. */
  async keepDurable(): Promise<void> {
    await Promise.all([...this.unwritten.values()].map((each) => this.write(each)));
  }

  /**
   * Resolves with the halt that is in force once it is committed. Rejects when the journal could
   * not be written: then it holds in this process, and is written later.
   */
  async raise(
    scope: Halt['scope'],
    cause: HaltCause,
    { by, reason }: Pick<OperatorWord, 'by' | 'reason'>,
  ): Promise<Halt> {
    const { clock, random } = this.deps;
    const halt: Halt = { haltId: random.uuid(), scope, cause, by, reason, sinceMs: clock.nowMs() };
    // One whose answer was lost may be in the journal, and cleared since: this call is newer.
    for (const [id, each] of this.unwritten)
      if (!each.lost && each.halt.cause === cause && sameScope(each.halt.scope, scope)) this.unwritten.delete(id);
    const unwritten = { halt, lost: false };
    this.unwritten.set(halt.haltId, unwritten);
    this.count();
    // A loss is noticed before anything is written that may hide it.
    for (const each of this.unwritten.values()) if (each.lost) await this.write(each);
    return this.write(unwritten);
  }

  private async write(unwritten: Unwritten): Promise<Halt> {
    const { journal, noticeLost } = this.deps;
    const { halt, lost } = unwritten;
    if (lost) await noticeLost?.(['halt', halt.haltId]);
    // A person has resumed meanwhile.
    if (lost && !this.unwritten.has(halt.haltId)) return halt;
    const durable = await journal.raiseHalt(halt);
    this.unwritten.delete(halt.haltId);
    this.adopt([durable]);
    return durable;
  }

  /**
   * Clears every halt in the scope. `over`: the term is over. `kept`: all stay, since an operator
   * raised one for every account, and this token names only some. `not_waiting`: all stay, since
   * its approval is gone. Rejects when the journal could not be written; the halts stay.
   */
  async clear(
    scope: Halt['scope'],
    word: OperatorWord,
    term: Term,
  ): Promise<'cleared' | 'kept' | 'over' | 'not_waiting'> {
    const { journal, clock, log } = this.deps;
    const those = this.list().filter((halt) => sameScope(halt.scope, scope));
    if (word.ofSomeAccounts && those.some(({ cause }) => cause === 'operator')) return 'kept';
    const halts = await journal.clearHalts(scope, { ...word, atMs: clock.nowMs() }, term.fence);
    if (halts === 'fenced') return 'over';
    if (typeof halts === 'string') return halts;
    const active = new Map(this.active);
    for (const { haltId } of those) {
      active.delete(haltId);
      this.unwritten.delete(haltId);
    }
    this.active = active;
    this.count();
    log.warn({ ...named(scope), by: word.by, reason: word.reason, halts }, 'placing may go on');
    return 'cleared';
  }

  private lose(halt: Halt): void {
    this.unwritten.set(halt.haltId, { halt, lost: true });
    this.report(halt, 'the database has lost this halt; it holds, and is put back');
  }

  private report({ haltId, scope, cause, reason, by }: Halt, what: string): void {
    this.deps.log.error({ ...named(scope), haltId, cause, reason, by }, what);
  }

  private count(): void {
    const { placingHalted } = this.deps.metrics;
    for (const kind of ['account', 'service'] as const)
      placingHalted.set({ scope: kind }, this.list().filter(({ scope }) => scope.kind === kind).length);
  }
}

function named(scope: Halt['scope']): object {
  return { scope: scope.kind, ...(scope.kind === 'account' && { accountId: scope.accountId }) };
}

function sameScope(a: Halt['scope'], b: Halt['scope']): boolean {
  return a.kind === 'service' ? b.kind === 'service' : b.kind === 'account' && a.accountId === b.accountId;
}
