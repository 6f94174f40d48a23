import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningKafka } from '../../src/demo/devstack/running-kafka.ts';
import { startKafka } from '../../src/demo/devstack/start-kafka.ts';
import { createMetrics } from '../../src/observability/metrics.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import type { KafkaClientDeps } from '../../src/service/log/kafkajs/kafka-client.ts';
import { LogPublisher, logPublisherDefaults } from '../../src/service/log/log-publisher.ts';
import {
  TransactionalPublisher,
  transactionalPublisherDefaults,
} from '../../src/service/log/transactional-publisher.ts';
import { withAdmin } from '../../src/service/log/with-admin.ts';
import { checkpointing, checkpointsOf } from '../support/orders/checkpointing.ts';
import { RunningRelay } from '../support/orders/running-relay.ts';
import { eventually } from '../support/runs/poll.ts';
import { testLog } from '../support/runs/test-log.ts';
import { AnswerSwallower } from '../support/servers/answer-swallower.ts';
import { cacheDir } from '../support/servers/cache-dir.ts';
import {
  firstsByKey,
  freshTopics,
  kafkaDeps,
  kafkaOptions,
  numberedRows,
  readAll,
} from '../support/servers/kafka-fixture.ts';
import { topicPrefix } from '../support/servers/topics.ts';

let kafka: RunningKafka;

beforeAll(async () => {
  kafka = await startKafka({ clock: systemClock, log: testLog, cacheDir, nodes: 2 });
});
afterAll(() => kafka?.stop());

interface Options {
  readonly updates: string;
  readonly watermarks?: string;
  readonly requestTimeoutMs?: number;
  readonly onSocket?: NonNullable<KafkaClientDeps['onSocket']>;
}

function publisherFor({ updates, watermarks = updates, requestTimeoutMs = 5000, onSocket }: Options) {
  const { relay } = createMetrics();
  const publisher = new LogPublisher(
    { ...kafkaDeps, metrics: relay, ...(onSocket === undefined ? {} : { onSocket }) },
    {
      ...logPublisherDefaults,
      kafka: { ...kafkaOptions(kafka.brokers), requestTimeoutMs },
      topics: { updates, watermarks },
      sendDeadlineMs: requestTimeoutMs + 1000,
    },
  );
  const replaced = async () => {
    const { values } = await relay.producerReplaced.get();
    return values.reduce((sum, { value }) => sum + value, 0);
  };
  return { publisher, replaced };
}

/** Two partitions, one on each node, as they are before one of them moves. */
async function topicOnBothNodes(): Promise<string> {
  const topic = `${topicPrefix()}two`;
  await withAdmin(kafkaDeps, kafkaOptions(kafka.brokers), async (admin) => {
    const replicaAssignment = [
      { partition: 0, replicas: [1] },
      { partition: 1, replicas: [2] },
    ];
    await admin.createTopics({ waitForLeaders: false, topics: [{ topic, replicaAssignment }] });
    await eventually(() => admin.fetchTopicOffsets(topic));
  });
  return topic;
}

async function moveToNode1(topic: string): Promise<void> {
  await withAdmin(kafkaDeps, kafkaOptions(kafka.brokers), async (admin) => {
    await admin.alterPartitionReassignments({
      topics: [{ topic, partitionAssignment: [{ partition: 1, replicas: [1] }] }],
    });
    await eventually(async () => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      expect(topics[0]?.partitions.map(({ leader, replicas }) => [leader, replicas])).toEqual([
        [1, [1]],
        [1, [1]],
      ]);
    });
  });
}

describe('the log publisher, when Kafka fails', () => {
  it('rejects when the leader of one of two partitions moved, and loses nothing when the rows are sent again', async () => {
    const topic = await topicOnBothNodes();
    const { publisher, replaced } = publisherFor({ updates: topic });
    await publisher.publish(numberedRows(0, 100));
    await moveToNode1(topic);
    await expect(publisher.publish(numberedRows(100, 100))).rejects.toMatchObject({ code: 'not_leader' });
    await publisher.publish(numberedRows(100, 100));
    await publisher.close();
    expect(await replaced()).toBe(1);
    const values = new Set((await readAll(kafka.brokers, topic)).map(({ value }) => Number(value)));
    expect(values.size).toBe(200);
  });

  it('rejects when the answer to a send is lost, also when the send had arrived, and never mistakes a later one for a repeat of it', async () => {
    const { updates } = await freshTopics(kafka.brokers);
    const swallower = new AnswerSwallower();
    const { publisher } = publisherFor({
      updates,
      requestTimeoutMs: 3000,
      onSocket: (socket) => swallower.watch(socket),
    });
    await publisher.publish(numberedRows(0, 50));
    swallower.swallow = true;
    await expect(publisher.publish(numberedRows(50, 50))).rejects.toMatchObject({ code: 'timeout' });
    // The retired producer's connections are gone: nothing that it still held can arrive behind
    // what is sent from now on.
    expect(swallower.sockets.every(({ destroyed }) => destroyed)).toBe(true);
    swallower.swallow = false;
    // The same number of other rows: what an idempotent producer of kafkajs sent under old sequence
    // numbers here, and the broker dropped.
    await publisher.publish(numberedRows(100, 50));
    await publisher.publish(numberedRows(50, 50));
    await publisher.close();
    const records = await readAll(kafka.brokers, updates);
    expect(new Set(records.map(({ value }) => value)).size).toBe(150);
    expect(records).toHaveLength(200);
  });
});

describe('the state publisher, on two brokers', () => {
  it('writes to both in one transaction, and leaves nothing of one whose leader moved', async () => {
    const topic = await topicOnBothNodes();
    const publisher = new TransactionalPublisher(
      { ...kafkaDeps, metrics: createMetrics().relay },
      {
        ...transactionalPublisherDefaults,
        kafka: kafkaOptions(kafka.brokers),
        topic,
        transactionalId: () => `${topic}-lane-0`,
      },
    );
    await publisher.takeOver();
    for (const from of [0, 100]) await publisher.flush(numberedRows(from, 100));
    await moveToNode1(topic);
    await expect(publisher.flush(numberedRows(200, 100))).rejects.toMatchObject({ code: 'not_leader' });
    await publisher.takeOver();
    await publisher.flush(numberedRows(300, 100));
    await publisher.close();
    const values = await eventually(async () => {
      const found = (await readAll(kafka.brokers, topic)).map(({ value }) => Number(value));
      expect(found).toHaveLength(300);
      return found;
    });
    expect(values.filter((value) => value >= 200 && value < 300)).toEqual([]);
  });
});

describe('the checkpoint of a batch, on two brokers', () => {
  it('goes along to both, and is never missing while leaders move', async () => {
    const topics = await freshTopics(kafka.brokers);
    const { send, alone } = checkpointing(kafka.brokers, topics);
    const reader = checkpointsOf(kafka.brokers, topics);
    const sendAll = async (from: bigint, until: bigint) => {
      for (let batch = from; batch < until; batch += 1n) {
        await eventually(() => send(batch, 'updates', 40));
        // A broker that just gave the lead away refuses the question, as it does at a takeover.
        const found = await eventually(() => reader.read());
        expect(found).toEqual([expect.objectContaining({ lane: 3, batch })]);
      }
    };
    await sendAll(1n, 20n);
    expect(alone()).toBe(1);
    const written = await readAll(kafka.brokers, topics.checkpoint);
    const leaders = await leadersOf(topics.checkpoint);
    expect(new Set(written.map(({ partition }) => leaders.get(partition)))).toEqual(new Set([1, 2]));

    const moving = leadToNode(topics.checkpoint, 1);
    await sendAll(20n, 30n);
    await moving;
    // Node 2 leads no checkpoint now, and half of the updates.
    const before = alone();
    await sendAll(30n, 40n);
    expect(alone() - before).toBeGreaterThanOrEqual(8);
    await leadToNode(topics.updates, 1);
    await sendAll(40n, 50n);
    expect(await readAll(kafka.brokers, topics.updates)).toSatisfy(({ length }) => length >= 49 * 40);
  });
});

async function leadersOf(topic: string): Promise<Map<number, number>> {
  return withAdmin(kafkaDeps, kafkaOptions(kafka.brokers), async (admin) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return new Map(topics[0]?.partitions.map(({ partitionId, leader }) => [partitionId, leader]));
  });
}

/** All partitions, with this node as their only replica. */
async function leadToNode(topic: string, node: number): Promise<void> {
  const partitions = [...(await leadersOf(topic)).keys()];
  await withAdmin(kafkaDeps, kafkaOptions(kafka.brokers), (admin) =>
    admin.alterPartitionReassignments({
      topics: [{ topic, partitionAssignment: partitions.map((partition) => ({ partition, replicas: [node] })) }],
    }),
  );
  await eventually(async () => expect(new Set((await leadersOf(topic)).values())).toEqual(new Set([node])));
}

/** A relay that has published for a while, and goes on. */
async function relayUnderLoad() {
  const { updates } = await freshTopics(kafka.brokers);
  const { publisher, replaced } = publisherFor({ updates, requestTimeoutMs: 1000 });
  const running = new RunningRelay(publisher);
  await running.start();
  running.commitSteadily(20, 5);
  await eventually(() => expect(running.position).toBeGreaterThan(1000n));
  return { updates, publisher, replaced, running };
}

describe('the relay, when Kafka fails', () => {
  it('goes on by itself after a broker froze under load and thawed, with every row there and in order', async () => {
    const { updates, publisher, replaced, running } = await relayUnderLoad();
    const frozen = kafka.nodes.find(({ id }) => id === 2);
    if (frozen === undefined) throw new Error('no node 2');
    process.kill(frozen.pid, 'SIGSTOP');
    try {
      await eventually(async () => expect(await replaced()).toBeGreaterThan(0));
    } finally {
      process.kill(frozen.pid, 'SIGCONT');
    }
    const thawedAt = running.lastSeq;
    await eventually(() => expect(running.position).toBeGreaterThan(thawedAt), { deadlineMs: 30_000 });
    await expectEverythingOn(updates, running);
    await publisher.close();
  });

  it('goes on by itself after a broker was killed under load and came back', async () => {
    const { updates, publisher, replaced, running } = await relayUnderLoad();
    const victim = kafka.nodes.find(({ id }) => id === 2);
    if (victim === undefined) throw new Error('no node 2');
    process.kill(victim.pid, 'SIGKILL');
    await eventually(async () => expect(await replaced()).toBeGreaterThan(0));
    await kafka.restartNode(2);
    const backAt = running.lastSeq;
    await eventually(() => expect(running.position).toBeGreaterThan(backAt), { deadlineMs: 40_000 });
    await expectEverythingOn(updates, running);
    await publisher.close();
  });
});

async function expectEverythingOn(topic: string, running: RunningRelay): Promise<void> {
  await running.stopCommitting();
  await running.drain();
  expect(running.position).toBe(running.lastSeq);
  const firsts = firstsByKey(await readAll(kafka.brokers, topic));
  for (const [key, numbers] of firsts) {
    expect(numbers).toEqual(running.log.rows.filter((row) => row.key === key).map(({ payload }) => Number(payload)));
  }
  expect([...firsts.values()].flat()).toHaveLength(running.log.rows.length);
}
