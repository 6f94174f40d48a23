import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Admin } from 'kafkajs';
import pg from 'pg';
import { pino } from 'pino';
import type { RunningKafka } from '../src/demo/devstack/running-kafka.ts';
import type { RunningPostgres } from '../src/demo/devstack/running-postgres.ts';
import { startKafka } from '../src/demo/devstack/start-kafka.ts';
import { startPostgres } from '../src/demo/devstack/start-postgres.ts';
import { systemClock } from '../src/runtime/clock.ts';
import { systemRandom } from '../src/runtime/random.ts';
import { kafkaDefaults } from '../src/service/log/kafka-options.ts';
import { applyTopics, planTopics } from '../src/service/log/plan-topics.ts';
import { withAdmin } from '../src/service/log/with-admin.ts';
import type { Cleanup } from './cleanup.ts';

/** The real servers that everything is measured on, with full durability. */
export interface Stack {
  readonly postgres: RunningPostgres;
  readonly kafka: RunningKafka;
  /** A new, empty database; its address. Dropped at the end, or by `drop`. */
  makeDatabase(part: string): Promise<{ readonly url: string; drop(): Promise<void> }>;
  /** A new topic of 12 partitions; its name. Deleted at the end. */
  makeTopic(part: string): Promise<string>;
}

/** 2 GB: what a minute at the highest rate writes. */
const agedSegments = 125;

export const benchLog = pino({ level: 'warn' }, pino.destination(2));

/**
 * Addresses given by DATABASE_URL and KAFKA_BROKERS win, then
 * containers, then embedded servers, as in the demo.
 */
export async function startStack(cleanup: Cleanup): Promise<Stack> {
  const cacheDir = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'tidemark');
  const given = { url: process.env['DATABASE_URL'], brokers: process.env['KAFKA_BROKERS'] };
  const postgres = await startPostgres({
    clock: systemClock,
    log: benchLog,
    cacheDir,
    ...(given.url === undefined ? {} : { givenUrl: given.url }),
  });
  cleanup.add(() => postgres.stop());
  if (given.url === undefined) await ageWriteAheadLog(postgres.url);
  const kafka = await startKafka({
    clock: systemClock,
    log: benchLog,
    cacheDir,
    ...(given.brokers === undefined ? {} : { givenBrokers: given.brokers.split(',') }),
  });
  cleanup.add(() => kafka.stop());
  const asAdmin = (work: (admin: Admin) => Promise<unknown>) =>
    withAdmin({ clock: systemClock, log: benchLog }, { ...kafkaDefaults, brokers: kafka.brokers }, work);
  return {
    postgres,
    kafka,
    async makeDatabase(part) {
      const name = `bench_${part}_${systemRandom.uuid().slice(0, 8)}`;
      await onServer(postgres.url, `create database ${name}`);
      const drop = cleanup.add(async () => {
        await onServer(postgres.url, `drop database ${name} with (force)`);
      });
      const url = new URL(postgres.url);
      url.pathname = `/${name}`;
      return { url: url.href, drop };
    },
    async makeTopic(part) {
      const name = `bench-${part}-${systemRandom.uuid().slice(0, 8)}`;
      const specs = [{ name, partitions: 12, settings: {} }];
      await asAdmin(async (admin) => applyTopics(admin, await planTopics(admin, specs), systemClock));
      cleanup.add(async () => void (await asAdmin((admin) => admin.deleteTopics({ topics: [name] }))));
      return name;
    },
  };
}

/** One statement on a connection of its own. Returns the rows. */
export async function onServer<Row extends pg.QueryResultRow>(
  url: string,
  statement: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 600_000 });
  await client.connect();
  try {
    const { rows } = await client.query<Row>(statement, values.length === 0 ? undefined : [...values]);
    return rows;
  } finally {
    await client.end();
  }
}

/**
 * A server that is new creates each segment of its write-ahead log inside somebody's
 * commit: 16 MB of zeros and a sync, 50 to 100 ms. One that has run for a while renames
 * the segments of its last checkpoint. This gives it as many as a long part needs, so
 * that what is measured is the second one.
 */
async function ageWriteAheadLog(url: string): Promise<void> {
  for (let segment = 0; segment < agedSegments; segment += 1) {
    await onServer(
      url,
      `select pg_logical_emit_message(false, 'bench', 'a switch from an empty segment does nothing'); select pg_switch_wal()`,
    );
  }
  await onServer(url, 'checkpoint');
}
