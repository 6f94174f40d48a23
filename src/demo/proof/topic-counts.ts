import { createHash } from 'node:crypto';

/** The order, the revision and the content, from a record on the updates topic. */
interface SeenUpdate {
  readonly key: string;
  readonly revision: number;
  readonly payload: string;
}

interface Line {
  /** Highest revision so far. A consumer keeps it. */
  revision: number;
  /** Digest of each revision's payload, to find two contents under one name. */
  readonly digests: Map<number, string>;
  readonly partition: number;
}

/**
 * A consumer that follows the rules in docs/consuming.md and counts every breach.
 *
 * Invariant: `consumed` counts each (order, revision) once; one that comes again with the same
 * content is a repeat, and the guarantee allows it.
 */
export class TopicCounts {
  records = 0;
  repeats = 0;
  /** The same order and revision with other content, or one order in two partitions. */
  contradictions = 0;
  /** A first occurrence that did not follow the revision before it by one. */
  outOfOrder = 0;
  private readonly lines = new Map<string, Line>();

  /** Takes one record as it stands on the topic. `value`: an update's JSON text. */
  addUpdate(partition: number, value: string): SeenUpdate {
    const { stream, orderId, revision } = JSON.parse(value) as { stream: string; orderId: string; revision: number };
    const key = `${stream}:${orderId}`;
    this.records += 1;
    const line = this.lines.get(key) ?? { revision: 0, digests: new Map(), partition };
    this.lines.set(key, line);
    const digest = digestOf(value);
    const known = line.digests.get(revision);
    if (line.partition !== partition || (known !== undefined && known !== digest)) this.contradictions += 1;
    if (known !== undefined) {
      this.repeats += 1;
    } else {
      if (revision !== line.revision + 1) this.outOfOrder += 1;
      line.revision = Math.max(line.revision, revision);
      line.digests.set(revision, digest);
    }
    return { key, revision, payload: value };
  }

  get consumed(): number {
    let count = 0;
    for (const line of this.lines.values()) count += line.digests.size;
    return count;
  }

  /** True when exactly this content was seen under this order and revision. */
  has(key: string, revision: number, payload: string): boolean {
    return this.lines.get(key)?.digests.get(revision) === digestOf(payload);
  }
}

function digestOf(text: string): string {
  return createHash('sha1').update(text).digest('base64');
}
