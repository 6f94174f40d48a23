import { createRequire } from 'node:module';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { CheckpointReader } from '../../../src/service/log/checkpoint-reader.ts';
import { hiddenCluster } from '../../../src/service/log/kafkajs/hidden-cluster.ts';
import { openKafkaClient } from '../../../src/service/log/kafkajs/kafka-client.ts';
import { checkpointing } from '../../support/orders/checkpointing.ts';
import { eventually } from '../../support/runs/poll.ts';
import { freshTopics, kafkaDeps, kafkaOptions } from '../../support/servers/kafka-fixture.ts';

interface Encoder {
  writeString(text: string): Encoder;
  writeBoolean(value: boolean): Encoder;
  writeDouble(value: number): Encoder;
  writeArray(items: readonly Encoder[]): Encoder;
}

interface Cluster {
  connect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  findControllerBroker(): Promise<{ readonly connectionPool: { send(protocol: object): Promise<unknown> } }>;
}

const Encoder = createRequire(import.meta.url)('kafkajs/src/protocol/encoder') as new () => Encoder;

/** The bytes that a client may read in a second; left out: any. kafkajs has no such call. */
async function setReadQuota(brokers: readonly string[], clientId: string, bytes?: number): Promise<void> {
  const client = openKafkaClient(kafkaOptions(brokers), kafkaDeps);
  const cluster = hiddenCluster<Cluster>(client.kafka, {});
  const entity = new Encoder().writeString('client-id').writeString(clientId);
  const quota = new Encoder()
    .writeString('consumer_byte_rate')
    .writeDouble(bytes ?? 0)
    .writeBoolean(bytes === undefined);
  const encode = async () =>
    new Encoder().writeArray([new Encoder().writeArray([entity]).writeArray([quota])]).writeBoolean(false);
  const request = { apiKey: 49, apiVersion: 0, apiName: 'AlterClientQuotas', encode };
  // The time of throttling, the number of entries, and the code of the first.
  const parse = async (answer: Buffer) => expect(answer.readInt16BE(8)).toBe(0);
  try {
    await cluster.connect();
    await cluster.refreshMetadata();
    const { connectionPool } = await cluster.findControllerBroker();
    await connectionPool.send({ request, response: { decode: async (answer: Buffer) => answer, parse } });
  } finally {
    client.retire();
  }
}

describe('issue: Lost commits went unnoticed where Kafka limits the bytes that the service may read.', () => {
  const brokers = inject('kafkaBrokers');

  it('a read without an answer about its partitions is no read of an empty topic', async () => {
    const topics = await freshTopics(brokers);
    await checkpointing(brokers, topics).send(1n);
    const kafka = { ...kafkaOptions(brokers), clientId: topics.checkpoint };
    const reader = new CheckpointReader(kafkaDeps, { kafka, topic: topics.checkpoint, deadlineMs: 2_000 });
    await setReadQuota(brokers, kafka.clientId, 1);
    onTestFinished(() => setReadQuota(brokers, kafka.clientId));
    await expect(reader.read()).rejects.toThrow(/took longer|timed out/);
    await setReadQuota(brokers, kafka.clientId);
    await eventually(async () => expect(await reader.read()).toEqual([expect.objectContaining({ batch: 1n })]));
  });
});
