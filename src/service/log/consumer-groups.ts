import type { Admin } from 'kafkajs';
import { inParallel, SingleFlight, withDeadline } from '../../runtime/waiting.ts';
import type { KafkaOptions } from './kafka-options.ts';
import { type AdminDeps, withAdmin } from './with-admin.ts';

/** `atMs`: wall time of Kafka's answer. */
type ConsumersResult =
  | { readonly kind: 'read'; readonly atMs: number; readonly lag: ConsumerLag }
  | { readonly kind: 'unavailable' };

interface ConsumerGroupsDeps extends AdminDeps {
  /** Instead of Kafka, for tests. */
  readonly read?: () => Promise<ConsumerLag>;
}

interface ConsumerGroupsOptions {
  readonly kafka: KafkaOptions;
  readonly topics: readonly string[];
}

/**
 * An answer, also a failure, is good for so long: callers that ask each second cost one look at
 * Kafka in five.
 */
const keptMs = 5_000;
const waitMs = 8_000;
const askMs = 5_000;
const maxGroups = 200;
const width = 8;
const unavailable: ConsumersResult = { kind: 'unavailable' };

/**
 * The consumer groups of the topics with their lag: Kafka is asked once for all callers, at most
 * each 5 s, and each waits for 8 s at most. An admin client is opened for each look and closed
 * after it, so an unwatched service keeps no connection.
 */
export class ConsumerGroups {
  private last: { readonly result: ConsumersResult; readonly monotonicMs: number } | undefined;
  private failing = false;
  private readonly looks = new SingleFlight<ConsumersResult>();
  private readonly deps: ConsumerGroupsDeps;
  private readonly options: ConsumerGroupsOptions;

  constructor(deps: ConsumerGroupsDeps, options: ConsumerGroupsOptions) {
    this.deps = deps;
    this.options = options;
  }

  /** Never rejects. */
  async read(): Promise<ConsumersResult> {
    const { clock } = this.deps;
    if (this.last !== undefined && clock.monotonicMs() - this.last.monotonicMs < keptMs) return this.last.result;
    const look = this.looks.run(() => this.look());
    // A look that is too late for this caller goes on, and becomes the next caller's answer.
    return withDeadline(clock, waitMs, 'asking Kafka for the consumer groups', look).catch(() => unavailable);
  }

  private async look(): Promise<ConsumersResult> {
    const { clock } = this.deps;
    const result = await this.ask();
    this.last = { result, monotonicMs: clock.monotonicMs() };
    return result;
  }

  private async ask(): Promise<ConsumersResult> {
    const { clock, log, read = () => this.askKafka() } = this.deps;
    try {
      const lag = await read();
      this.failing = false;
      return { kind: 'read', atMs: clock.nowMs(), lag };
    } catch (err) {
      if (!this.failing)
        log.warn({ err }, 'Kafka did not show the consumer groups; it is asked again when a caller asks');
      this.failing = true;
      return unavailable;
    }
  }

  private askKafka(): Promise<ConsumerLag> {
    const { kafka, topics } = this.options;
    return withAdmin(this.deps, kafka, (admin) => readConsumerLag(admin, { topics, maxGroups, width }), askMs);
  }
}

interface GroupLag {
  readonly groupId: string;
  readonly topics: readonly {
    readonly topic: string;
    /** Offsets up to the end without a commit by the group. */
    readonly lag: bigint;
    readonly partitions: number;
    /** Partitions without a committed offset: not in `lag`. */
    readonly uncommitted: number;
  }[];
}

export interface ConsumerLag {
  /** By their id, the groups with committed offsets on at least one topic. */
  readonly groups: readonly GroupLag[];
  /** Groups with unreadable offsets: their coordinator moves, or we have no right. */
  readonly unread: readonly string[];
  /** Groups beyond `maxGroups`. */
  readonly notAsked: number;
}

interface ConsumerLagOptions {
  readonly topics: readonly string[];
  /** Each group costs two requests. */
  readonly maxGroups: number;
  readonly width: number;
}

type Committed = Awaited<ReturnType<Admin['fetchOffsets']>>;
type Ends = ReadonlyMap<number, { readonly low: bigint; readonly high: bigint }>;

/**
 * The consumer groups' lag on these topics. The groups' offsets are read before the topics' ends,
 * so the lag is never shown too small. Rejects when the topics can't be read.
 */
export async function readConsumerLag(
  admin: Pick<Admin, 'listGroups' | 'fetchOffsets' | 'fetchTopicOffsets'>,
  { topics, maxGroups, width }: ConsumerLagOptions,
): Promise<ConsumerLag> {
  const { groups } = await admin.listGroups();
  // Groups of other kinds (connect, share) have no such offsets; a group that only commits has no
  // kind.
  const ids = groups
    .filter(({ protocolType }) => ['consumer', ''].includes(protocolType))
    .map(({ groupId }) => groupId);
  const asked = [...new Set(ids)].sort().slice(0, maxGroups);
  const committed = new Map<string, Committed>();
  const unread: string[] = [];
  await inParallel(asked, width, async (groupId) => {
    try {
      committed.set(groupId, await admin.fetchOffsets({ groupId, topics: [...topics] }));
    } catch {
      unread.push(groupId);
    }
  });
  const ends = new Map<string, Ends>();
  await inParallel(topics, width, async (topic) => {
    const offsets = await admin.fetchTopicOffsets(topic);
    ends.set(
      topic,
      new Map(offsets.map(({ partition, low, high }) => [partition, { low: BigInt(low), high: BigInt(high) }])),
    );
  });
  const lags = asked.map((groupId) => ({ groupId, topics: lagsOf(topics, committed.get(groupId) ?? [], ends) }));
  return {
    groups: lags.filter((group) => group.topics.length > 0),
    unread: unread.sort(),
    notAsked: new Set(ids).size - asked.length,
  };
}

/** Only topics with a commit by the group. */
function lagsOf(topics: readonly string[], committed: Committed, ends: ReadonlyMap<string, Ends>): GroupLag['topics'] {
  return topics.flatMap((topic) => {
    const of = committed.find((each) => each.topic === topic);
    const offsets = new Map(of?.partitions.map(({ partition, offset }) => [partition, BigInt(offset)]));
    const partitions = [...(ends.get(topic) ?? [])].map(([partition, end]) =>
      lagOf(offsets.get(partition) ?? -1n, end),
    );
    const known = partitions.filter((lag) => lag !== undefined);
    if (known.length === 0) return [];
    const lag = known.reduce((sum, each) => sum + each, 0n);
    return [{ topic, lag, partitions: partitions.length, uncommitted: partitions.length - known.length }];
  });
}

/**
 * Undefined: nothing was committed. Records removed by retention can't be read any more, and are no
 * lag.
 */
function lagOf(committed: bigint, { low, high }: { readonly low: bigint; readonly high: bigint }): bigint | undefined {
  if (committed < 0n) return undefined;
  const from = committed < low ? low : committed;
  return from > high ? 0n : high - from;
}
