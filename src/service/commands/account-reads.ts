import type { Stream } from '../../domain/order.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Clock } from '../../runtime/clock.ts';
import { abortAfter, unlessAborted } from '../../runtime/waiting.ts';
import type { Term } from '../../store/commands/term.ts';
import type { ReadBudget } from '../../venue/order-reads.ts';
import type { AccountLook, FollowedAccounts, LookSince } from '../sources/account-access.ts';
import type { CommandOptions } from './command-options.ts';
import type { ProbeBudget } from './probe-budget.ts';

interface AccountReadsDeps {
  readonly accounts: FollowedAccounts;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics['commands'], 'probes'>;
  readonly probes: ProbeBudget;
  /**
   * The account's oldest send for a read to judge. An order hidden for a while appears with its old
   * time.
   */
  readonly oldestSend: (stream: Stream, accountId: string) => LookSince | undefined;
}

/** How an account read ended. `calledAtMs`: monotonic, its beginning. */
export interface AccountRead {
  readonly stream: Stream;
  readonly accountId: string;
  readonly calledAtMs: number;
  readonly look: AccountLook;
}

/** Undefined: the account is not followed, and there is nothing to look at. */
type BudgetedRead = (signal: AbortSignal, budget: ReadBudget) => Promise<AccountLook> | undefined;

/**
 * The reads to find out the result of commands, within one budget.
 *
 * An account read's states: waiting for its token, first come, first served → running → done, as
 * failed where its term is over: what it showed may not have gone through ingest. Callers
 * asking for the same read in the meantime share it: one read judges all the account's commands at
 * once.
 */
export class AccountReads {
  private readonly flights = new Map<string, Promise<AccountRead>>();
  private readonly deps: AccountReadsDeps;
  private readonly options: Pick<CommandOptions, 'probeDeadlineMs'>;

  constructor(deps: AccountReadsDeps, options: Pick<CommandOptions, 'probeDeadlineMs'>) {
    this.deps = deps;
    this.options = options;
  }

  /**
   * A complete account read by its one reader, shared by all callers asking while it waits or runs.
   * Never rejects.
   */
  read(stream: Stream, accountId: string, { fence, over }: Term): Promise<AccountRead> {
    const key = `${stream}:${accountId}:${fence.epoch}`;
    const known = this.flights.get(key);
    if (known !== undefined) return known;
    const flight = this.readAccount(stream, accountId, over);
    this.flights.set(key, flight);
    void flight.then(() => this.flights.delete(key));
    return flight;
  }

  /**
   * A read of one order or one reference, if the budget has room for it now. Undefined: there is no
   * room, and the account's reads have to do.
   */
  async direct(read: BudgetedRead, stop: AbortSignal): Promise<AccountLook | undefined> {
    const { metrics, probes } = this.deps;
    if (!probes.takeDirect()) {
      metrics.probes.inc({ result: 'skipped' });
      return undefined;
    }
    return this.run(read, stop);
  }

  /** No account read can stand in for it: it waits for its token in their line. Never rejects. */
  async inTurn(read: BudgetedRead, over: AbortSignal): Promise<AccountLook> {
    return (await this.deps.probes.turn(over)) ? this.run(read, over) : stoppedRead;
  }

  private async readAccount(stream: Stream, accountId: string, over: AbortSignal): Promise<AccountRead> {
    const { accounts, clock } = this.deps;
    let calledAtMs = clock.monotonicMs();
    const look = await this.inTurn((signal, budget) => {
      calledAtMs = clock.monotonicMs();
      return accounts.account(stream, accountId)?.lookAtAll(this.deps.oldestSend(stream, accountId), signal, budget);
    }, over);
    return { stream, accountId, calledAtMs, look };
  }

  private async run(read: BudgetedRead, stop: AbortSignal): Promise<AccountLook> {
    const budget = this.deps.probes.ofOneRead();
    const { probeDeadlineMs } = this.options;
    const look = await runProbe(this.deps.clock, probeDeadlineMs, stop, (signal) => read(signal, budget));
    this.deps.metrics.probes.inc({ result: look.complete ? 'complete' : 'failed' });
    return look;
  }
}

/**
 * One read. It ends with its deadline, or with `stop`, and a later result is ignored. Never
 * rejects, never hangs. If it did not end well it is `failed`, and proves nothing.
 */
export async function runProbe(
  clock: Clock,
  deadlineMs: number,
  stop: AbortSignal,
  read: (signal: AbortSignal) => ReturnType<BudgetedRead>,
): Promise<AccountLook> {
  if (stop.aborted) return failed('STOPPED', 'its caller does not wait for it any more');
  using within = abortAfter(clock, deadlineMs, 'the read', stop);
  const { signal } = within;
  try {
    const work = read(signal);
    return await (work === undefined
      ? failed('NOT_FOLLOWED', 'the account is not followed')
      : unlessAborted(work, signal));
  } catch (error) {
    return signal.aborted ? failed('DEADLINE', 'the read did not end in time') : failed('PROBE_FAILED', String(error));
  }
}

const stoppedRead = failed('STOPPED', 'the term is over');

function failed(code: string, message: string): AccountLook {
  return { complete: false, error: { code, message, retryable: true, sent: 'maybe' } };
}
