import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Ambient } from '../../observability/ambient.ts';
import { makeTemporaryFolder } from '../../runtime/temporary-folder.ts';
import { cachedFolder } from './cached-folder.ts';
import { freePort } from './free-port.ts';
import { javaVersion, type KafkaJars, kafkaJars, kafkaVersion, lookupEnv, type ProgramLookup } from './kafka-jars.ts';
import {
  type KafkaClusterPlan,
  KafkaNode,
  type KafkaNodePlan,
  kafkaUuid,
  smallJvm,
  writeKafkaNodeFiles,
} from './kafka-node.ts';
import type { RunningKafka } from './running-kafka.ts';

const run = promisify(execFile);

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
  deps: Pick<Ambient, 'clock' | 'log'>,
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
  deps: Pick<Ambient, 'clock' | 'log'>,
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
      ...(advertisedPort !== undefined && { advertisedPort }),
      ...(id <= controllers ? { controllerPort: await freePort() } : {}),
    });
  }
  return { clusterId: kafkaUuid(), nodes };
}

function prepareNodes(
  deps: Pick<Ambient, 'clock' | 'log'>,
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
        ...(searchPath !== undefined && { searchPath }),
      }),
    ),
  );
}

async function stopAll(nodes: readonly KafkaNode[]): Promise<void> {
  await Promise.all(nodes.map((node) => node.stop()));
}

/** Everything a broker is started from; the same for every broker on this machine. */
interface KafkaImage {
  readonly classPath: string;
  readonly bootstrapCheckpoint: string;
  /**
   * The classes of an earlier broker, in the virtual machine's own form: 0.5 s of CPU less at each
   * start.
   */
  readonly classArchive: string;
}

/**
 * Jars, formatted folder and class archive from the cache, made when they are not there (5 s and 5
 * s). Throws `MissingPartError`.
 */
export async function kafkaImage(
  deps: Pick<Ambient, 'clock' | 'log'>,
  options: ProgramLookup & { readonly cacheDir: string },
): Promise<KafkaImage> {
  const version = await javaVersion(options);
  const jars = await kafkaJars(deps, options);
  // The archive holds the jars' paths and fits one virtual machine only.
  const recipe = createHash('sha256')
    .update([jars.classPath, version, ...smallJvm].join('\n'))
    .digest('hex')
    .slice(0, 12);
  const path = join(options.cacheDir, `kafka-${kafkaVersion}-image-${recipe}`);
  await cachedFolder(deps, { path, build: (folder) => buildImage(deps, folder, jars, options) });
  return { classPath: jars.classPath, ...filesOf(path) };
}

function filesOf(folder: string) {
  return { bootstrapCheckpoint: join(folder, 'bootstrap.checkpoint'), classArchive: join(folder, 'broker.jsa') };
}

async function buildImage(
  deps: Pick<Ambient, 'clock' | 'log'>,
  folder: string,
  jars: KafkaJars,
  lookup: ProgramLookup,
): Promise<void> {
  deps.log.info('preparing Kafka for quick starts, once');
  const files = filesOf(folder);
  const node = { id: 1, port: await freePort(), controllerPort: await freePort() };
  const cluster = { clusterId: kafkaUuid(), nodes: [node] };
  await format(files.bootstrapCheckpoint, { cluster, node, classPath: jars.classPath, lookup });
  const broker = await KafkaNode.prepare(deps, {
    ...{ cluster, node, classPath: jars.classPath, bootstrapCheckpoint: files.bootstrapCheckpoint },
    jvm: [`-XX:ArchiveClassesAtExit=${files.classArchive}`],
    // The archive is written at the end of an orderly exit.
    stopSignal: 'TERM',
    ...lookup,
  });
  try {
    await broker.start();
    await broker.untilAnswering(1, 60_000);
  } finally {
    await broker.stop();
  }
}

async function format(
  checkpoint: string,
  options: Pick<Parameters<typeof writeKafkaNodeFiles>[1], 'cluster' | 'node'> & {
    classPath: string;
    lookup: ProgramLookup;
  },
): Promise<void> {
  const folder = await makeTemporaryFolder('tidemark-kafka-format-');
  try {
    const settings = await writeKafkaNodeFiles(folder, options);
    const tool = ['kafka.tools.StorageTool', 'format', '-t', options.cluster.clusterId, '-c', settings];
    const java = ['-cp', options.classPath, `-Dlog4j2.configurationFile=${join(folder, 'log4j2.properties')}`];
    await run('java', [...java, ...tool], { timeout: 60_000, ...lookupEnv(options.lookup) });
    await copyFile(join(folder, 'data', 'bootstrap.checkpoint'), checkpoint);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
