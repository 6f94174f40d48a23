import type { TopicRecord } from '../../kafka/follow-topic.ts';
import { comparePositions, type UpdatePosition, updatePosition } from '../../kafka/update-position.ts';

/** A record that is no update of ours, or a tombstone. */
export interface StrayRecord {
  readonly kind: 'tombstone' | 'foreign';
  readonly partition: number;
  readonly offset: bigint;
}

/** Beyond it strays of further keys are only counted: a topic that another program writes to may be full of them. */
const maxStrays = 1_000;

/**
 * The newest update of each order on a topic, by the rule of docs/consuming.md or, for the compacted topic, by place: what stands last is what compaction keeps.
 * About 200 bytes an order.
 */
export class TopicFold {
  records = 0;
  readonly newest = new Map<string, UpdatePosition>();
  /** Orders with a first occurrence that did not follow the revision before: the revision that is missing. */
  readonly holes = new Map<string, number>();
  /** By key. On the compacted topic such a record takes the place of the state before it, until a later update of its key takes its own. */
  readonly strays = new Map<string, StrayRecord>();
  /** Those that found no room there. */
  unlistedStrays = 0;
  /** Of each partition whose first records are gone: the time of the oldest that is left. */
  private readonly cutAtMs = new Map<number, number>();
  private readonly seen = new Set<number>();
  private readonly byPlace: boolean;

  constructor(options: { readonly byPlace: boolean }) {
    this.byPlace = options.byPlace;
  }

  /** What was written before this, milliseconds since the epoch, may have been deleted by the topic's own retention. 0: nothing was. */
  get keptSinceMs(): number {
    return Math.max(0, ...this.cutAtMs.values());
  }

  take({ partition, offset, key, value, timestampMs }: TopicRecord): void {
    if (!this.seen.has(partition) && offset > 0n) this.cutAtMs.set(partition, timestampMs);
    this.seen.add(partition);
    const position = updatePosition(value ?? '');
    if (position === undefined) {
      this.stray({ key, value, partition, offset });
      return;
    }
    this.records += 1;
    if (this.byPlace) this.strays.delete(key);
    const known = this.newest.get(key);
    if (this.byPlace || known === undefined) {
      this.newest.set(key, position);
      return;
    }
    if (comparePositions(position, known) <= 0) return;
    if (position.generation === known.generation && position.revision > known.revision + 1)
      this.holes.set(key, known.revision + 1);
    this.newest.set(key, position);
  }

  private stray({ key, value, partition, offset }: Pick<TopicRecord, 'key' | 'value' | 'partition' | 'offset'>): void {
    if (this.byPlace) this.newest.delete(key);
    if (this.strays.size < maxStrays || this.strays.has(key))
      this.strays.set(key, { kind: value === undefined ? 'tombstone' : 'foreign', partition, offset });
    else this.unlistedStrays += 1;
  }
}
