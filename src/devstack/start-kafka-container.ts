import type { Clock } from '../runtime/clock.ts';
import { loopbackContainer } from './docker.ts';
import { freePort } from './free-port.ts';
import { kafkaVersion } from './kafka-jars.ts';
import { kafkaUuid, smallClusterSettings } from './kafka-node.ts';
import type { RunningKafka } from './running-kafka.ts';
import { kafkaAnswers } from './running-kafka.ts';

export const kafkaImage = `apache/kafka:${kafkaVersion}`;

/** A single Kafka broker in a container, on a free port. testcontainers' own watcher removes it when we are killed. */
export async function startKafkaContainer(deps: { readonly clock: Clock }): Promise<RunningKafka> {
  const { Wait } = await import('testcontainers');
  const { container: description, host } = await loopbackContainer(kafkaImage);
  // The broker tells its clients where it is, so it has to know the outer port before it starts: one that the engine chooses is too late.
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

/** "Started" is said before the broker is admitted to its cluster, and clients are told of no broker until then. */
async function untilBrokers(clock: Clock, at: { readonly host: string; readonly port: number }): Promise<boolean> {
  const deadline = clock.monotonicMs() + 30_000;
  while ((await kafkaAnswers(at, 2_000)) === 0) {
    if (clock.monotonicMs() > deadline) return false;
    await clock.sleep(50);
  }
  return true;
}

/** The image takes each setting from a variable: upper case, dots to underscores, KAFKA_ before it. */
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
    Object.entries(settings).map(([name, value]) => [`KAFKA_${name.toUpperCase().replaceAll('.', '_')}`, String(value)]),
  );
}
