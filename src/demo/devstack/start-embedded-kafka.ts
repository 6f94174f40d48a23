import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../../runtime/clock.ts';
import { freePort } from './free-port.ts';
import { type KafkaImage, kafkaImage } from './kafka-image.ts';
import type { ProgramLookup } from './kafka-jars.ts';
import { kafkaVersion } from './kafka-jars.ts';
import { type KafkaClusterPlan, KafkaNode, type KafkaNodePlan, kafkaUuid } from './kafka-node.ts';
import type { RunningKafka } from './running-kafka.ts';

export interface EmbeddedKafkaOptions extends ProgramLookup {
  readonly cacheDir: string;
  /**
   * Default 1. Two: node 1 alone is the controller, so kill node 2. Three or more: nodes 1 to 3 are
   * controllers, and any one may be killed.
   */
  readonly nodes?: number;
  /**
   * Ports advertised to clients, by node, instead of the nodes' own: the ports of proxies before
   * them.
   */
  readonly advertisedPorts?: readonly number[];
  /**
   * For each of these ports every node has one more listener that advertises it. So a one-node
   * cluster stands behind as many proxies, one for each client.
   */
  readonly clientProxies?: readonly number[];
}

const answerWithinMs = 60_000;

/**
 * Our own Kafka cluster on free ports of the loopback address, stopped with us. 1.2 s from call to
 * answer once the cache is made.
 */
export async function startEmbeddedKafka(
  deps: { readonly clock: Clock; readonly log: Logger },
  options: EmbeddedKafkaOptions,
): Promise<RunningKafka> {
  const image = await kafkaImage(deps, options);
  const nodes = await startOnFreePorts(deps, image, options);
  const brokers = nodes.map(({ port }) => `127.0.0.1:${port}`);
  return {
    kind: 'embedded',
    brokers,
    describe: `Kafka ${kafkaVersion}, embedded, ${brokers.join(', ')}`,
    nodes,
    async restartNode(id) {
      const node = nodes.find((candidate) => candidate.id === id);
      if (node === undefined) throw new Error(`this cluster has no node ${id}`);
      await node.start();
      await node.untilAnswering(1, answerWithinMs);
    },
    stop: () => stopAll(nodes),
  };
}

async function startOnFreePorts(
  deps: { readonly clock: Clock; readonly log: Logger },
  image: KafkaImage,
  options: EmbeddedKafkaOptions,
): Promise<KafkaNode[]> {
  const count = options.nodes ?? 1;
  for (let attempt = 1; ; attempt += 1) {
    const nodes = await prepareNodes(deps, await planCluster(count, options), image, options);
    try {
      await Promise.all(nodes.map((node) => node.start()));
      await Promise.all(nodes.map((node) => node.untilAnswering(count, answerWithinMs)));
      return nodes;
    } catch (error) {
      await stopAll(nodes);
      // Another program may have taken a port since it was found free; any other failure comes
      // again and is reported then.
      if (attempt === 2) throw error;
      deps.log.debug({ err: error }, 'embedded kafka did not start, trying other ports');
    }
  }
}

async function planCluster(count: number, options: EmbeddedKafkaOptions): Promise<KafkaClusterPlan> {
  const { advertisedPorts = [], clientProxies = [] } = options;
  const controllers = count >= 3 ? 3 : 1;
  const nodes: KafkaNodePlan[] = [];
  for (let id = 1; id <= count; id += 1) {
    const advertisedPort = advertisedPorts[id - 1];
    nodes.push({
      id,
      port: await freePort(),
      clientListeners: await Promise.all(
        clientProxies.map(async (advertisedPort) => ({ port: await freePort(), advertisedPort })),
      ),
      ...(advertisedPort === undefined ? {} : { advertisedPort }),
      ...(id <= controllers ? { controllerPort: await freePort() } : {}),
    });
  }
  return { clusterId: kafkaUuid(), nodes };
}

function prepareNodes(
  deps: { readonly clock: Clock; readonly log: Logger },
  cluster: KafkaClusterPlan,
  image: KafkaImage,
  lookup: ProgramLookup,
): Promise<KafkaNode[]> {
  const { classPath, bootstrapCheckpoint } = image;
  const jvm = [`-XX:SharedArchiveFile=${image.classArchive}`];
  const { searchPath } = lookup;
  return Promise.all(
    cluster.nodes.map((node) =>
      KafkaNode.prepare(deps, {
        ...{ cluster, node, classPath, bootstrapCheckpoint, jvm, stopSignal: 'KILL' },
        ...(searchPath === undefined ? {} : { searchPath }),
      }),
    ),
  );
}

async function stopAll(nodes: readonly KafkaNode[]): Promise<void> {
  await Promise.all(nodes.map((node) => node.stop()));
}
