import { connect } from 'node:net';
import type { Ambient } from '../../observability/ambient.ts';
import type { Clock } from '../../runtime/clock.ts';
import { splitHostPort } from '../../runtime/url-host.ts';
import { dockerAnswers, loopbackContainer } from './docker.ts';
import { freePort } from './free-port.ts';
import { kafkaVersion, type ProgramLookup } from './kafka-jars.ts';
import { kafkaUuid, smallClusterSettings } from './kafka-node.ts';
import { MissingPartError } from './missing-part-error.ts';
import { kafkaAnswers, type RunningKafka } from './running-kafka.ts';
import { startEmbeddedKafka } from './start-embedded-kafka.ts';

interface StartKafkaOptions extends ProgramLookup, Pick<Ambient, 'clock' | 'log'> {
  /** Given addresses win, and are never replaced by something else when they do not answer. */
  readonly givenBrokers?: readonly string[];
  /** Kept between runs; holds the parts that took long to fetch or build. */
  readonly cacheDir: string;
  /**
   * Default 1. Several are always our own processes: they are for tests that kill or freeze one.
   */
  readonly nodes?: number;
}

/**
 * The real Kafka for demo, bench and tests: the given addresses, else a container if a Docker
 * engine answers, else embedded. Resolves when it answers. Throws `MissingPartError` with a
 * sentence that says how to fix it.
 */
export async function startKafka(options: StartKafkaOptions): Promise<RunningKafka> {
  if (options.givenBrokers !== undefined && options.givenBrokers.length > 0) return givenKafka(options.givenBrokers);
  if ((options.nodes ?? 1) === 1 && (await dockerAnswers(options))) {
    try {
      return await startKafkaContainer(options);
    } catch (error) {
      options.log.warn(
        { err: error },
        'a Docker engine answers, but its Kafka did not start: starting an embedded one instead',
      );
    }
  }
  return startEmbeddedKafka(options, options);
}

/**
 * Checks only whether something listens: how to talk to it (TLS, SASL) is the service's
 * configuration, not ours.
 */
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
  return new Promise((resolve) => {
    const socket = connect({ ...splitHostPort(address), timeout: 5_000 });
    const finish = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => finish(true));
    socket.once('timeout', () => finish(false));
    socket.once('error', () => finish(false));
  });
}

export const kafkaImage = `apache/kafka:${kafkaVersion}`;

/**
 * A single Kafka broker in a container, on a free port. testcontainers' own watcher removes it when
 * we are killed.
 */
async function startKafkaContainer(deps: { readonly clock: Clock }): Promise<RunningKafka> {
  const { Wait } = await import('testcontainers');
  const { container: description, host } = await loopbackContainer(kafkaImage);
  // The broker gives its address to clients, so it has to know the outer port before it starts: a
  // port chosen by the engine is known too late.
  const port = await freePort();
  const address = `${host}:${port}`;
  const container = await description
    .withEnvironment({ CLUSTER_ID: kafkaUuid(), ...environment(address, port) })
    .withExposedPorts({ container: port, host: port })
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .withStartupTimeout(120_000)
    .start();
  if (!(await untilBrokers(deps.clock, { host, port }))) {
    await container.stop();
    throw new Error(`the Kafka in a container does not answer at ${address}`);
  }
  let stopping: Promise<unknown> | undefined;
  return {
    kind: 'container',
    brokers: [address],
    describe: `Kafka ${kafkaVersion}, container ${container.getId().slice(0, 12)} of ${kafkaImage}, ${address}`,
    nodes: [],
    restartNode: () => Promise.reject(new Error('a Kafka in a container has no node of ours')),
    async stop() {
      stopping ??= container.stop();
      await stopping;
    },
  };
}

/**
 * The broker logs "Started" before it is admitted to its cluster, and clients get no broker until
 * then.
 */
async function untilBrokers(clock: Clock, at: { readonly host: string; readonly port: number }): Promise<boolean> {
  const deadline = clock.monotonicMs() + 30_000;
  while ((await kafkaAnswers(at, 2_000)) === 0) {
    if (clock.monotonicMs() > deadline) return false;
    await clock.sleep(50);
  }
  return true;
}

/**
 * The image takes each setting from a variable: upper case, dots to underscores, KAFKA_ before it.
 */
function environment(address: string, port: number): Record<string, string> {
  const settings = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': '1@127.0.0.1:9093',
    'controller.listener.names': 'CONTROLLER',
    listeners: `PLAINTEXT://0.0.0.0:${port},CONTROLLER://127.0.0.1:9093`,
    'advertised.listeners': `PLAINTEXT://${address}`,
    ...smallClusterSettings(1),
  };
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [
      `KAFKA_${name.toUpperCase().replaceAll('.', '_')}`,
      String(value),
    ]),
  );
}
