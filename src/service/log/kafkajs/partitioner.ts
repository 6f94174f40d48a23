import type { ICustomPartitioner, RecordMetadata } from 'kafkajs';
import { javaPartition } from '../../../domain/partition.ts';
import { PublishError } from '../publisher.ts';

/** By topic, the partitions used in a send. */
type SentTo = ReadonlyMap<string, ReadonlySet<number>>;

/**
 * The Java client's partitioner, so that other producers and stream joins agree with us. It also
 * records each message's partition: kafkajs does not report it, and `checkAcks` compares it with
 * the answer. For one send at a time; `reset` before each.
 *
 * It refuses a topic with another count of partitions than planned. With another count, keys go to
 * other partitions: the sequence of an order's updates was promised for the topic's life, and would
 * be lost silently. Only this class sees the count in use: readiness asks at intervals, and may ask
 * other brokers.
 */
export class NotingPartitioner {
  private readonly noted = new Map<string, Set<number>>();
  /** The leaders of partitions named by messages. Undefined: no message names one. */
  private carriers: Set<number> | undefined;
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
    this.carriers = undefined;
  }

  /**
   * Messages with a partition of their own come first. Each later one must go to the broker of one
   * of them: its leader may have changed since the choice.
   */
  readonly create: ICustomPartitioner = () => (args) => {
    const count = args.partitionMetadata.length;
    const named = args.message.partition;
    const partition = named ?? javaPartition(String(args.message.key ?? ''), count);
    const leader = args.partitionMetadata.find(({ partitionId }) => partitionId === partition)?.leader ?? -1;
    if (named !== undefined) this.carriers = (this.carriers ?? new Set()).add(leader);
    else if (this.carriers?.has(leader) === false)
      throw new PublishError('not_leader', `${args.topic} partition ${partition} has another leader since`);
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
 * kafkajs once resolved a send although its answer lacked a partition (a leader had moved, and its
 * retry skipped the rest), and the records were lost. So each partition in the send must be in the
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
