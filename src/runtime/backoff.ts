import type { Random } from './random.ts';

export interface BackoffOptions {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * Capped exponential backoff with full jitter: a delay is drawn evenly from [0, min(max, first ·
 * 2^n)). So a thousand clients cut off together do not come back together.
 */
export class Backoff {
  private failures = 0;
  private readonly random: Random;
  private readonly options: BackoffOptions;

  constructor(random: Random, options: BackoffOptions) {
    this.random = random;
    this.options = options;
  }

  /** The next delay in milliseconds; each call counts one more failure. */
  nextMs(): number {
    const ceiling = Math.min(this.options.maxMs, this.options.firstMs * 2 ** Math.min(this.failures, 30));
    this.failures += 1;
    return this.random.next() * ceiling;
  }

  /** After a success: the next failure starts from the first step again. */
  reset(): void {
    this.failures = 0;
  }
}
