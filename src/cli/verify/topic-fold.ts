import { abortWith } from '../../runtime/waiting.ts';
import type { FollowDeps, Jump, TopicRecord } from '../../service/log/follow-topic.ts';
import type { KafkaOptions } from '../../service/log/kafka-options.ts';
import { readTopic } from '../../service/log/read-topic.ts';
import { comparePositions, type UpdatePosition, updatePosition } from '../../service/log/update-position.ts';
import { withAdmin } from '../../service/log/with-admin.ts';

/** A foreign record, or a tombstone. */
export interface StrayRecord {
  readonly kind: 'tombstone' | 'foreign';
  readonly partition: number;
  readonly offset: bigint;
}

/**
 * Above it, strays with further keys are only counted: another program may write to the topic all
 * the time.
 */
const maxStrays = 1_000;

/**
 * Each order's newest update on a topic: by the rule in docs/consuming.md, or on the compacted
 * topic by place, since compaction keeps the last record. About 200 bytes an order.
 */
export class TopicFold {
  records = 0;
  readonly newest = new Map<string, UpdatePosition>();
  /** By order: the missing revision, if a first occurrence did not follow the one before. */
  readonly holes = new Map<string, number>();
  /**
   * By key. On the compacted topic such a record replaces the state before it, until the next
   * update with its key.
   */
  readonly strays = new Map<string, StrayRecord>();
  /** Those without room in `strays`. */
  unlistedStrays = 0;
  /** For each partition without its first records: the time of its oldest one. */
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

  addRecord(record: TopicRecord): void {
    const { partition, offset, key, value, timestampMs } = record;
    if (!this.seen.has(partition) && offset > 0n) this.cutAtMs.set(partition, timestampMs);
    this.seen.add(partition);
    const position = updatePosition(value ?? '');
    if (position === undefined) {
      this.stray(record);
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

  private stray({ key, value, partition, offset }: TopicRecord): void {
    if (this.byPlace) this.newest.delete(key);
    if (this.strays.size < maxStrays || this.strays.has(key))
      this.strays.set(key, { kind: value === undefined ? 'tombstone' : 'foreign', partition, offset });
    else this.unlistedStrays += 1;
  }
}

/** A broken connection is made again; a broker that stays away ends the reading. */
const mostFailures = 5;

export interface FoldDeps extends FollowDeps {
  readonly signal: AbortSignal;
  /**
   * Progress within the step: 0 to 1, or undefined without a known total; then a count, and the
   * word for its unit.
   */
  readonly onProgress: (part: number | undefined, count: number, word: string) => void;
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
  const way = new TopicWay(await withAdmin(deps, kafka, (admin) => admin.fetchTopicOffsets(topic)));
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
    if (fold.records % 1_000 === 0) deps.onProgress(way.part, fold.records, 'record');
  }
  deps.signal.throwIfAborted();
  if (over.signal.aborted) throw last;
  // A fold of the rest would show orders as missing, or miss some.
  const [jump] = gone;
  if (jump !== undefined)
    throw new Error(`${topic}: records of partition ${jump.partition} were deleted while they were read; begin again`);
  deps.onProgress(1, fold.records, 'record');
  return fold;
}

/** How much was read, by offsets: a compacted topic has fewer records than offsets. */
class TopicWay {
  private passed = 0;
  private readonly next = new Map<number, number>();
  private readonly whole: number;

  constructor(offsets: readonly { readonly partition: number; readonly low: string; readonly high: string }[]) {
    for (const { partition, low } of offsets) this.next.set(partition, Number(low));
    this.whole = offsets.reduce((sum, { low, high }) => sum + Number(high) - Number(low), 0);
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
