import type { Log } from '../../observability/log.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { CommandJournal } from '../../store/commands/command-journal.ts';
import type { CommandOptions } from './command-options.ts';
import type { Halts } from './halts.ts';

interface HaltAgreementDeps {
  readonly journal: Pick<CommandJournal, 'holdHalts' | 'withoutHalt'>;
  readonly lease: Pick<Lease, 'lane' | 'epoch'>;
  readonly halts: Pick<Halts, 'list'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** One small statement each, for as long as a caller waits for the answer to a halt. */
const askEveryMs = 50;

/**
 * Says in the lane's row which halts this process holds, and
 * finds out whether all others have said so.
 *
 * Invariant: a halt is said to be held only once it is in memory, where each write asks in its own
 * turn: what was marked before is then written already, or is refused.
 */
export class HaltAgreement {
  /** The lane, its epoch and the halts that were said last. */
  private said = '';
  private readonly deps: HaltAgreementDeps;
  private readonly options: Pick<CommandOptions, 'leaseExpireMs' | 'haltAnswerMs'>;

  constructor(deps: HaltAgreementDeps, options: Pick<CommandOptions, 'leaseExpireMs' | 'haltAnswerMs'>) {
    this.deps = deps;
    this.options = options;
  }

  /** After each change in memory. Rejects when the journal can't be written. */
  async sayHeld(): Promise<void> {
    const { lease, halts, journal } = this.deps;
    const { lane, epoch } = lease;
    if (epoch === 0n) return;
    const haltIds = halts.list().map(({ haltId }) => haltId);
    const words = [lane, epoch, ...haltIds].join(' ');
    if (words !== this.said && (await journal.holdHalts(lane, epoch, haltIds))) this.said = words;
  }

  /**
   * Resolves when every live process has said that it holds the halt, after
   * `haltAnswerMs` at the latest: with the names of those that have not. Rejects when
   * the database did not say which these are.
   */
  async awaitHeld(haltId: string): Promise<readonly string[]> {
    const { clock, journal, log } = this.deps;
    const untilMs = clock.monotonicMs() + this.options.haltAnswerMs;
    for (;;) {
      const isLast = clock.monotonicMs() >= untilMs;
      try {
        await this.sayHeld();
        const lacking = await journal.withoutHalt(haltId, this.options.leaseExpireMs);
        if (lacking.length > 0 && isLast)
          log.warn({ haltId, lacking }, 'not every process has said that it holds the halt');
        if (lacking.length === 0 || isLast) return lacking;
      } catch (err) {
        if (isLast) throw err;
      }
      await clock.sleep(askEveryMs);
    }
  }
}
