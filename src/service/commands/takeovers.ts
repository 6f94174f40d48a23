import type { Clock } from '../../runtime/clock.ts';

/**
 * A request waits for this part in `leaseExpireMs`. A process forwarding the request gives up after
 * 0.8 (`rest-parts.ts`): the rest is left for the request itself.
 */
const waitPart = 0.6;

/**
 * This process's shards, as long as it has not taken their commands over. Their accounts are shown
 * as live by then, so a caller may be there before us: its request waits instead of being declined.
 * No more requests wait than REST has connections.
 */
export class Takeovers {
  private readonly underWay = new Map<number, AbortController>();
  private readonly clock: Clock;
  private readonly waitMs: number;

  constructor(clock: Clock, { leaseExpireMs }: { readonly leaseExpireMs: number }) {
    this.clock = clock;
    this.waitMs = leaseExpireMs * waitPart;
  }

  begin(shard: number): void {
    if (!this.underWay.has(shard)) this.underWay.set(shard, new AbortController());
  }

  /** It is done, or will not be. */
  end(shard: number): void {
    this.underWay.get(shard)?.abort();
    this.underWay.delete(shard);
  }

  endAll(): void {
    for (const shard of [...this.underWay.keys()]) this.end(shard);
  }

  get shards(): readonly number[] {
    return [...this.underWay.keys()];
  }

  /** Does the work at once, or after the shard's takeover. */
  after<T>(shard: number, work: () => Promise<T>): Promise<T> {
    return this.ended(shard)?.then(work) ?? work();
  }

  /** Resolves when the takeover has ended in any way, or time is up. Undefined: there is none. */
  ended(shard: number): Promise<void> | undefined {
    const takeover = this.underWay.get(shard);
    return takeover && this.clock.sleep(this.waitMs, takeover.signal);
  }
}
