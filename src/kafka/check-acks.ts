import type { RecordMetadata } from 'kafkajs';
import { PublishError } from '../relay/publisher.ts';
import type { SentTo } from './noting-partitioner.ts';

/**
 * kafkajs has resolved a send whose answer lacked a partition (a leader had moved and its retry skipped the rest), and the records were gone. So each
 * partition that was sent to must stand in the answer, with error 0. Throws `PublishError` `missing_ack`.
 */
export function checkAcks(sentTo: SentTo, answer: readonly RecordMetadata[]): void {
  if (sentTo.size === 0) throw new PublishError('missing_ack', 'nothing was sent');
  for (const [topic, partitions] of sentTo) {
    for (const partition of partitions) {
      const ack = answer.find((one) => one.topicName === topic && one.partition === partition);
      if (ack === undefined) throw new PublishError('missing_ack', `no acknowledgement for ${topic} partition ${partition}`);
      if (ack.errorCode !== 0)
        throw new PublishError('missing_ack', `${topic} partition ${partition} answered error ${ack.errorCode}`);
    }
  }
}
