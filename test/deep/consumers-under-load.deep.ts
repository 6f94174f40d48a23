import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, inject, it } from 'vitest';
import { withAdmin } from '../../src/service/log/with-admin.ts';
import { sampleUpdate } from '../support/orders/sample-update.ts';
import { eventually } from '../support/runs/poll.ts';
import { freshTopics, kafkaDeps, kafkaOptions, logPublisher } from '../support/servers/kafka-fixture.ts';
import { ConsumerProcess, consumerEnvironment } from './parts/consumer-process.ts';

/** `consumer.ts` in a folder of its own. It looks 50 times a second here, not every 30 s. */
function lookingOften(folder: string): string {
  const text = readFileSync('docs/consumers/consumer.ts', 'utf8');
  const path = join(folder, 'consumer.ts');
  const often = text
    .replace('lookEveryMs = 30_000', 'lookEveryMs = 20')
    .replace('sessionTimeout: 10_000', 'sessionTimeout: 10_000, metadataMaxAge: 1_000');
  writeFileSync(path, often);
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  return path;
}

it('the consumer in TypeScript stays in step while records arrive between what its look asks, and with a partition that is added', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-consumer-'));
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true }));
  const brokers = inject('kafkaBrokers');
  const topics = await freshTopics(brokers);
  let { publisher } = logPublisher(brokers, topics);
  cleanup.defer(() => publisher.close());
  let revision = 1;
  /** What fails is sent again as it was: a revision that is left out is lost. */
  const publishThis = async () => {
    const orders = Array.from({ length: 8 }, (_, at) => `o-${at}`);
    await publisher.publish(
      orders.map((orderId) => ({
        topic: 'updates' as const,
        key: `account:${orderId}`,
        payload: sampleUpdate({ orderId, revision }),
      })),
    );
  };
  const publish = async () => {
    revision += 1;
    await publishThis();
  };
  await publishThis();

  const env = consumerEnvironment(brokers, topics, join(folder, 'orders.sqlite'));
  const child = new ConsumerProcess([process.execPath, lookingOften(folder)], env, { isOnce: true });
  cleanup.defer(() => child.kill());
  const { said, warned } = child;
  const isCaughtUp = () =>
    eventually(
      () => {
        expect(child.isRunning, warned.join('\n')).toBe(true);
        const database = new DatabaseSync(join(folder, 'orders.sqlite'), { readOnly: true });
        try {
          const [row] = database.prepare('select min(revision) as least, count(*) as orders from orders').all();
          expect({ ...row }, warned.join('\n')).toEqual({ least: revision, orders: 8 });
        } finally {
          database.close();
        }
      },
      { deadlineMs: 90_000, everyMs: 100 },
    );
  await isCaughtUp();
  for (let round = 0; round < 1_500; round += 1) await publish();
  await isCaughtUp();
  expect(warned).toEqual([]);
  await eventually(() => expect(said).toHaveLength(8 * revision));

  await withAdmin(kafkaDeps, kafkaOptions(brokers), (admin) =>
    admin.createPartitions({ topicPartitions: [{ topic: topics.updates, count: 24 }] }),
  );
  await publisher.close();
  ({ publisher } = logPublisher(brokers, topics));
  revision += 1;
  await eventually(publishThis, { deadlineMs: 30_000, everyMs: 200 });
  for (let round = 0; round < 200; round += 1) await publish();
  await isCaughtUp();
  expect(warned.filter((line) => line.includes(': lost '))).toEqual([]);
}, 240_000);
