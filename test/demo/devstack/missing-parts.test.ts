import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../../src/demo/devstack/free-port.ts';
import { kafkaJars } from '../../../src/demo/devstack/kafka-jars.ts';
import { MissingPartError } from '../../../src/demo/devstack/missing-part-error.ts';
import { startEmbeddedKafka } from '../../../src/demo/devstack/start-embedded-kafka.ts';
import { startKafka } from '../../../src/demo/devstack/start-kafka.ts';
import { startPostgres } from '../../../src/demo/devstack/start-postgres.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { testLog } from '../../support/runs/test-log.ts';

/** Each in one sentence: what is missing and what fixes it. */
describe('a missing part', () => {
  const deps = { clock: systemClock, log: testLog };
  let cacheDir: string;

  beforeEach(() => {
    cacheDir = mkdtempSync(join(tmpdir(), 'tidemark-cache-'));
  });

  afterEach(() => rmSync(cacheDir, { recursive: true, force: true }));

  async function sentence(work: Promise<unknown>): Promise<string> {
    const error = await work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!(error instanceof MissingPartError)) throw error ?? new Error('it did not fail');
    expect([error.code, error.retryable]).toEqual(['MISSING_PART', false]);
    return error.message;
  }

  it('is Java, where it is not found', async () => {
    const message = await sentence(startEmbeddedKafka(deps, { cacheDir, searchPath: '' }));
    expect(message).toBe(
      'No Kafka: it needs Java 17 or newer and Java was not found; install a JRE 17 or newer ' +
        '(Debian: `apt-get install openjdk-17-jre-headless`), start a Docker engine, or set KAFKA_BROKERS.',
    );
  });

  it('is Maven, where the jars are not in the cache', async () => {
    const message = await sentence(kafkaJars(deps, { cacheDir, searchPath: '' }));
    expect(message).toBe(
      'No Kafka: its jars are not in the cache and Maven was not found; install it (Debian: `apt-get install maven`), ' +
        'start a Docker engine, or set KAFKA_BROKERS.',
    );
  });

  it('is a Kafka that was named but does not listen', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    expect(await sentence(startKafka({ ...deps, cacheDir, givenBrokers: [address] }))).toBe(
      `KAFKA_BROKERS names ${address}, where nothing listens: start it, or unset KAFKA_BROKERS.`,
    );
  });

  it('is a Postgres that was named but does not answer, told without its password', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const message = await sentence(startPostgres({ ...deps, cacheDir, givenUrl: `postgres://me:hush@${address}/db` }));
    expect(message).toContain(`DATABASE_URL names a Postgres at ${address} that does not answer (connect ECONNREFUSED`);
    expect(message).not.toContain('hush');
  });
});
