import type { ICustomPartitioner } from 'kafkajs';
import { PublishError } from '../relay/publisher.ts';
import { javaPartition } from './java-partition.ts';

/** A topic and the partitions of it that a send goes to. */
export type SentTo = ReadonlyMap<string, ReadonlySet<number>>;

/**
 * The Java partitioner, which also notes where each message goes: kafkajs does not say, and its answer has to be held against it (`checkAcks`).
 * For one send at a time; `reset` before each.
 *
 * It refuses a topic whose count of partitions is not the planned one: with another count keys go to other partitions, and the order of an order's updates,
 * which was promised for the life of the topic, is lost in silence. Nothing but this sees the count that is used: readiness asks now and then, and asks others.
 */
export class NotingPartitioner {
  private readonly noted = new Map<string, Set<number>>();

  private readonly planned: ReadonlyMap<string, number>;

  /** `planned`: partitions by topic; a topic that is not in it is taken as it is. */
  constructor(planned: ReadonlyMap<string, number> = new Map()) {
    this.planned = planned;
  }

  get sentTo(): SentTo {
    return this.noted;
  }

  reset(): void {
    this.noted.clear();
  }

  readonly create: ICustomPartitioner = () => (args) => {
    const count = args.partitionMetadata.length;
    const partition = javaPartition(String(args.message.key ?? ''), count);
    const partitions = this.noted.get(args.topic);
    if (partitions !== undefined) {
      partitions.add(partition);
      return partition;
    }
    const planned = this.planned.get(args.topic) ?? count;
    if (planned !== count)
      throw new PublishError('wrong_partitions', `${args.topic} has ${count} partitions, planned are ${planned}`);
    this.noted.set(args.topic, new Set([partition]));
    return partition;
  };
}
