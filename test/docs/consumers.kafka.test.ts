import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { createMetrics } from '../../src/observability/metrics.ts';
import type { TopicNames } from '../../src/publish/topics.ts';
import { TransactionalPublisher, transactionalPublisherDefaults } from '../../src/publish/transactional-publisher.ts';
import { cacheDir } from '../support/cache-dir.ts';
import { freshTopics, kafkaDeps, kafkaOptions, logPublisher, writeForeign } from '../support/kafka-fixture.ts';
import { eventually } from '../support/poll.ts';
import { sampleUpdate } from '../support/sample-update.ts';

const pythonClient = 'confluent-kafka==2.16.1';
const pythonPath = join(cacheDir, 'python', pythonClient);

/** The program of each language; what Python needs and does not have is fetched once, beside everything else that tests keep. */
const languages = {
  TypeScript: () => [process.execPath, 'docs/consumers/consumer.ts'],
  Python: () => {
    if (!existsSync(join(pythonPath, 'confluent_kafka'))) {
      const args = ['-m', 'pip', 'install', '--quiet', '--target', pythonPath, pythonClient];
      const { status, stderr } = spawnSync('python3', args, { encoding: 'utf8', timeout: 180_000 });
      if (status !== 0) throw new Error(`the Python client could not be installed (python3 3.10 or newer with pip): ${stderr}`);
    }
    return ['python3', 'docs/consumers/consumer.py'];
  },
};

let folder: string;
let child: ChildProcess | undefined;
let said: string[];
let warned: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-consumer-'));
});
afterEach(() => {
  child?.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const brokers = () => inject('kafkaBrokers');

function start([program = '', ...args]: string[], topics: TopicNames): ChildProcess {
  said = [];
  warned = [];
  const started = spawn(program, args, {
    env: {
      ...process.env,
      KAFKA_BROKERS: brokers().join(','),
      TOPIC_PREFIX: topics.updates.replace('tidemark.order-updates.v1', ''),
      GROUP_ID: topics.updates,
      STATE_FILE: join(folder, 'orders.sqlite'),
      PYTHONPATH: pythonPath,
      NODE_NO_WARNINGS: '1',
    },
  });
  if (started.stdout !== null) createInterface(started.stdout).on('line', (line) => said.push(line));
  if (started.stderr !== null)
    createInterface(started.stderr).on('line', (line) => {
      // kafkajs's own lines, such as that of a coordinator which is still waking up, are not the consumer's.
      if (!line.includes('"logger":"kafkajs"')) warned.push(line);
    });
  return started;
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

function kept(): Record<string, string> {
  const database = new DatabaseSync(join(folder, 'orders.sqlite'), { readOnly: true });
  try {
    const rows = database.prepare('select key, generation, revision from orders order by key').all();
    return Object.fromEntries(rows.map(({ key, generation, revision }) => [key, `${generation}.${revision}`]));
  } finally {
    database.close();
  }
}

describe.each(Object.entries(languages))('the consumer in %s', (_language, command) => {
  it('starts from the newest states, takes each change once over a kill, tells holes, and follows a new generation', async () => {
    const program = command();
    const topics = await freshTopics(brokers());
    const { publisher } = logPublisher(brokers(), topics);
    const publish = (...changes: Change[]) => publisher.publish(changes.map(row));
    const { relay } = createMetrics();
    const writer = new TransactionalPublisher(
      { ...kafkaDeps, metrics: relay },
      { ...transactionalPublisherDefaults, kafka: kafkaOptions(brokers()), topic: topics.state, transactionalId: topics.state },
    );
    // The state topic is behind: it lacks the last change of one order, and all of another.
    await publish(...[1, 2, 3].map((revision) => ({ order: 'o-1', revision })), { order: 'o-2', revision: 1 });
    await writer.takeOver();
    await writer.flush([row({ order: 'o-1', revision: 2 }), row({ order: 'o-0', revision: 7 })]);
    await writer.close();

    child = start(program, topics);
    const expectKept = (wanted: Record<string, string>) =>
      eventually(() => expect(kept(), warned.join('\n')).toEqual(wanted), { deadlineMs: 90_000, everyMs: 100 });
    await expectKept({ 'account:o-0': '1.7', 'account:o-1': '1.3', 'account:o-2': '1.1' });
    await eventually(() =>
      expect(said.toSorted()).toEqual(['account:o-1 1.3 partially_filled 40', 'account:o-2 1.1 partially_filled 40']),
    );

    child.kill('SIGKILL');
    await publish({ order: 'o-1', revision: 3 }, { order: 'o-1', revision: 4 }, { order: 'o-2', revision: 1 });
    await publish({ order: 'o-0', revision: 10 }, { order: 'o-2', revision: 1, generation: 2 });
    child = start(program, topics);
    await expectKept({ 'account:o-0': '1.10', 'account:o-1': '1.4', 'account:o-2': '2.1' });
    await eventually(() => {
      expect(said.map((line) => line.split(' ', 2).join(' ')).toSorted()).toEqual([
        'account:o-0 1.10',
        'account:o-1 1.4',
        'account:o-2 2.1',
      ]);
      expect(warned).toEqual(['account:o-0: lost 8 to 9']);
    });
    await publisher.close();
  }, 240_000);

  it('passes over tombstones and foreign records, says so, and keeps what it has', async () => {
    const program = command();
    const topics = await freshTopics(brokers());
    const { publisher } = logPublisher(brokers(), topics);
    const stray = (topic: string) =>
      writeForeign(brokers(), topic, [
        { key: 'account:o-1', value: null },
        { key: 'account:o-1', value: 'no JSON' },
        { key: 'account:o-1', value: '[]' },
        { key: 'account:o-1', value: '{"stream":"account"}' },
      ]);
    await stray(topics.state);
    await publisher.publish([row({ order: 'o-1', revision: 1 })]);
    await stray(topics.updates);
    await publisher.publish([row({ order: 'o-1', revision: 2 })]);
    child = start(program, topics);
    await eventually(() => expect(kept(), warned.join('\n')).toEqual({ 'account:o-1': '1.2' }), {
      deadlineMs: 90_000,
      everyMs: 100,
    });
    const passedOver = (topic: string) => warned.filter((line) => line.startsWith(topic) && line.endsWith('is no update'));
    expect([passedOver(topics.state).length, passedOver(topics.updates).length, warned.length], warned.join('\n')).toEqual([
      4, 4, 8,
    ]);
    expect(said).toEqual(['account:o-1 1.1 partially_filled 40', 'account:o-1 1.2 partially_filled 40']);
    await publisher.close();
  }, 240_000);
});
