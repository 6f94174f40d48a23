import { connect } from 'node:net';
import type { Log } from '../observability/log.ts';
import type { Clock } from '../runtime/clock.ts';
import { dockerAnswers } from './docker.ts';
import type { ProgramLookup } from './kafka-jars.ts';
import { MissingPartError } from './missing-part-error.ts';
import type { RunningKafka } from './running-kafka.ts';
import { startEmbeddedKafka } from './start-embedded-kafka.ts';
import { startKafkaContainer } from './start-kafka-container.ts';

export interface StartKafkaOptions extends ProgramLookup {
  readonly clock: Clock;
  readonly log: Log;
  /** Addresses that were given win, and are never replaced by something else when they do not answer. */
  readonly givenBrokers?: readonly string[];
  /** Kept between runs; holds the parts that took long to fetch or build. */
  readonly cacheDir: string;
  /** Default 1. Several are always processes of our own: they are for tests that kill or freeze one. */
  readonly nodes?: number;
}

/**
 * The real Kafka for demo, bench and tests: the given addresses, else a container where a Docker engine answers, else embedded.
 * Resolves when it answers. Throws `MissingPartError` with a sentence that says how to fix it.
 */
export async function startKafka(options: StartKafkaOptions): Promise<RunningKafka> {
  if (options.givenBrokers !== undefined && options.givenBrokers.length > 0) return givenKafka(options.givenBrokers);
  if ((options.nodes ?? 1) === 1 && (await dockerAnswers(options))) {
    try {
      return await startKafkaContainer(options);
    } catch (error) {
      options.log.warn({ err: error }, 'a Docker engine answers, but its Kafka did not start: starting an embedded one instead');
    }
  }
  return startEmbeddedKafka(options, options);
}

/** Only whether something listens: how to talk to it (TLS, SASL) is the service's configuration, not ours. */
async function givenKafka(brokers: readonly string[]): Promise<RunningKafka> {
  const listening = await Promise.all(brokers.map(listens));
  if (!listening.includes(true)) {
    const sentence = `KAFKA_BROKERS names ${brokers.join(', ')}, where nothing listens: start it, or unset KAFKA_BROKERS.`;
    throw new MissingPartError('kafka', sentence);
  }
  return {
    kind: 'given',
    brokers: [...brokers],
    describe: `Kafka, given, ${brokers.join(', ')}`,
    nodes: [],
    restartNode: () => Promise.reject(new Error('a given Kafka has no node of ours')),
    stop: () => Promise.resolve(),
  };
}

function listens(address: string): Promise<boolean> {
  const colon = address.lastIndexOf(':');
  return new Promise((resolve) => {
    const socket = connect({ host: address.slice(0, colon), port: Number(address.slice(colon + 1)), timeout: 5_000 });
    const finish = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => finish(true));
    socket.once('timeout', () => finish(false));
    socket.once('error', () => finish(false));
  });
}
