import type { AccountLook, FollowedAccounts } from '../connectors/account-access.ts';
import type { Stream } from '../domain/order.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { ReadBudget } from '../platform/order-reads.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import type { CommandOptions } from './command-options.ts';
import { TokenBucket } from './rate-budget.ts';

interface AccountReadsDeps {
  readonly accounts: FollowedAccounts;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics['commands'], 'probes'>;
  /** Wall time of the oldest send that a read of the account is to judge: an order that was hidden for a while appears with its old time. */
  readonly oldestSendMs: (stream: Stream, accountId: string) => number | undefined;
}

/** How a read of an account ended. `calledAtMs`: monotonic time at which it was asked for. */
export interface AccountRead {
  readonly stream: Stream;
  readonly accountId: string;
  readonly calledAtMs: number;
  readonly look: AccountLook;
}

/** Undefined: the account is not followed, and there is nothing to look at. */
export type BudgetedRead = (signal: AbortSignal, budget: ReadBudget) => Promise<AccountLook> | undefined;

interface Flight {
  readonly stream: Stream;
  readonly accountId: string;
  readonly done: Promise<AccountRead>;
  readonly finish: (read: AccountRead) => void;
}

/**
 * All reads that find out the outcome of commands, within one budget.
 *
 * States of a read of an account: waiting for its token, in order of asking → running → done. Callers that ask for the same read in the meantime share it: one
 * read of an account judges all its commands at once.
 * Invariant: no more reads begin, and no more requests are repeated, than the bucket gives tokens. The further requests of a read are charged to the tokens
 * that come back later. Direct reads leave half of the bucket to reads of accounts, and let any of those that waits go first.
 */
export class AccountReads {
  private readonly flights = new Map<string, Flight>();
  private readonly waiting: Flight[] = [];
  private readonly bucket: TokenBucket;
  private timer: Timer | undefined;
  private stopped = new AbortController();
  private readonly deps: AccountReadsDeps;
  private readonly options: Pick<CommandOptions, 'probes' | 'probeDeadlineMs'>;

  constructor(deps: AccountReadsDeps, options: Pick<CommandOptions, 'probes' | 'probeDeadlineMs'>) {
    this.deps = deps;
    this.options = options;
    this.bucket = new TokenBucket(deps.clock, options.probes);
  }

  begin(): void {
    this.stopped = new AbortController();
  }

  /** Ends all reads, running and waiting: each ends as failed. */
  end(): void {
    this.stopped.abort();
    this.timer?.cancel();
    this.timer = undefined;
    for (const flight of this.waiting.splice(0)) {
      const look = failed('STOPPED', 'the term is over');
      this.land(flight, { ...flight, calledAtMs: this.deps.clock.monotonicMs(), look });
    }
  }

  /** A complete read of the account by its one reader, shared by all callers that ask while it waits or runs. Never rejects. */
  read(stream: Stream, accountId: string): Promise<AccountRead> {
    const key = `${stream}:${accountId}`;
    const known = this.flights.get(key);
    if (known !== undefined) return known.done;
    let finish: Flight['finish'] = () => {};
    const done = new Promise<AccountRead>((resolve) => {
      finish = resolve;
    });
    const flight: Flight = { stream, accountId, done, finish };
    this.flights.set(key, flight);
    this.waiting.push(flight);
    this.pump();
    return done;
  }

  /** A read of one order or one reference, if the budget has room for it now. Undefined: there is no room, and the reads of the account have to do. */
  async direct(read: BudgetedRead, stop: AbortSignal): Promise<AccountLook | undefined> {
    const { metrics } = this.deps;
    if (this.waiting.length > 0 || !this.bucket.take(Math.floor(this.options.probes.burst / 2))) {
      metrics.probes.inc({ outcome: 'skipped' });
      return undefined;
    }
    return this.run(read, AbortSignal.any([stop, this.stopped.signal]));
  }

  private pump(): void {
    if (this.stopped.signal.aborted) this.end();
    while (this.waiting.length > 0 && this.bucket.take()) {
      const flight = this.waiting.shift();
      if (flight !== undefined) void this.fly(flight);
    }
    if (this.waiting.length === 0 || this.timer !== undefined) return;
    this.timer = this.deps.clock.after(Math.max(1, this.bucket.waitMs()), () => {
      this.timer = undefined;
      this.pump();
    });
  }

  private async fly(flight: Flight): Promise<void> {
    const { accounts, clock } = this.deps;
    const { stream, accountId } = flight;
    const calledAtMs = clock.monotonicMs();
    const sinceMs = this.deps.oldestSendMs(stream, accountId);
    const look = await this.run(
      (signal, budget) => accounts.account(stream, accountId)?.lookAtAll(sinceMs, signal, budget),
      this.stopped.signal,
    );
    this.land(flight, { stream, accountId, calledAtMs, look });
  }

  private land(flight: Flight, read: AccountRead): void {
    this.flights.delete(`${flight.stream}:${flight.accountId}`);
    flight.finish(read);
  }

  /** The budget of a read whose token was taken, so its first request is paid. A repeat asks the bucket first; any other request is only charged to it. */
  private budget(): ReadBudget {
    let paid = 1;
    return {
      spend: () => {
        if (paid > 0) paid -= 1;
        else this.bucket.owe();
      },
      mayRepeat: () => {
        if (this.waiting.length > 0 || !this.bucket.take()) return false;
        paid += 1;
        return true;
      },
    };
  }

  private async run(read: BudgetedRead, stop: AbortSignal): Promise<AccountLook> {
    const budget = this.budget();
    const look = await runProbe(this.deps, (signal) => read(signal, budget), {
      deadlineMs: this.options.probeDeadlineMs,
      stop,
    });
    this.deps.metrics.probes.inc({ outcome: look.complete ? 'complete' : 'failed' });
    return look;
  }
}

interface ProbeDeps {
  readonly clock: Clock;
}

/**
 * One read. It ends with its deadline, with the term, or with `stop`, and a later result is ignored. Never rejects, never hangs. A read that did not
 * end well is `failed`, which proves nothing.
 */
export async function runProbe(
  { clock }: ProbeDeps,
  read: (signal: AbortSignal) => ReturnType<BudgetedRead>,
  limits: { readonly deadlineMs: number; readonly stop: AbortSignal },
): Promise<AccountLook> {
  const { deadlineMs, stop } = limits;
  const over = new AbortController();
  const giveUp = () => over.abort();
  if (stop.aborted) return failed('STOPPED', 'its caller does not wait for it any more');
  stop.addEventListener('abort', giveUp, { once: true });
  const timer = clock.after(deadlineMs, giveUp);
  const ended = new Promise<AccountLook>((resolve) => {
    over.signal.addEventListener('abort', () => resolve(failed('DEADLINE', 'the read did not end in time')), { once: true });
  });
  try {
    return await Promise.race([read(over.signal) ?? failed('NOT_FOLLOWED', 'the account is not followed'), ended]);
  } catch (error) {
    return failed('PROBE_FAILED', String(error));
  } finally {
    timer.cancel();
    stop.removeEventListener('abort', giveUp);
  }
}

function failed(code: string, message: string): AccountLook {
  return { complete: false, error: { code, message, retryable: true, sent: 'maybe' } };
}
