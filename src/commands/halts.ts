import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { CommandJournal, Halt } from './command-journal.ts';
import type { OperatorWord } from './commands.ts';
import type { Term } from './term.ts';

export type HaltCause = 'unresolved' | 'late_landing' | 'rate' | 'operator';

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

/**
 * The one table of halts: where placing and replacing are stopped, and why. Cancels never ask here.
 *
 * Invariant: a halt holds in memory from the moment it is raised, before the journal has it, so that a database that is slow or gone lets nothing through; it
 * ends only by `clear`, which takes a person and a reason. At the begin of a term memory is what the journal says.
 */
export class Halts {
  private active: readonly Halt[] = [];
  /** Those that the journal has. */
  private readonly durable = new Set<string>();
  private readonly deps: HaltsDeps;

  constructor(deps: HaltsDeps) {
    this.deps = deps;
  }

  list(): readonly Halt[] {
    return this.active;
  }

  /** What stops placing and replacing on this account, if anything. */
  blocking(accountId: string): Halt | undefined {
    return this.active.find(({ scope }) => scope.kind === 'service' || scope.accountId === accountId);
  }

  /** What the journal says, if `still` holds once it has said it. Rejects when it can't be read: nothing may be placed without knowing the halts. */
  async load(still: () => boolean): Promise<void> {
    const halts = await this.deps.journal.activeHalts();
    if (!still()) return;
    for (const { haltId } of halts) this.durable.add(haltId);
    this.keep(halts);
  }

  /**
   * Halts at once, and durably when it resolves. Undefined: the term is over, and the halt is gone from memory too. Rejects when the journal could not be
   * written; the halt holds meanwhile, and asking again for the same scope and cause makes the same halt durable.
   */
  async raise(
    scope: Halt['scope'],
    cause: HaltCause,
    word: Pick<OperatorWord, 'by' | 'reason'>,
    term: Term,
  ): Promise<Halt | undefined> {
    const { clock, random, journal, log } = this.deps;
    const known = this.active.find((halt) => halt.cause === cause && sameScope(halt.scope, scope));
    if (known !== undefined && this.durable.has(known.haltId)) return known;
    const halt: Halt = known ?? { haltId: random.uuid(), scope, cause, ...word, sinceMs: clock.nowMs() };
    if (known === undefined) {
      this.keep([...this.active, halt]);
      log.error(
        {
          scope: scope.kind,
          ...(scope.kind === 'account' && { accountId: scope.accountId }),
          cause,
          reason: word.reason,
          by: word.by,
        },
        'placing is halted; only cancels pass',
      );
    }
    const durable = await journal.raiseHalt(halt, term.fence);
    if (durable === 'fenced') {
      this.keep(this.active.filter(({ haltId }) => haltId !== halt.haltId));
      return undefined;
    }
    this.durable.add(durable.haltId);
    if (durable.haltId !== halt.haltId) this.keep(this.active.map((each) => (each.haltId === halt.haltId ? durable : each)));
    return durable;
  }

  /** Clears every halt of the scope: first in the journal. Undefined: the term is over. Rejects when the journal could not be written; the halts stay. */
  async clear(scope: Halt['scope'], word: OperatorWord, term: Term): Promise<readonly Halt[] | undefined> {
    const { journal, clock, log } = this.deps;
    const atMs = clock.nowMs();
    const those = this.active.filter((halt) => sameScope(halt.scope, scope));
    const cleared = await journal.clearHalts(scope, word.by, word.reason, atMs, term.fence);
    if (cleared === 'fenced') return undefined;
    this.keep(this.active.filter((halt) => !those.includes(halt)));
    log.warn(
      {
        scope: scope.kind,
        ...(scope.kind === 'account' && { accountId: scope.accountId }),
        by: word.by,
        reason: word.reason,
        halts: cleared,
      },
      'placing may go on',
    );
    return those.map((halt) => ({ ...halt, clearedAtMs: atMs, clearedBy: word.by, clearedReason: word.reason }));
  }

  private keep(halts: readonly Halt[]): void {
    this.active = halts;
    for (const haltId of this.durable) if (!halts.some((halt) => halt.haltId === haltId)) this.durable.delete(haltId);
    const { placingHalted } = this.deps.metrics;
    for (const kind of ['account', 'service'] as const)
      placingHalted.set({ scope: kind }, halts.filter(({ scope }) => scope.kind === kind).length);
  }
}

function sameScope(a: Halt['scope'], b: Halt['scope']): boolean {
  return a.kind === 'service' ? b.kind === 'service' : b.kind === 'account' && a.accountId === b.accountId;
}
