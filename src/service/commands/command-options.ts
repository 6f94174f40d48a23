import type { BackoffOptions } from '../../runtime/backoff.ts';
import type { BreakerOptions } from './rate-breaker.ts';
import type { BucketOptions } from './rate-budget.ts';

export interface CommandOptions {
  /** Resuming, resolving and loosening a limit need a second principal … */
  readonly fourEyes: boolean;
  /** … within this time. */
  readonly approvalMs: number;
  /**
   * Off: every command is declined with COMMANDS_OFF. Unresolved commands are still resolved, and
   * an operator may still resolve, halt and resume.
   */
  readonly enabled: boolean;
  /** The only accounts that may be traded. Empty: simulated accounts only. */
  readonly accounts: readonly string[];
  /** A caller's reference names one command of its principal, forever. */
  readonly callerRefOnce: boolean;
  /** Declines places and replaces while the account's stream is not live. */
  readonly needsLive: boolean;
  /** For how long an attempt that was not sent is followed by another one. */
  readonly deadlineMs: number;
  /** Places and replaces of one account. */
  readonly rate: BucketOptions;
  /**
   * One account's cancels, except a cancel-all's: a limit for a loop out of control, and beyond any
   * person.
   */
  readonly cancelRate: BucketOptions;
  readonly breaker: BreakerOptions;
  /** So many commands with an unknown result halt the account, or the service. */
  readonly haltAt: { readonly account: number; readonly service: number };
  /** Reads spent on finding out the result of commands. */
  readonly probes: BucketOptions;
  readonly probeDeadlineMs: number;
  /**
   * How long a new command waits for its connection: with it, the command is journaled as being
   * sent. After this time it is journaled as prepared, so that its caller and its key do not wait
   * longer.
   */
  readonly connectWithinMs: number;
  /**
   * The write must begin within this time after the commit that permits it, and a halt is answered
   * so long after its own.
   */
  readonly writeWithinMs: number;
  /**
   * How long a caller waits for its answer to be recorded while the database does not take it; then
   * it gets the state committed last.
   */
  readonly recordPatienceMs: number;
  /** Between attempts of one command. */
  readonly attemptBackoff: BackoffOptions;
  /** Between two tries for a failed journal write. */
  readonly journalBackoff: BackoffOptions;
  /**
   * Commands kept in memory and followed, of all shards. The rest is taken from the journal as
   * there is room, and nothing is placed until then.
   */
  readonly maxWatched: number;
  /** One account's commands waiting for their checks, at most. */
  readonly maxWaitingPerAccount: number;
  /** One cancel-all's first attempts under way at the same time, for each account and stream. */
  readonly cancelAllWindow: number;
  /** How long a cancel-all may read its accounts before its first cancel. */
  readonly cancelAllReadMs: number;
  /** How long its caller waits for the result; the cancel-all goes on after the answer. */
  readonly cancelAllAnswerMs: number;
  /** How long a command is unresolved before a warning, and before an error that pages. */
  readonly warnAfterMs: number;
  readonly alarmAfterMs: number;
  /**
   * With more unresolved commands than fit: how long each is followed before another one gets its
   * place. More than the longest time between two probes.
   */
  readonly turnMs: number;
  /**
   * How long after its end a command that was not `applied` is
   * still looked up when hand-overs were missed.
   */
  readonly recentMs: number;
  /**
   * How often all final places, except those `applied` with an order, are
   * checked for orders that landed after all.
   */
  readonly landingSweepEveryMs: number;
  /** How often the journal is asked for unresolved commands that are not watched. */
  readonly sweepEveryMs: number;
}

export const commandDefaults: Omit<CommandOptions, 'enabled' | 'accounts'> = {
  callerRefOnce: false,
  fourEyes: false,
  approvalMs: 3_600_000,
  needsLive: true,
  deadlineMs: 10_000,
  rate: { perSecond: 20, burst: 40 },
  cancelRate: { perSecond: 100, burst: 1_000 },
  breaker: { count: 3_000, windowMs: 60_000 },
  haltAt: { account: 3, service: 10 },
  probes: { perSecond: 5, burst: 20 },
  probeDeadlineMs: 30_000,
  connectWithinMs: 200,
  writeWithinMs: 1_000,
  recordPatienceMs: 2_000,
  attemptBackoff: { firstMs: 200, maxMs: 2_000 },
  journalBackoff: { firstMs: 50, maxMs: 2_000 },
  maxWatched: 10_000,
  maxWaitingPerAccount: 200,
  cancelAllWindow: 16,
  cancelAllReadMs: 2_000,
  cancelAllAnswerMs: 20_000,
  warnAfterMs: 10_000,
  alarmAfterMs: 60_000,
  turnMs: 2_700_000,
  recentMs: 3_600_000,
  landingSweepEveryMs: 600_000,
  sweepEveryMs: 15_000,
};
