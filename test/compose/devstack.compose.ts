import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, expect, inject, it, onTestFinished, vi } from 'vitest';
import { startKafka } from '../../src/demo/devstack/start-kafka.ts';
import { startPostgres } from '../../src/demo/devstack/start-postgres.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { withAdmin } from '../../src/service/log/with-admin.ts';
import { testLog } from '../support/runs/test-log.ts';
import { TidemarkProcess } from '../support/runs/tidemark-process.ts';
import { kafkaDeps, kafkaOptions } from '../support/servers/kafka-fixture.ts';
import { onServer } from '../support/servers/on-server.ts';
import { run, say } from './run.ts';
import { watcherImage } from './watcher-image.ts';

const deps = { clock: systemClock, log: testLog, cacheDir: '/nowhere' };
const withoutWatcher = inject('missingImages').includes(watcherImage);
const environment: Record<string, string> = {
  DOCKER_HOST: inject('dockerHost'),
  ...(withoutWatcher ? { TESTCONTAINERS_RYUK_DISABLED: 'true' } : {}),
};

beforeAll(() => {
  if (withoutWatcher) say(`NOT PROVEN: that ${watcherImage} removes a container when we are killed`);
});

beforeEach(() => {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
});

afterEach(() => void vi.unstubAllEnvs());

function containerIn(describe: string): string {
  const id = /container ([0-9a-f]{12})/.exec(describe)?.[1];
  if (id === undefined) throw new Error(`no container: ${describe}`);
  return id;
}

/** Where the engine publishes the ports of a container. */
async function published(describe: string): Promise<string> {
  return (await run(['docker', 'port', containerIn(describe)], { limitMs: 60_000 })).trim();
}

async function idsRunning(): Promise<string[]> {
  return (await run(['docker', 'ps', '--all', '--quiet'], { limitMs: 60_000 })).split('\n').filter((id) => id !== '');
}

it('Postgres for demo and tests is a container, on the loopback address alone, and gone when it is stopped', async () => {
  // Where there is a file /.dockerenv testcontainers takes us to be in a container.
  vi.stubEnv('TESTCONTAINERS_HOST_OVERRIDE', '127.0.0.1');
  const postgres = await startPostgres(deps);
  onTestFinished(() => postgres.stop());
  expect([postgres.kind, postgres.describe]).toEqual(['container', expect.stringMatching(/^Postgres 18\./)]);
  expect(await published(postgres.describe)).toBe(`5432/tcp -> ${new URL(postgres.url).host}`);
  expect(new URL(postgres.url).hostname).toBe('127.0.0.1');
  const { rows } = await onServer(postgres.url, (client) => client.query('show shared_buffers'));
  expect(rows).toEqual([{ shared_buffers: '256MB' }]);
  const id = containerIn(postgres.describe);
  expect(await idsRunning()).toContain(id);
  await postgres.stop();
  expect(await idsRunning()).not.toContain(id);
});

it('Kafka for demo and tests is a container, on one address of this machine alone, and gone when it is stopped', async () => {
  const kafka = await startKafka(deps);
  onTestFinished(() => kafka.stop());
  expect([kafka.kind, kafka.describe]).toEqual(['container', expect.stringMatching(/^Kafka 4\./)]);
  const [address = ''] = kafka.brokers;
  expect(await published(kafka.describe)).toBe(`${address.split(':')[1]}/tcp -> ${address}`);
  const topic = `t${randomUUID()}`;
  const topics = await withAdmin(kafkaDeps, kafkaOptions(kafka.brokers), async (admin) => {
    await admin.createTopics({ topics: [{ topic, numPartitions: 1, replicationFactor: 1 }] });
    return admin.listTopics();
  });
  expect(topics).toContain(topic);
  const id = containerIn(kafka.describe);
  expect(await idsRunning()).toContain(id);
  await kafka.stop();
  expect(await idsRunning()).not.toContain(id);
});

it('the demo runs on containers, and loses nothing', async () => {
  const demo = await TidemarkProcess.start(['demo', '--seconds', '20', '--json'], environment);
  expect(await demo.exited, demo.tail()).toBe(0);
  const proof = JSON.parse(demo.lines.findLast((line) => line.startsWith('{')) ?? '');
  expect(proof).toMatchObject({
    ...{ lost: 0, doubled: 0, outOfOrder: 0, unresolved: 0 },
    kafka: expect.stringMatching(/^Kafka 4\.\S+, container /),
    postgres: expect.stringMatching(/^Postgres 18\.\S+, container /),
  });
  expect(proof.consumed).toBeGreaterThan(0);
  expect(proof.consumed).toBe(proof.updates);
  const started = [proof.kafka, proof.postgres].map((part: string) => containerIn(part));
  expect((await idsRunning()).filter((id) => started.includes(id))).toEqual([]);
});
