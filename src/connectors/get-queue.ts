import type { Stream } from '../domain/order.ts';
import type { Log } from '../observability/log.ts';
import type { OrderReads } from '../platform/order-reads.ts';
import type { Clock } from '../runtime/clock.ts';
import type { RowIntake } from './row-intake.ts';

const maxQueued = 1_000;

/**
 * Orders to be asked for once each: a frame of theirs could not be read. Several requests for one order before its turn are one; beyond 1,000 they are
 * left to the audit.
 */
export class GetQueue {
  private readonly queued = new Set<string>();
  private readonly deps: { readonly reads: OrderReads; readonly intake: RowIntake; readonly clock: Clock; readonly log: Log };
  private readonly options: { readonly stream: Stream; readonly signal: AbortSignal };
  private readonly accountId: string;
  private readonly serially: (work: () => Promise<void>) => Promise<void>;

  constructor(
    deps: { reads: OrderReads; intake: RowIntake; clock: Clock; log: Log },
    options: { stream: Stream; signal: AbortSignal },
    accountId: string,
    serially: (work: () => Promise<void>) => Promise<void>,
  ) {
    this.deps = deps;
    this.options = options;
    this.accountId = accountId;
    this.serially = serially;
  }

  ask(orderId: string): void {
    if (this.queued.has(orderId) || this.queued.size >= maxQueued || this.options.signal.aborted) return;
    this.queued.add(orderId);
    void this.serially(() => this.get(orderId));
  }

  private async get(orderId: string): Promise<void> {
    this.queued.delete(orderId);
    const { reads, intake, clock, log } = this.deps;
    const { stream, signal } = this.options;
    // The complete read that ends the suspension shows every order.
    if (signal.aborted || intake.suspended) return;
    const asked = intake.mark;
    const answer = await reads.getOrder(stream, this.accountId, orderId, signal);
    if (answer.kind === 'failed') log.warn({ stream, orderId, code: answer.error.code }, 'an order could not be asked for');
    if (answer.kind !== 'found') return;
    const { row, bytes } = answer;
    intake.take(row, { cause: 'snapshot', receivedMs: clock.monotonicMs(), bytes, raw: () => JSON.stringify(row), asked });
  }
}
