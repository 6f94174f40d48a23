import type { ICustomPartitioner, RecordMetadata } from 'kafkajs';
import { javaPartition } from '../../../domain/partition.ts';
import { PublishError } from '../publisher.ts';

/** The partitions that a send goes to, by topic. */
type SentTo = ReadonlyMap<string, ReadonlySet<number>>;

/**
 * The partitioner of the Java client, so that other producers and stream joins agree with us. It
 * also records the partition of each message: kafkajs does not report it, and the answer of a send
 * has to be compared with it (`checkAcks`). For one send at a time; `reset` before each.
 *
 * It refuses a topic whose count of partitions is not the planned one: with another count, keys go
 * to other partitions, and the sequence of an order's updates, which was promised for the life of
 * the topic, is lost silently. Only this class sees the count that is used: readiness asks at
 * intervals, and may ask other brokers.
 */
export class NotingPartitioner {
  private readonly noted = new Map<string, Set<number>>();

  private readonly planned: ReadonlyMap<string, number>;

  /** `planned`: partitions by topic; a topic that is missing in it is accepted with any count. */
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

/**
 * kafkajs once resolved a send whose answer lacked a partition (a leader had moved and its retry
 * skipped the rest), and the records were lost. So each partition that was sent to must be in the
 * answer, with error 0. Throws `PublishError` `missing_ack`.
 */
export function checkAcks(sentTo: SentTo, answer: readonly RecordMetadata[]): void {
  if (sentTo.size === 0) throw new PublishError('missing_ack', 'nothing was sent');
  for (const [topic, partitions] of sentTo) {
    for (const partition of partitions) {
      const ack = answer.find((one) => one.topicName === topic && one.partition === partition);
      if (ack === undefined)
        throw new PublishError('missing_ack', `no acknowledgement for ${topic} partition ${partition}`);
      if (ack.errorCode !== 0)
        throw new PublishError('missing_ack', `${topic} partition ${partition} answered error ${ack.errorCode}`);
    }
  }
}
