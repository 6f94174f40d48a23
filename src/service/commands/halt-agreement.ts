import type { Ambient } from '../../observability/ambient.ts';
import { Backoff } from '../../runtime/backoff.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { CommandJournal } from '../../store/commands/command-journal.ts';
import type { Halt } from '../../store/commands/stops-journal.ts';
import type { Term } from '../../store/commands/term.ts';
import type { CommandOptions } from './command-options.ts';
import type { Halts } from './halts.ts';

interface HaltAgreementDeps extends Ambient {
  readonly journal: Pick<CommandJournal, 'holdHalts' | 'withoutHalt'>;
  readonly lease: Pick<Lease, 'lane' | 'epoch'>;
  readonly halts: Pick<Halts, 'list' | 'keepDurable' | 'refresh' | 'lacksOne'>;
}

/**
 * How often the journal is asked for halts, and gets those it lacks. A process without a shard
 * shows them; the others keep to all. The answer to a halt waits for it; the table is small and the
 * statement takes some 0.1 ms. Not by NOTIFY: each process would need one more session, poolers
 * take it away, and it needs a look beside it.
 */
const lookAtHaltsEveryMs = 500;
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
  private readonly options: Pick<CommandOptions, 'leaseExpireMs' | 'haltAnswerMs' | 'journalBackoff'>;

  constructor(
    deps: HaltAgreementDeps,
    options: Pick<CommandOptions, 'leaseExpireMs' | 'haltAnswerMs' | 'journalBackoff'>,
  ) {
    this.deps = deps;
    this.options = options;
  }

  /**
   * Reads everyone's halts and says which are held here, until `signal` aborts. Halts missing in
   * the journal are written, under `termFor` their scope.
   */
  async keepUp(termFor: (scope: Halt['scope']) => Term | undefined, signal: AbortSignal): Promise<void> {
    const { halts, clock, random } = this.deps;
    const backoff = new Backoff(random, this.options.journalBackoff);
    while (!signal.aborted) {
      const look = halts.keepDurable(termFor).then(() => halts.refresh());
      await look.then(() => this.sayHeld()).catch(() => undefined);
      if (!halts.lacksOne) backoff.reset();
      await clock.sleep(halts.lacksOne ? backoff.nextMs() : lookAtHaltsEveryMs, signal);
    }
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
   * Resolves when every live process has said it holds the halt, after `haltAnswerMs` at the
   * latest: with the names still missing. Rejects when the database did not say which.
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
