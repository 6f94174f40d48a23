import type { Clock } from '../runtime/clock.ts';
import type { AccountProbes } from './account-probes.ts';
import { type Declined, declined, orderNotFound } from './check-submission.ts';
import type { CommandOptions } from './command-options.ts';
import type { Submission } from './commands.ts';
import { runProbe } from './run-probe.ts';
import { TokenBucket } from './token-bucket.ts';

/**
 * Asks the platform whose order it is that a cancel names and nobody here has seen. Anything may be named: what is not shown on that account is not cancelled
 * (docs/decisions/022-an-unseen-order-is-read-before-it-is-cancelled.md).
 *
 * Invariant: no more reads than the bucket gives tokens, which is one of their own, of the size of that for probes: random ids take nothing from the commands that are
 * in doubt. What a read has shown is committed when it is done, so that the checks see it.
 */
export class UnseenOrders {
  private readonly bucket: TokenBucket;
  private readonly deps: { readonly probes: Pick<AccountProbes, 'readOrder'>; readonly clock: Clock };
  private readonly options: Pick<CommandOptions, 'probes' | 'deadlineMs'>;

  constructor(deps: UnseenOrders['deps'], options: UnseenOrders['options']) {
    this.deps = deps;
    this.options = options;
    this.bucket = new TokenBucket(deps.clock, options.probes);
  }

  /** Why the cancel is not sent; undefined: the order was shown. Never rejects. */
  async objection(request: Extract<Submission['request'], { kind: 'cancel' }>, stop: AbortSignal): Promise<Declined | undefined> {
    const { probes } = this.deps;
    const { bucket } = this;
    const { stream, accountId, orderId } = request;
    if (!bucket.take()) return declined('RATE_LIMITED', 'too many orders that were never seen are asked for', bucket.waitMs());
    const budget = { spend: () => {}, mayRepeat: () => bucket.take() };
    const limits = { deadlineMs: this.options.deadlineMs, stop };
    const result = await runProbe(this.deps, (signal) => probes.readOrder(stream, accountId, orderId, signal, budget), limits);
    if (result.kind === 'failed')
      return declined('SOURCE_NOT_LIVE', 'the order was never seen here, and could not be read just now', 1_000);
    return result.shown.includes(orderId) ? undefined : orderNotFound;
  }
}
