import type { ICustomPartitioner } from 'kafkajs';
import { javaPartition } from './java-partition.ts';

/** A topic and the partitions of it that a send goes to. */
export type SentTo = ReadonlyMap<string, ReadonlySet<number>>;

/**
 * The Java partitioner, which also notes where each message goes: kafkajs does not tell, and its answer has to be held against it (`checkAcks`).
 * For one send at a time; `reset` before each.
 */
export class NotingPartitioner {
  private readonly noted = new Map<string, Set<number>>();

  get sentTo(): SentTo {
    return this.noted;
  }

  reset(): void {
    this.noted.clear();
  }

  readonly create: ICustomPartitioner = () => (args) => {
    const partition = javaPartition(String(args.message.key ?? ''), args.partitionMetadata.length);
    const partitions = this.noted.get(args.topic);
    if (partitions === undefined) this.noted.set(args.topic, new Set([partition]));
    else partitions.add(partition);
    return partition;
  };
}
