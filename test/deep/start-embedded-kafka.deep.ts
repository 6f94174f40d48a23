import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Admin, Kafka, logLevel } from 'kafkajs';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { RunningKafka } from '../../src/demo/devstack/running-kafka.ts';
import { type EmbeddedKafkaOptions, startEmbeddedKafka } from '../../src/demo/devstack/start-embedded-kafka.ts';
import { startKafka } from '../../src/demo/devstack/start-kafka.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { eventually } from '../support/runs/poll.ts';
import { testLog } from '../support/runs/test-log.ts';
import { cacheDir } from '../support/servers/cache-dir.ts';
import { forgetHeld, holdDevstack } from '../support/servers/held-devstack.ts';
import { commandLinesWith, lives } from '../support/servers/processes.ts';
import { TcpProxy } from '../support/servers/tcp-proxy.ts';
import { topicPrefix } from '../support/servers/topics.ts';

const deps = { clock: systemClock, log: testLog };

describe('the embedded Kafka', () => {
  const stops: (() => Promise<unknown>)[] = [];

  afterEach(async () => {
    for (const stop of stops.splice(0).toReversed()) await stop();
  });

  async function start(options: Partial<EmbeddedKafkaOptions> = {}): Promise<RunningKafka> {
    const kafka = await startEmbeddedKafka(deps, { cacheDir, ...options });
    stops.push(() => kafka.stop());
    return kafka;
  }

  async function adminOf(brokers: string[]): Promise<Admin> {
    const admin = clientOf(brokers).admin();
    await admin.connect();
    stops.push(() => admin.disconnect());
    return admin;
  }

  it('keeps what it acknowledged over a kill -9 and a restart', async () => {
    const kafka = await start();
    const topic = `${topicPrefix()}kept`;
    const admin = await adminOf(kafka.brokers);
    await admin.createTopics({ topics: [{ topic, numPartitions: 1 }] });
    await produce(kafka.brokers, topic, ['one', 'two']);
    const killed = pidOf(kafka, 1);
    process.kill(killed, 'SIGKILL');
    await kafka.restartNode(1);
    expect(pidOf(kafka, 1)).not.toBe(killed);
    await produce(kafka.brokers, topic, ['three']);
    expect(await admin.fetchTopicOffsets(topic)).toMatchObject([{ partition: 0, high: '3' }]);
    await expect(kafka.restartNode(2)).rejects.toThrow('no node 2');
  });

  it('is a real cluster with two nodes: a killed leader is replaced by the other, and comes back', async () => {
    const kafka = await start({ nodes: 2 });
    expect(kafka.brokers).toHaveLength(2);
    const topic = `${topicPrefix()}moved`;
    const admin = await adminOf(kafka.brokers);
    await admin.createTopics({ topics: [{ topic, replicaAssignment: [{ partition: 0, replicas: [2, 1] }] }] });
    await eventually(async () => expect(await partitionOf(admin, topic)).toMatchObject({ leader: 2, isr: [2, 1] }));
    await produce(kafka.brokers, topic, ['before']);
    process.kill(pidOf(kafka, 2), 'SIGKILL');
    await eventually(async () => expect(await partitionOf(admin, topic)).toMatchObject({ leader: 1, isr: [1] }));
    await produce(kafka.brokers, topic, ['while it is gone']);
    await kafka.restartNode(2);
    await eventually(async () => expect((await partitionOf(admin, topic)).isr.toSorted()).toEqual([1, 2]));
    // Stock kafkajs repeats a record whose answer came too late: at least once is what it promises.
    expect(Number((await admin.fetchTopicOffsets(topic))[0]?.high)).toBeGreaterThanOrEqual(2);
  });

  it('sends clients to a proxy where it was told of one', async () => {
    await using proxy = await TcpProxy.start({ targetPort: 1 });
    const kafka = await start({ advertisedPorts: [proxy.port] });
    proxy.retarget(kafka.nodes[0]?.port ?? 0);
    const topic = `${topicPrefix()}proxied`;
    await (await adminOf(kafka.brokers)).createTopics({ topics: [{ topic, numPartitions: 1 }] });
    await produce(kafka.brokers, topic, ['through the proxy']);
    expect(proxy.accepted).toBeGreaterThan(0);
  });

  it('leaves no process and no folder when its parent is killed with -9', async () => {
    const held = await holdDevstack('kafka', cacheDir);
    expect(held.pids.filter(lives)).toEqual(held.pids);
    held.process.kill('SIGKILL');
    await eventually(() => expect([held.pids.filter(lives), readdirSync(held.folder)]).toEqual([[], []]));
    await eventually(() => expect(commandLinesWith(held.folder)).toEqual([]));
    forgetHeld(held);
  });
});

describe('two processes that start Kafka at once with an empty cache', () => {
  let cache: string;

  beforeEach(() => {
    cache = mkdtempSync(join(tmpdir(), 'tidemark-cache-'));
  });

  afterEach(() => rmSync(cache, { recursive: true, force: true }));

  it('share what one of them fetches and builds', async () => {
    const held = await Promise.all([holdDevstack('kafka', cache), holdDevstack('kafka', cache)]);
    expect(held.flatMap(({ pids }) => pids).filter(lives)).toHaveLength(2);
    expect(readdirSync(cache).map((name) => name.replace(/-[0-9a-f]{12}$/, ''))).toEqual([
      'kafka-4.3.0-image',
      'kafka-4.3.0-jars',
    ]);
    for (const one of held) {
      one.process.kill('SIGKILL');
      await eventually(() => expect(readdirSync(one.folder)).toEqual([]));
      forgetHeld(one);
    }
    // Both fetch and link a Java image from nothing: on a busy
    // machine that alone has taken a minute.
  }, 240_000);
});

it('addresses that are given win, and are left running', async () => {
  const givenBrokers = inject('kafkaBrokers');
  const kafka = await startKafka({ ...deps, cacheDir: '/nowhere', givenBrokers });
  expect([kafka.kind, kafka.brokers, kafka.nodes]).toEqual(['given', givenBrokers, []]);
  await kafka.stop();
  const admin = clientOf(givenBrokers).admin();
  await admin.connect();
  expect((await admin.describeCluster()).brokers).toHaveLength(givenBrokers.length);
  await admin.disconnect();
});

function clientOf(brokers: string[]): Kafka {
  return new Kafka({ brokers, logLevel: logLevel.NOTHING });
}

async function produce(brokers: string[], topic: string, values: string[]): Promise<void> {
  const producer = clientOf(brokers).producer({ allowAutoTopicCreation: false });
  await producer.connect();
  try {
    await producer.send({ topic, acks: -1, messages: values.map((value) => ({ value })) });
  } finally {
    await producer.disconnect();
  }
}

async function partitionOf(admin: Admin, topic: string) {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  const partition = topics[0]?.partitions[0];
  if (partition === undefined) throw new Error(`no metadata for ${topic}`);
  return partition;
}

function pidOf(kafka: RunningKafka, id: number): number {
  const node = kafka.nodes.find((candidate) => candidate.id === id);
  if (node === undefined) throw new Error(`no node ${id}`);
  return node.pid;
}
