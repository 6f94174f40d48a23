import type { FollowDeps, TopicRecord } from '../../kafka/follow-topic.ts';
import type { KafkaOptions } from '../../kafka/kafka-options.ts';
import { readTopic } from '../../kafka/read-topic.ts';
import { withAdmin } from '../../kafka/with-admin.ts';
import { TopicFold } from './topic-fold.ts';

/** A connection that breaks is made again; a broker that does not come back ends the reading. */
const mostFailures = 5;

export interface FoldDeps extends FollowDeps {
  readonly signal: AbortSignal;
  /** `part`: 0 to 1, by offsets. */
  readonly onProgress: (part: number | undefined, records: number) => void;
}

/** Reads a topic from its first record to its end. Rejects with the last failure when the brokers stay away, and with the signal's reason when it aborts. */
export async function foldTopic(
  deps: FoldDeps,
  options: { readonly kafka: KafkaOptions; readonly topic: string; readonly byPlace: boolean },
): Promise<TopicFold> {
  const { kafka, topic, byPlace } = options;
  const fold = new TopicFold({ byPlace });
  const way = await TopicWay.of(deps, kafka, topic);
  const over = new AbortController();
  let failures = 0;
  let last: unknown;
  const records = readTopic(deps, {
    kafka,
    topic,
    from: 'beginning',
    until: 'end',
    readCommitted: true,
    signal: AbortSignal.any([over.signal, deps.signal]),
    onFailure: (error) => {
      failures += 1;
      last = error;
      if (failures >= mostFailures) over.abort();
    },
  });
  for await (const record of records) {
    fold.take(record);
    way.pass(record);
    if (fold.records % 1_000 === 0) deps.onProgress(way.part, fold.records);
  }
  deps.signal.throwIfAborted();
  if (over.signal.aborted) throw last;
  deps.onProgress(1, fold.records);
  return fold;
}

/** How much of a topic has been passed, by its offsets: a compacted topic has fewer records than that. */
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
