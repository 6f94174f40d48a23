import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Kafka, logLevel, Partitioners } from 'kafkajs';
import { pino } from 'pino';
import { startKafka } from '../src/demo/devstack/start-kafka.ts';
import type { LogRow } from '../src/domain/committed-batch.ts';
import { createMetrics } from '../src/observability/metrics.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { systemRandom } from '../src/runtime/random.ts';
import { type KafkaOptions, kafkaDefaults } from '../src/service/log/kafka-options.ts';
import { quietThrottleTimer } from '../src/service/log/kafkajs/kafka-client.ts';
import { LogPublisher, logPublisherDefaults } from '../src/service/log/log-publisher.ts';
import { applyTopics, planTopics } from '../src/service/log/plan-topics.ts';
import { topicNames, topicSpecs } from '../src/service/log/topics.ts';
import { withAdmin } from '../src/service/log/with-admin.ts';
import { percentile } from './percentile.ts';

const log = pino({ level: 'warn' }, pino.destination(2));
const perSend = 500;
const keys = 5000;

export interface KafkaPathOptions {
  readonly brokers: readonly string[];
  readonly seconds: number;
  /** Of the records that are made up. */
  readonly payloadBytes: number;
  /** What is sent, in turn: rows of a real run. */
  readonly rows?: readonly LogRow[];
}

export interface KafkaPathFigures {
  readonly messagesPerSecond: number;
  readonly messages: number;
  readonly payloadBytes: number;
  readonly sendP50Ms: number;
  readonly sendP99Ms: number;
  /** This process, user and system. */
  readonly nodeMicrosPerMessage: number;
}

type Send = (rows: readonly LogRow[]) => Promise<void>;

/**
 * Bare kafkajs to the log topic (12 partitions, as planned): `acks: -1`, not
 * idempotent, its own partitioner, sends of 500, one in flight. The topic is the
 * measurement's own, and is deleted afterwards.
 */
export function measureKafkaPath(options: KafkaPathOptions): Promise<KafkaPathFigures> {
  return onFreshTopic(options, async (kafka, topic) => {
    quietThrottleTimer();
    const { clientId, connectTimeoutMs, requestTimeoutMs } = kafka;
    const settings = { clientId, connectionTimeout: connectTimeoutMs, requestTimeout: requestTimeoutMs };
    const client = new Kafka({
      ...settings,
      brokers: [...kafka.brokers],
      logLevel: logLevel.NOTHING,
      retry: { retries: 0 },
    });
    const producer = client.producer({
      idempotent: false,
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
    });
    await producer.connect();
    const send: Send = async (rows) => {
      await producer.send({ topic, acks: -1, messages: rows.map(({ key, payload }) => ({ key, value: payload })) });
    };
    return { send, close: () => producer.disconnect() };
  });
}

/** The same records through our own publisher, with everything that it checks. */
export function measureLogPublisher(options: KafkaPathOptions): Promise<KafkaPathFigures> {
  return onFreshTopic(options, async (kafka, topic) => {
    const publisher = new LogPublisher(
      { clock: systemClock, log, metrics: createMetrics().relay },
      { ...logPublisherDefaults, kafka, topics: { updates: topic, continuity: topic } },
    );
    return { send: (rows) => publisher.publish(rows), close: () => publisher.close() };
  });
}

async function onFreshTopic(
  { brokers, seconds, payloadBytes, rows = sampleRows(payloadBytes) }: KafkaPathOptions,
  open: (kafka: KafkaOptions, topic: string) => Promise<{ send: Send; close(): Promise<void> }>,
): Promise<KafkaPathFigures> {
  const kafka: KafkaOptions = { ...kafkaDefaults, brokers };
  const names = topicNames(`bench-${systemRandom.uuid().slice(0, 8)}.`);
  const specs = topicSpecs(names).filter(({ name }) => name === names.updates);
  const deps = { clock: systemClock, log };
  await withAdmin(deps, kafka, async (admin) => applyTopics(admin, await planTopics(admin, specs), systemClock));
  const { send, close } = await open(kafka, names.updates);
  try {
    // Compiled and connected before it counts.
    await drive(send, rows, Math.min(2, seconds / 4));
    return { ...(await drive(send, rows, seconds)), payloadBytes: meanBytes(rows) };
  } finally {
    await close();
    await withAdmin(deps, kafka, (admin) => admin.deleteTopics({ topics: [names.updates] }));
  }
}

async function drive(
  send: Send,
  rows: readonly LogRow[],
  seconds: number,
): Promise<Omit<KafkaPathFigures, 'payloadBytes'>> {
  const sendMs: number[] = [];
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  // Whole sends only, so that their number tells the messages.
  const whole = rows.length - (rows.length % perSend);
  for (let at = 0; performance.now() - startMs < seconds * 1000; at = (at + perSend) % whole) {
    const beforeMs = performance.now();
    await send(rows.slice(at, at + perSend));
    sendMs.push(performance.now() - beforeMs);
  }
  const elapsedMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpu);
  const messages = sendMs.length * perSend;
  const quantile = (q: number) => Number(percentile(sendMs, q).toFixed(1));
  return {
    messagesPerSecond: Math.round((messages / elapsedMs) * 1000),
    messages,
    sendP50Ms: quantile(0.5),
    sendP99Ms: quantile(0.99),
    nodeMicrosPerMessage: Number(((user + system) / messages).toFixed(1)),
  };
}

function meanBytes(rows: readonly LogRow[]): number {
  return Math.round(rows.reduce((sum, { payload }) => sum + Buffer.byteLength(payload), 0) / rows.length);
}

/** JSON-like text of the wanted size, a different order in each row. */
function sampleRows(payloadBytes: number): LogRow[] {
  return Array.from({ length: keys }, (_, i) => {
    const key = `prediction:7d9f0a52-4c1e-4a53-9d0e-${String(i).padStart(12, '0')}`;
    const head = `{"eventId":"${key}:1","schema":"tidemark.order-update.v1","filler":"`;
    return { topic: 'updates', key, payload: `${head}${'x'.repeat(Math.max(0, payloadBytes - head.length - 2))}"}` };
  });
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      brokers: { type: 'string' },
      seconds: { type: 'string', default: '10' },
      payload: { type: 'string', default: '1200' },
    },
  });
  const cacheDir = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'tidemark');
  const kafka = await startKafka({ clock: systemClock, log, cacheDir, givenBrokers: values.brokers?.split(',') ?? [] });
  try {
    const options = { brokers: kafka.brokers, seconds: Number(values.seconds), payloadBytes: Number(values.payload) };
    const bare = await measureKafkaPath(options);
    const ours = await measureLogPublisher(options);
    console.log(JSON.stringify({ bare, ours }, null, 2));
  } finally {
    await kafka.stop();
  }
}
