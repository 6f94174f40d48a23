import { Kafka, logLevel, Partitioners } from 'kafkajs';
import type { LogRow } from '../src/domain/committed-batch.ts';
import { kafkaDefaults } from '../src/service/log/kafka-options.ts';
import { quietThrottleTimer } from '../src/service/log/kafkajs/kafka-client.ts';
import type { Bench, Figure } from './figure.ts';

const perSend = 500;

type Send = (rows: readonly LogRow[]) => Promise<unknown>;

/**
 * Bare kafkajs with rows of a real run: `acks: -1`, not idempotent, its own partitioner, 12
 * partitions, sends of 500, one in flight.
 */
export async function measureBareKafka({ stack, real, seconds }: Bench): Promise<Figure[]> {
  const topic = await stack.makeTopic('kafka');
  quietThrottleTimer();
  const { clientId, connectTimeoutMs: connectionTimeout, requestTimeoutMs: requestTimeout } = kafkaDefaults;
  const kafka = new Kafka({
    ...{ clientId, connectionTimeout, requestTimeout },
    brokers: [...stack.kafka.brokers],
    logLevel: logLevel.NOTHING,
    retry: { retries: 0 },
  });
  const createPartitioner = Partitioners.DefaultPartitioner;
  const producer = kafka.producer({ idempotent: false, allowAutoTopicCreation: false, createPartitioner });
  await producer.connect();
  const send: Send = (rows) =>
    producer.send({ topic, acks: -1, messages: rows.map(({ key, payload }) => ({ key, value: payload })) });
  try {
    // Compiled and connected before it counts.
    await sendRate(send, real.records, Math.min(2, seconds / 4));
    const value = await sendRate(send, real.records, seconds);
    return [{ name: 'bare kafkajs, records/s', value }];
  } finally {
    await producer.disconnect();
  }
}

async function sendRate(send: Send, rows: readonly LogRow[], seconds: number): Promise<number> {
  const startMs = performance.now();
  // Whole sends only, so that their number tells the records.
  const whole = rows.length - (rows.length % perSend);
  let sends = 0;
  for (let at = 0; performance.now() - startMs < seconds * 1000; at = (at + perSend) % whole) {
    await send(rows.slice(at, at + perSend));
    sends += 1;
  }
  return Math.round((sends * perSend * 1000) / (performance.now() - startMs));
}
