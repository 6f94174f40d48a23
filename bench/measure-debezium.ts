import type { Admin } from 'kafkajs';
import pg from 'pg';
import { systemClock } from '../src/runtime/clock.ts';
import { systemRandom } from '../src/runtime/random.ts';
import { kafkaDefaults } from '../src/service/log/kafka-options.ts';
import { readTopic } from '../src/service/log/read-topic.ts';
import { withAdmin } from '../src/service/log/with-admin.ts';
import type { Cleanup } from './cleanup.ts';
import { debeziumVersion, startDebezium } from './debezium-server.ts';
import { loadAt, settle } from './measure-service.ts';
import { paced } from './paced.ts';
import { percentile } from './percentile.ts';
import type { RealRows } from './real-rows.ts';
import { ProcessTree, type ProcessUsage, processUsage } from './sample-process.ts';
import { benchLog, onServer, type Stack } from './stack.ts';
import { withService } from './with-service.ts';
import { measureWritePath } from './write-path.ts';

export interface DebeziumFigures {
  /** Why it could not be measured; then there is nothing else. */
  readonly missing?: string;
  readonly version: string;
  readonly bareWritePerSecond: number;
  /** Of our service, unpaced, on the same servers. */
  readonly servicePerSecond: number;
  /** With a writer that waits while more than `mostWaiting` rows are not in Kafka. */
  readonly perSecond: number;
  readonly paced: {
    readonly rate: number;
    /**
     * From before the row's insert to the broker's time of append;
     * whole milliseconds at the broker.
     */
    readonly p50Ms: number;
    readonly p99Ms: number;
    readonly cpuMicrosPerRow: Readonly<Record<string, number>>;
  };
  readonly rssMb: number;
}

const pacedRate = 5_000;
const rowsPerInsert = 25;
const mostWaiting = 10_000;
const warmUpSeconds = 8;
const partitions = 12;
/** Connections of the writer: an insert that waits for its sync holds back no other. */
const writers = 8;

/**
 * Debezium Server with its outbox router beside our service, on the same Postgres and Kafka: what a
 * user would take instead to bring rows of a log into Kafka. Its rows are made by a writer here: it
 * has no sockets to read and nothing to reduce.
 */
export async function measureDebezium(
  cleanup: Cleanup,
  stack: Stack,
  real: RealRows,
  seconds: number,
): Promise<DebeziumFigures> {
  const none = { version: debeziumVersion, bareWritePerSecond: 0, servicePerSecond: 0, perSecond: 0, rssMb: 0 };
  const unmeasured = { ...none, paced: { rate: pacedRate, p50Ms: 0, p99Ms: 0, cpuMicrosPerRow: {} } };
  try {
    await turnLogical(stack);
    const outbox = await startOutbox(cleanup, stack, real);
    const found = await withAdmin(deps, outbox.kafka, (admin) => measureOutbox(stack, outbox, admin, seconds), 300_000);
    await outbox.stop();
    const bare = await measureWritePath({ url: stack.postgres.url, seconds, rows: real.rows });
    const servicePerSecond = await withService(cleanup, stack, { part: 'beside' }, async (watched) => {
      const { publishedPerSecond } = await loadAt(watched, 'max', seconds);
      await settle(watched);
      return publishedPerSecond;
    });
    return { version: debeziumVersion, bareWritePerSecond: bare.rowsPerSecond, servicePerSecond, ...found };
  } catch (error) {
    return { ...unmeasured, missing: error instanceof Error ? error.message : String(error) };
  }
}

const deps = { clock: systemClock, log: benchLog, random: systemRandom };

/** A server of ours is started again with it; one that was given has to have it. */
async function turnLogical({ postgres }: Stack): Promise<void> {
  const [row] = await onServer<{ wal_level: string }>(postgres.url, 'show wal_level');
  if (row?.wal_level === 'logical') return;
  if (!('restart' in postgres)) throw new Error('Debezium needs a Postgres with wal_level = logical');
  await onServer(postgres.url, `alter system set wal_level = 'logical'`);
  await (postgres as { restart(): Promise<void> }).restart();
}

interface Outbox {
  readonly kafka: typeof kafkaDefaults & { readonly brokers: readonly string[] };
  readonly topic: string;
  readonly pid: number;
  /** One insert of `rowsPerInsert` rows. */
  write(): Promise<void>;
  stop(): Promise<void>;
}

async function startOutbox(cleanup: Cleanup, stack: Stack, real: RealRows): Promise<Outbox> {
  const kafka = { ...kafkaDefaults, brokers: stack.kafka.brokers };
  const topic = `bench-debezium-${systemRandom.uuid().slice(0, 8)}`;
  const configEntries = [{ name: 'message.timestamp.type', value: 'LogAppendTime' }];
  await withAdmin(deps, kafka, (admin) =>
    admin.createTopics({ topics: [{ topic, numPartitions: partitions, configEntries }] }),
  );
  const database = await stack.makeDatabase('debezium');
  await onServer(
    database.url,
    `create table outbox (seq bigint generated always as identity, id uuid primary key, aggregatetype text not null, aggregateid text not null, type text not null, payload text not null)`,
  );
  const plan = { databaseUrl: database.url, brokers: kafka.brokers, table: 'public.outbox', topic };
  const server = await startDebezium(cleanup, plan);
  const writer = new pg.Pool({
    connectionString: database.url,
    max: writers,
    connectionTimeoutMillis: 5_000,
    query_timeout: 60_000,
  });
  let next = 0;
  return {
    kafka,
    topic,
    pid: server.pid,
    async write() {
      const rows = Array.from({ length: rowsPerInsert }, (_, i) => real.records[(next + i) % real.records.length]);
      next += rowsPerInsert;
      const made = `{"madeMs":${performance.timeOrigin + performance.now()},`;
      await writer.query({
        name: 'outbox',
        text: `insert into outbox (id, aggregatetype, aggregateid, type, payload)
               select gen_random_uuid(), 'order', k, 'update', p from unnest($1::text[], $2::text[]) as r (k, p)`,
        values: [rows.map((row) => row?.key), rows.map((row) => made + row?.payload.slice(1))],
      });
    },
    async stop() {
      await writer.end();
      await server.stop();
      await onServer(
        database.url,
        `select pg_drop_replication_slot('bench_debezium') where exists (select from pg_replication_slots)`,
      );
      await database.drop();
    },
  };
}

async function measureOutbox(
  stack: Stack,
  outbox: Outbox,
  admin: Admin,
  seconds: number,
): Promise<Pick<DebeziumFigures, 'perSecond' | 'paced' | 'rssMb'>> {
  const arrived = async () => {
    const offsets = await admin.fetchTopicOffsets(outbox.topic);
    return offsets.reduce((sum, { offset }) => sum + Number(offset), 0);
  };
  await untilAwake(outbox, arrived);
  await paced({ perSecond: pacedRate / rowsPerInsert, seconds: warmUpSeconds }, outbox.write);
  const fromMs = Date.now();
  const meters = metersOf(stack, outbox);
  const before = meters.map(([, read]) => read()?.cpuSeconds ?? 0);
  await paced({ perSecond: pacedRate / rowsPerInsert, seconds }, outbox.write);
  const cpuMicrosPerRow = Object.fromEntries(
    meters.map(([name, read], i) => [name, micros((read()?.cpuSeconds ?? 0) - (before[i] ?? 0), pacedRate * seconds)]),
  );
  await systemClock.sleep(2_000);
  const delays = await readDelays(outbox, fromMs);
  const perSecond = await fastest(outbox, arrived, seconds);
  const rssMb = Math.round(processUsage(outbox.pid)?.peakRssMb ?? 0);
  const [p50Ms, p99Ms] = [round(percentile(delays, 0.5)), round(percentile(delays, 0.99))];
  return { perSecond, rssMb, paced: { rate: pacedRate, p50Ms, p99Ms, cpuMicrosPerRow } };
}

/** It has to make its slot before a row is of any use: rows of before are not in it. */
async function untilAwake(outbox: Outbox, arrived: () => Promise<number>): Promise<void> {
  for (let tries = 0; tries < 240; tries += 1) {
    await outbox.write();
    await systemClock.sleep(250);
    if ((await arrived()) > 0) return;
  }
  throw new Error('Debezium Server brought no row to Kafka within a minute');
}

async function fastest(outbox: Outbox, arrived: () => Promise<number>, seconds: number): Promise<number> {
  const before = await arrived();
  const startMs = performance.now();
  let written = 0;
  let there = 0;
  let watching = true;
  const watch = async () => {
    while (watching) {
      there = (await arrived()) - before;
      await systemClock.sleep(100);
    }
  };
  const watched = watch();
  while (performance.now() - startMs < seconds * 1000) {
    if (written - there > mostWaiting) await systemClock.sleep(5);
    else {
      await Promise.all(Array.from({ length: writers }, () => outbox.write()));
      written += writers * rowsPerInsert;
    }
  }
  const elapsed = (performance.now() - startMs) / 1000;
  watching = false;
  await watched;
  return Math.round(there / elapsed);
}

/**
 * Milliseconds from the making of each row to its append, of rows that were made after `fromMs`.
 */
async function readDelays({ kafka, topic }: Outbox, fromMs: number): Promise<number[]> {
  const delays: number[] = [];
  const options = { kafka, topic, from: 'beginning', readCommitted: false, until: 'end' } as const;
  for await (const { value, timestampMs } of readTopic(deps, options)) {
    const madeMs = Number(/"madeMs":([\d.]+)/.exec(value?.slice(0, 80) ?? '')?.[1] ?? 0);
    if (madeMs >= fromMs) delays.push(timestampMs - madeMs);
  }
  return delays;
}

function metersOf(stack: Stack, { pid }: Outbox): (readonly [name: string, read: () => ProcessUsage | undefined])[] {
  const { postgres, kafka } = stack;
  const tree = postgres.pid === undefined ? undefined : new ProcessTree(postgres.pid);
  return [
    ['debezium', () => processUsage(pid)],
    ...(tree === undefined ? [] : [['postgres', () => tree.usage()] as const]),
    ...kafka.nodes.map((node) => ['kafka', () => processUsage(node.pid)] as const),
  ];
}

function micros(cpuSeconds: number, rows: number): number {
  return round((cpuSeconds * 1e6) / rows);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
