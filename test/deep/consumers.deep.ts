import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { javaPartition } from '../../src/domain/partition.ts';
import { createMetrics } from '../../src/observability/metrics.ts';
import { type TopicNames, topicSpecs } from '../../src/service/log/topics.ts';
import {
  TransactionalPublisher,
  transactionalPublisherDefaults,
} from '../../src/service/log/transactional-publisher.ts';
import { withAdmin } from '../../src/service/log/with-admin.ts';
import { damagedUpdates } from '../support/orders/damaged-updates.ts';
import { atOf } from '../support/orders/proven-batches.ts';
import { sampleUpdate } from '../support/orders/sample-update.ts';
import { eventually } from '../support/runs/poll.ts';
import {
  deleteTopics,
  freshTopics,
  kafkaDeps,
  kafkaOptions,
  logPublisher,
  makeTopics,
  writeForeign,
} from '../support/servers/kafka-fixture.ts';
import { languages, pythonPath } from './parts/consumer-languages.ts';
import { ConsumerProcess, consumerEnvironment } from './parts/consumer-process.ts';

let folder: string;
let running: ConsumerProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-consumer-'));
});
afterEach(async () => {
  await Promise.all(running.map((child) => child.kill()));
  running = [];
  rmSync(folder, { recursive: true, force: true });
});

const brokers = () => inject('kafkaBrokers');
const envOf = (topics: TopicNames, file = 'orders.sqlite') => ({
  ...consumerEnvironment(brokers(), topics, join(folder, file)),
  PYTHONPATH: pythonPath,
});

function start(command: readonly string[], topics: TopicNames, file?: string): ConsumerProcess {
  const child = new ConsumerProcess(command, envOf(topics, file));
  running.push(child);
  return child;
}

function runOnce(command: readonly string[], topics: TopicNames, since: string): ConsumerProcess {
  const child = new ConsumerProcess(command, { ...envOf(topics), SINCE: since }, { isOnce: true });
  running.push(child);
  return child;
}

interface Change {
  readonly order: string;
  readonly revision: number;
  readonly generation?: number;
}

const row = ({ order, ...rest }: Change) => ({
  topic: 'updates' as const,
  key: `account:${order}`,
  payload: sampleUpdate({ orderId: order, ...rest }),
});

/** The state topic gets these states, in a transaction. */
async function flushStates(topics: TopicNames, states: ReturnType<typeof row>[]): Promise<void> {
  const { relay } = createMetrics();
  const writer = new TransactionalPublisher(
    { ...kafkaDeps, metrics: relay },
    {
      ...transactionalPublisherDefaults,
      kafka: kafkaOptions(brokers()),
      topic: topics.state,
      transactionalId: () => topics.state,
    },
  );
  await writer.takeOver();
  await writer.flush(states);
  await writer.close();
}

/** Deletes all that is on the topic, as its retention does. */
async function deleteRecords(topic: string): Promise<void> {
  await withAdmin(kafkaDeps, kafkaOptions(brokers()), async (admin) => {
    const partitions = (await admin.fetchTopicOffsets(topic)).map(({ partition, high }) => ({
      partition,
      offset: high,
    }));
    await admin.deleteTopicRecords({ topic, partitions: partitions.filter(({ offset }) => offset !== '0') });
  });
}

async function makeAnew(topics: TopicNames): Promise<void> {
  await deleteTopics(brokers(), [topics.updates]);
  await makeTopics(brokers(), topicSpecs(topics));
}

/** All partitions are assigned and resolved: the group has an offset of each. */
async function expectCommitted(topics: TopicNames): Promise<void> {
  await eventually(
    () =>
      withAdmin(kafkaDeps, kafkaOptions(brokers()), async (admin) => {
        // It has no brokers before it is asked for a topic.
        await admin.fetchTopicOffsets(topics.updates);
        const found = await admin.fetchOffsets({ groupId: topics.updates, topics: [topics.updates] });
        const offsets = found.flatMap(({ partitions }) => partitions.map(({ offset }) => Number(offset)));
        expect(Math.min(...offsets)).toBeGreaterThanOrEqual(0);
      }),
    { deadlineMs: 90_000, everyMs: 200 },
  );
}

/** The one statement, on the file of a consumer that is not running. */
function change(sql: string): void {
  const database = new DatabaseSync(join(folder, 'orders.sqlite'));
  database.exec(sql);
  database.close();
}

const partitionOf = (order: string) => javaPartition(`account:${order}`, 12);
/** Orders of this partition, or of the others. */
const ordersIn = (is: (partition: number) => boolean, count: number) =>
  Array.from({ length: 200 }, (_, at) => `p-${at}`)
    .filter((order) => is(partitionOf(order)))
    .slice(0, count);

function kept(file = 'orders.sqlite'): Record<string, string> {
  const database = new DatabaseSync(join(folder, file), { readOnly: true });
  try {
    const rows = database.prepare('select key, generation, revision from orders order by key').all();
    return Object.fromEntries(rows.map(({ key, generation, revision }) => [key, `${generation}.${revision}`]));
  } finally {
    database.close();
  }
}

const damaged = damagedUpdates(10_000);
let written: Promise<TopicNames> | undefined;

/**
 * Written once for all languages: ten thousand batches, damaged between the log and the topics, and
 * one record of another program.
 */
function damagedTopics(): Promise<TopicNames> {
  written ??= (async () => {
    const topics = await freshTopics(brokers());
    const { publisher } = logPublisher(brokers(), topics);
    await publisher.publish(damaged.updates);
    await publisher.publish(damaged.marks);
    await publisher.close();
    const strays = ['no JSON', null, 'null', '[]', '{"batch":"1"}'].map((value) => ({ key: 'account:o-1', value }));
    await writeForeign(brokers(), topics.updates, strays);
    await writeForeign(brokers(), topics.watermarks, strays);
    return topics;
  })();
  return written;
}

describe.each(Object.entries(languages))('the consumer in %s', (_language, command) => {
  it('starts from the newest states, takes each change once over a kill, tells holes, and follows a new generation', async () => {
    const program = await command('consumer');
    const topics = await freshTopics(brokers());
    const { publisher } = logPublisher(brokers(), topics);
    // A broker under load may refuse for a moment, and what is sent twice is taken once.
    const publish = (...changes: Change[]) => eventually(() => publisher.publish(changes.map(row)));
    // The state topic is behind: it lacks the last change of one order, and all of another.
    await publish(...[1, 2, 3].map((revision) => ({ order: 'o-1', revision })), { order: 'o-2', revision: 1 });
    await flushStates(topics, [row({ order: 'o-1', revision: 2 }), row({ order: 'o-0', revision: 7 })]);

    let child = start(program, topics);
    const expectKept = (wanted: Record<string, string>) =>
      eventually(() => expect(kept(), child.warned.join('\n')).toEqual(wanted), { deadlineMs: 90_000, everyMs: 100 });
    await expectKept({ 'account:o-0': '1.7', 'account:o-1': '1.3', 'account:o-2': '1.1' });
    await eventually(() =>
      expect(child.said.toSorted()).toEqual([
        'account:o-1 1.3 partially_filled 40',
        'account:o-2 1.1 partially_filled 40',
      ]),
    );

    await child.kill();
    await publish({ order: 'o-1', revision: 3 }, { order: 'o-1', revision: 4 }, { order: 'o-2', revision: 1 });
    await publish({ order: 'o-0', revision: 10 }, { order: 'o-2', revision: 1, generation: 2 });
    child = start(program, topics);
    await expectKept({ 'account:o-0': '1.10', 'account:o-1': '1.4', 'account:o-2': '2.1' });
    await eventually(() => {
      expect(child.said.map((line) => line.split(' ', 2).join(' ')).toSorted()).toEqual([
        'account:o-0 1.10',
        'account:o-1 1.4',
        'account:o-2 2.1',
      ]);
      expect(child.warned).toEqual(['account:o-0: lost 8 to 9']);
    });
    await publisher.close();
  }, 240_000);

  it('starts from nothing again where what follows its position was deleted unread or made anew, off and running, whatever a clock says', async () => {
    const program = await command('consumer');
    const topics = await freshTopics(brokers());
    const { publisher } = logPublisher(brokers(), topics);
    // A broker under load may refuse for a moment, and what is sent twice is taken once.
    const publish = (...changes: Change[]) => eventually(() => publisher.publish(changes.map(row)));
    let child: ConsumerProcess;
    const expectKept = (wanted: Record<string, string>) =>
      eventually(() => expect(kept(), child.warned.join('\n')).toEqual(wanted), { deadlineMs: 120_000, everyMs: 100 });
    // The state topic lacks an order, and has an update of a process whose clock was ahead.
    const ahead = new Date(Date.now() + 7_200_000).toISOString();
    const fast = row({ order: 'o-2', revision: 1 });
    const [young = ''] = ordersIn((partition) => partition === partitionOf('o-1'), 1);
    await publish(...['o-1', 'o-2', 'o-3', young].map((order) => ({ order, revision: 1 })));
    await flushStates(topics, [
      row({ order: 'o-1', revision: 1 }),
      { ...fast, payload: fast.payload.replace(/"observedAt":"[^"]*"/, `"observedAt":"${ahead}"`) },
    ]);
    child = start(program, topics);
    const first = { 'account:o-1': '1.1', 'account:o-2': '1.1', 'account:o-3': '1.1', [`account:${young}`]: '1.1' };
    await expectKept(first);
    await child.kill();

    // It was off for longer than the retention, and no other change of the order follows.
    await publish({ order: 'o-1', revision: 2 });
    await flushStates(
      topics,
      ['o-1', 'o-2', 'o-3'].map((order) => row({ order, revision: order === 'o-1' ? 2 : 1 })),
    );
    await deleteRecords(topics.updates);
    child = start(program, topics);
    await expectKept({ ...first, 'account:o-1': '1.2' });
    await eventually(() => {
      const again = child.warned.findLastIndex((line) => /partitions .* begin again from the state topic/.test(line));
      expect(child.warned.slice(again)).toEqual([
        expect.stringMatching(/begin again/),
        `account:${young}: kept as partially_filled, and the state topic does not show it`,
      ]);
    });

    // It is stuck for that long while it runs. What the broker
    // answers to its open request it still gets.
    await publish({ order: 'o-2', revision: 2 });
    await expectKept({ ...first, 'account:o-1': '1.2', 'account:o-2': '1.2' });
    child.signal('SIGSTOP');
    await publish({ order: 'o-3', revision: 2 });
    await publish({ order: 'o-3', revision: 3 });
    await flushStates(topics, [row({ order: 'o-3', revision: 3 }), row({ order: 'o-2', revision: 2 })]);
    await deleteRecords(topics.updates);
    child.signal('SIGCONT');
    await expectKept({ ...first, 'account:o-1': '1.2', 'account:o-2': '1.2', 'account:o-3': '1.3' });
    await child.kill();
    await publisher.close();

    await makeAnew(topics);
    const anew = logPublisher(brokers(), topics);
    await eventually(() => anew.publisher.publish([row({ order: 'o-3', revision: 4 })]));
    child = start(program, topics);
    await expectKept({ ...first, 'account:o-1': '1.2', 'account:o-2': '1.2', 'account:o-3': '1.4' });
    await anew.publisher.close();
  }, 480_000);

  it('takes the state of the partition alone that begins again, and each change of the others', async () => {
    const program = await command('consumer');
    const topics = await freshTopics(brokers());
    const { publisher } = logPublisher(brokers(), topics);
    const publish = (...changes: Change[]) => eventually(() => publisher.publish(changes.map(row)));
    const again = 5;
    const [changed = '', gone = ''] = ordersIn((partition) => partition === again, 2);
    const [waiting = '', quiet = ''] = ordersIn((partition) => partition !== again, 2);
    // A file of an earlier version does not say the partition of its orders.
    change(`create table orders
      (key text primary key, generation integer, revision integer, status text, cum_qty text, record text)`);
    change(`insert into orders values ('account:older', 1, 1, 'new', '0', '{}')`);
    const olderIsKept = 'account:older: kept as new, and the state topic does not show it';
    await publish(...[changed, gone, waiting, quiet].map((order) => ({ order, revision: 1 })));
    let child = start(program, topics);
    const expectKept = (revisions: Record<string, number>) =>
      eventually(
        () => {
          const wanted = Object.entries(revisions).map(([order, revision]) => [`account:${order}`, `1.${revision}`]);
          expect(kept(), child.warned.join('\n')).toEqual(Object.fromEntries(wanted));
        },
        { deadlineMs: 90_000, everyMs: 100 },
      );
    const first = { older: 1, [changed]: 1, [gone]: 1, [waiting]: 1, [quiet]: 1 };
    await expectKept(first);
    await eventually(() => expect(child.warned).toEqual([olderIsKept]));
    await expectCommitted(topics);
    await child.kill();

    // The state topic is ahead of all of them, and one partition alone has no position.
    change(`delete from positions where partition = ${again}`);
    const states = [2, 3].flatMap((revision) => [changed, waiting].map((order) => ({ order, revision })));
    await publish(...states);
    await flushStates(topics, states.map(row));
    child = start(program, topics);
    await expectKept({ ...first, [changed]: 3, [waiting]: 3 });
    await eventually(() => {
      expect(child.said.map((line) => line.split(' ', 2).join(' '))).toEqual(
        [2, 3].map((n) => `account:${waiting} 1.${n}`),
      );
      expect(child.warned.toSorted()).toEqual(
        [
          olderIsKept,
          `account:${gone}: kept as partially_filled, and the state topic does not show it`,
          `${topics.updates}: partitions ${again} begin again from the state topic`,
        ].toSorted(),
      );
    });
    await publisher.close();
  }, 240_000);

  it('leaves alone what another member reads: its own position there stands still, and falls below the beginning', async () => {
    const program = await command('consumer');
    const topics = await freshTopics(brokers());
    const { publisher } = logPublisher(brokers(), topics);
    const orders = Array.from({ length: 12 }, (_, at) => ordersIn((partition) => partition === at, 1)[0] ?? '');
    const publish = (revision: number) =>
      eventually(() => publisher.publish(orders.map((order) => row({ order, revision }))));
    const countOf = (file: string, version: string) =>
      Object.values(kept(file)).filter((keptVersion) => keptVersion === version).length;
    const expectAll = (file: string, version: string, { warned }: ConsumerProcess) =>
      eventually(() => expect(countOf(file, version), warned.join('\n')).toBe(12), {
        deadlineMs: 90_000,
        everyMs: 100,
      });
    await publish(1);
    const before = start(program, topics);
    await expectAll('orders.sqlite', '1.1', before);
    await expectCommitted(topics);
    await before.kill();
    const other = start(program, topics, 'other.sqlite');
    await expectAll('other.sqlite', '1.1', other);
    await publish(2);
    await expectAll('other.sqlite', '1.2', other);
    await flushStates(
      topics,
      orders.map((order) => row({ order, revision: 2 })),
    );
    await deleteRecords(topics.updates);

    const child = start(program, topics);
    await eventually(
      () => {
        const [, partitions = ''] = /partitions (.*) begin again/.exec(child.warned.join('\n')) ?? [];
        expect(partitions.split(', '), child.warned.join('\n')).toHaveLength(6);
        const taken = orders.filter((order) => kept()[`account:${order}`] === '1.2');
        expect(new Set(taken.map(partitionOf))).toEqual(new Set(partitions.split(', ').map(Number)));
      },
      { deadlineMs: 90_000, everyMs: 100 },
    );
    await publisher.close();
  }, 240_000);

  it('passes over tombstones and foreign records, says so, and keeps what it has', async () => {
    const program = await command('consumer');
    const topics = await freshTopics(brokers());
    const { publisher } = logPublisher(brokers(), topics);
    const stray = (topic: string) =>
      writeForeign(brokers(), topic, [
        { key: 'account:o-1', value: null },
        { key: 'account:o-1', value: 'no JSON' },
        { key: 'account:o-1', value: '[]' },
        { key: 'account:o-1', value: '{"stream":"account"}' },
        {
          key: 'account:o-1',
          value: JSON.stringify({ ...JSON.parse(row({ order: 'o-1', revision: 9 }).payload), order: null }),
        },
        {
          key: 'account:o-1',
          value: JSON.stringify({ original: JSON.parse(row({ order: 'o-1', revision: 9 }).payload) }),
        },
      ]);
    await stray(topics.state);
    await publisher.publish([row({ order: 'o-1', revision: 1 })]);
    await stray(topics.updates);
    await publisher.publish([row({ order: 'o-1', revision: 2 })]);
    const child = start(program, topics);
    await eventually(() => expect(kept(), child.warned.join('\n')).toEqual({ 'account:o-1': '1.2' }), {
      deadlineMs: 90_000,
      everyMs: 100,
    });
    const passedOver = (topic: string) =>
      child.warned.filter((line) => line.startsWith(topic) && line.endsWith('is no update'));
    // The file has the order before this process has read what the program printed of it.
    await eventually(() => {
      const counts = [passedOver(topics.state).length, passedOver(topics.updates).length, child.warned.length];
      expect(counts, child.warned.join('\n')).toEqual([6, 6, 12]);
      expect(child.said).toEqual(['account:o-1 1.1 partially_filled 40', 'account:o-1 1.2 partially_filled 40']);
    });
    await publisher.close();
  }, 240_000);

  it('verifies what it can read: each of 10,000 damaged batches is named, and nothing else', async () => {
    const program = await command('verify');
    const topics = await damagedTopics();
    const all = runOnce(program, topics, '2020-01-01T00:00:00Z');
    expect(await all.ended(), all.warned.join('\n')).toBe(2);
    expect(all.said).toEqual([...damaged.holes, `lane 0: complete from ${atOf(10_002)} to ${atOf(10_003)}: 2 updates`]);
    const where = /^passed over a record that is not from Tidemark: \S*tidemark\.\S+, partition \d+, offset \d+$/;
    expect(all.warned).toEqual(Array.from({ length: 10 }, () => expect.stringMatching(where)));
    // Of a time that is still to come there is no proof: that is no success.
    const none = runOnce(program, topics, '2099-01-01T00:00:00Z');
    expect(await none.ended(), none.warned.join('\n')).toBe(1);
    expect([none.said, none.warned]).toEqual([[], ['no proof since then: nothing was verified']]);
  }, 240_000);
});
