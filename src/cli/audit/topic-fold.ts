import { abortWith } from '../../runtime/waiting.ts';
import type { FollowDeps, Jump, TopicRecord } from '../../service/log/follow-topic.ts';
import type { KafkaOptions } from '../../service/log/kafka-options.ts';
import { comparePositions, type UpdatePosition, updatePosition } from '../../service/log/newest-records.ts';
import { readTopic } from '../../service/log/read-topic.ts';
import { withAdmin } from '../../service/log/with-admin.ts';

/** A record that is not an update of ours, or a tombstone. */
export interface StrayRecord {
  readonly kind: 'tombstone' | 'foreign';
  readonly partition: number;
  readonly offset: bigint;
}

/**
 * Above it strays of further keys are only counted: a topic that
 * another program writes to may be full of them.
 */
const maxStrays = 1_000;

/**
 * The newest update of each order on a topic, by the rule of docs/consuming.md or, for the
 * compacted topic, by place: compaction keeps the last record. About 200 bytes for each order.
 */
export class TopicFold {
  records = 0;
  readonly newest = new Map<string, UpdatePosition>();
  /**
   * By order: the revision that is missing, where a first
   * occurrence did not follow the revision before.
   */
  readonly holes = new Map<string, number>();
  /**
   * By key. On the compacted topic such a record replaces the state before it,
   * until a later update of its key replaces it.
   */
  readonly strays = new Map<string, StrayRecord>();
  /** Those that found no room in `strays`. */
  unlistedStrays = 0;
  /** For each partition whose first records are gone: the time of its oldest record. */
  private readonly cutAtMs = new Map<number, number>();
  private readonly seen = new Set<number>();
  private readonly byPlace: boolean;

  constructor(options: { readonly byPlace: boolean }) {
    this.byPlace = options.byPlace;
  }

  /**
   * Records written before this, milliseconds since the epoch, may have been deleted by the topic's
   * own retention. 0: none were.
   */
  get keptSinceMs(): number {
    return Math.max(0, ...this.cutAtMs.values());
  }

  addRecord({ partition, offset, key, value, timestampMs }: TopicRecord): void {
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

/** A connection that breaks is made again; a broker that does not come back ends the reading. */
const mostFailures = 5;

export interface FoldDeps extends FollowDeps {
  readonly signal: AbortSignal;
  /** `part`: 0 to 1, by offsets. */
  readonly onProgress: (part: number | undefined, records: number) => void;
}

/**
 * Reads a topic from its first record to its end. Rejects with the last failure when the brokers
 * stay unreachable, and with the signal's reason when it aborts.
 */
export async function foldTopic(
  deps: FoldDeps,
  options: { readonly kafka: KafkaOptions; readonly topic: string; readonly byPlace: boolean },
): Promise<TopicFold> {
  const { kafka, topic, byPlace } = options;
  const fold = new TopicFold({ byPlace });
  const way = await TopicWay.of(deps, kafka, topic);
  const over = new AbortController();
  using either = abortWith(over.signal, deps.signal);
  let failures = 0;
  let last: unknown;
  const gone: Jump[] = [];
  const records = readTopic(deps, {
    kafka,
    topic,
    from: 'beginning',
    until: 'end',
    readCommitted: true,
    signal: either.signal,
    onFailure: (error) => {
      failures += 1;
      last = error;
      if (failures >= mostFailures) over.abort();
    },
    onJump: (jump) => gone.push(jump),
  });
  for await (const record of records) {
    if (gone.length > 0) break;
    fold.addRecord(record);
    way.pass(record);
    if (fold.records % 1_000 === 0) deps.onProgress(way.part, fold.records);
  }
  deps.signal.throwIfAborted();
  if (over.signal.aborted) throw last;
  // A fold of what is left would show orders as missing, or miss some that are.
  const [jump] = gone;
  if (jump !== undefined)
    throw new Error(`${topic}: records of partition ${jump.partition} were deleted while they were read; begin again`);
  deps.onProgress(1, fold.records);
  return fold;
}

/**
 * How much of a topic was read, by its offsets: a compacted topic has fewer records than offsets.
 */
class TopicWay {
  private passed = 0;
  private readonly next = new Map<number, number>();
  private readonly whole: number;

  private constructor(offsets: readonly { readonly partition: number; readonly low: string; readonly high: string }[]) {
    for (const { partition, low } of offsets) this.next.set(partition, Number(low));
    this.whole = offsets.reduce((sum, { low, high }) => sum + Number(high) - Number(low), 0);
  }

  static async of(deps: FollowDeps, kafka: KafkaOptions, topic: string): Promise<TopicWay> {
    return new TopicWay(await withAdmin(deps, kafka, (admin) => admin.fetchTopicOffsets(topic)));
  }

  get part(): number {
    return Math.min(1, this.passed / Math.max(1, this.whole));
  }

  pass({ partition, offset }: TopicRecord): void {
    const next = Number(offset) + 1;
    this.passed += next - (this.next.get(partition) ?? next - 1);
    this.next.set(partition, next);
  }
}
