import type { CommandRequest } from '../../domain/command.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Allowance } from './commands.ts';

export interface BucketOptions {
  /** Tokens that come back each second. */
  readonly perSecond: number;
  /** The most it holds. */
  readonly burst: number;
}

const longestDebtSeconds = 60;
/**
 * A part is never smaller, so a process with one shard of very many waits at most five seconds for
 * a token.
 */
const leastPart: BucketOptions = { perSecond: 0.2, burst: 2 };

/**
 * A token bucket on the monotonic clock: a step on the wall clock gives nothing and takes nothing.
 * `part`: how much it has now from the options, from 0 to 1. It is asked at each use, so the bucket
 * follows at once.
 *
 * Invariant: within t seconds with the same part, at most that part times `burst + perSecond · t`
 * tokens are taken. Tokens `owe` took beyond it are paid back before the next one is taken.
 */
export class TokenBucket {
  private tokens: number;
  private filledAtMs: number;
  private readonly clock: Clock;
  private readonly options: BucketOptions;
  private readonly part: () => number;

  constructor(clock: Clock, options: BucketOptions, part: () => number = () => 1) {
    this.clock = clock;
    this.options = options;
    this.part = part;
    this.tokens = options.burst;
    this.filledAtMs = clock.monotonicMs();
  }

  /** The most it holds now. */
  get burst(): number {
    return this.partOf('burst');
  }

  /** Whole tokens there now. */
  get remaining(): number {
    this.fill();
    return Math.floor(this.tokens);
  }

  /** Takes one, unless that would leave fewer than `keep`. */
  take(keep = 0): boolean {
    this.fill();
    if (this.tokens < 1 + keep) return false;
    this.tokens -= 1;
    return true;
  }

  /**
   * Takes one even if none is there: the next request waits for it. It waits no longer than a
   * minute, or one huge read would block all others.
   */
  owe(): void {
    this.fill();
    this.tokens = Math.max(this.tokens - 1, this.longestDebt);
  }

  /** The token was not needed after all. */
  giveBack(): void {
    this.fill();
    this.tokens = Math.min(this.burst, this.tokens + 1);
  }

  /** Milliseconds until `count` tokens are there; 0 when they are. */
  waitMs(count = 1): number {
    this.fill();
    return Math.max(0, Math.ceil(((count - this.tokens) / this.partOf('perSecond')) * 1000));
  }

  private fill(): void {
    const nowMs = this.clock.monotonicMs();
    const back = ((nowMs - this.filledAtMs) / 1000) * this.partOf('perSecond');
    // A debt of a larger part does not block a smaller one for longer than a minute.
    this.tokens = Math.min(this.burst, Math.max(this.longestDebt, this.tokens) + back);
    this.filledAtMs = nowMs;
  }

  private get longestDebt(): number {
    return -longestDebtSeconds * this.partOf('perSecond');
  }

  private partOf(option: keyof BucketOptions): number {
    const whole = this.options[option];
    return Math.min(whole, Math.max(leastPart[option], whole * this.part()));
  }
}

/**
 * Above this number of buckets, those that are full again are forgotten: a full one equals a new
 * one, so nothing is lost.
 */
const sweepAbove = 1_000;

/** The accounts' budgets. Cancels have their own, far wider, so places never delay a cancel. */
export interface Budgets {
  readonly places: RateBudget;
  readonly cancels: RateBudget;
  /** Previews send nothing; each may read quotes at the platform. */
  readonly previews: RateBudget;
}

export function budgetOf(
  { places, cancels }: Pick<Budgets, 'places' | 'cancels'>,
  { kind }: Pick<CommandRequest, 'kind'>,
): RateBudget {
  return kind === 'cancel' ? cancels : places;
}

/**
 * How much each account may still send, of one kind.
 *
 * Invariant: an account that has sent nothing for `burst / perSecond` seconds takes no memory here,
 * once there are more than 1,000.
 */
export class RateBudget {
  private readonly buckets = new Map<string, TokenBucket>();
  private readonly clock: Clock;
  private readonly options: BucketOptions;

  constructor(clock: Clock, options: BucketOptions) {
    this.clock = clock;
    this.options = options;
  }

  /** Undefined: a token was taken. Otherwise the milliseconds until there is one. */
  take(accountId: string): number | undefined {
    const bucket = this.bucket(accountId);
    return bucket.take() ? undefined : bucket.waitMs();
  }

  /** Milliseconds until there is a token. */
  waitMs(accountId: string): number {
    return this.bucket(accountId).waitMs();
  }

  /** Takes one for a further attempt, even if none is there: the next command waits for it. */
  owe(accountId: string): void {
    this.bucket(accountId).owe();
  }

  /** The command was a replay, or declined after all. */
  giveBack(accountId: string): void {
    this.buckets.get(accountId)?.giveBack();
  }

  allowance(accountId: string): Allowance {
    const { burst } = this.options;
    const bucket = this.buckets.get(accountId);
    if (bucket === undefined) return { limit: burst, remaining: burst, resetMs: 0 };
    return { limit: burst, remaining: bucket.remaining, resetMs: bucket.waitMs(burst) };
  }

  private bucket(accountId: string): TokenBucket {
    const known = this.buckets.get(accountId);
    if (known !== undefined) return known;
    if (this.buckets.size >= sweepAbove) this.sweep();
    const made = new TokenBucket(this.clock, this.options);
    this.buckets.set(accountId, made);
    return made;
  }

  private sweep(): void {
    for (const [accountId, bucket] of this.buckets)
      if (bucket.remaining >= this.options.burst) this.buckets.delete(accountId);
  }
}
