import type { Update } from './parse-update.ts';

/** About 10 MB. An order that was forgotten shows a repeat as if it were new, which a repeat never is for long. */
const remembered = 100_000;

/**
 * Drops repeats as the topic's contract asks of every consumer: what is not above the highest (generation, revision) of its order was
 * there before.
 *
 * Invariant: remembers the orders updated last, at most `limit` of them.
 */
export class FirstOccurrences {
  private readonly newest = new Map<string, { readonly generation: number; readonly revision: number }>();
  private readonly limit: number;

  constructor(limit = remembered) {
    this.limit = limit;
  }

  isFirst({ stream, orderId, generation, revision }: Pick<Update, 'stream' | 'orderId' | 'generation' | 'revision'>): boolean {
    const key = `${stream}:${orderId}`;
    const known = this.newest.get(key);
    if (known !== undefined && (generation < known.generation || (generation === known.generation && revision <= known.revision)))
      return false;
    // Set anew, so that the map's order is the order of the last update.
    this.newest.delete(key);
    this.newest.set(key, { generation, revision });
    if (this.newest.size > this.limit) {
      const [oldest] = this.newest.keys();
      if (oldest !== undefined) this.newest.delete(oldest);
    }
    return true;
  }
}
