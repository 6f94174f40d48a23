import type { TestProject } from 'vitest/node';
import { startKafka } from '../../../src/demo/devstack/start-kafka.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { testLog } from '../runs/test-log.ts';
import { cacheDir } from './cache-dir.ts';
import { shared } from './shared-part.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Bootstrap addresses of a broker on which tests make topics of their own (see topics.ts). */
    kafkaBrokers: string[];
  }
}

/**
 * One real Kafka for all tests of the run: KAFKA_BROKERS (comma separated) where it is set, else a
 * container, else embedded. Without one the run fails.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const givenBrokers = (process.env['KAFKA_BROKERS'] ?? '').split(',').filter((address) => address !== '');
  const { part, release } = await shared('kafka', () =>
    startKafka({ clock: systemClock, log: testLog, cacheDir, givenBrokers }),
  );
  project.provide('kafkaBrokers', part.brokers);
  return release;
}
