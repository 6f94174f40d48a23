import { randomBytes } from 'node:crypto';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type KafkaSettings, smallClusterSettings } from './kafka-settings.ts';

/** One node's place in the cluster. */
export interface KafkaNodePlan {
  readonly id: number;
  readonly port: number;
  /** Where clients are told to find it, if not at `port`: a proxy before it. In a cluster the other brokers are told the same. */
  readonly advertisedPort?: number;
  /** Set on nodes that are controllers besides. */
  readonly controllerPort?: number;
}

export interface KafkaClusterPlan {
  readonly clusterId: string;
  readonly nodes: readonly KafkaNodePlan[];
}

/** 16 random bytes as Kafka writes them. One that begins with a dash would be taken for an option by Kafka's own tools. */
export function kafkaUuid(): string {
  const id = randomBytes(16).toString('base64url');
  return id.startsWith('-') ? kafkaUuid() : id;
}

/** Writes what a node finds at its start: settings, log4j's settings, and a data folder that is formatted already. Returns the settings' path. */
export async function writeKafkaNodeFiles(
  folder: string,
  options: { readonly cluster: KafkaClusterPlan; readonly node: KafkaNodePlan; readonly bootstrapCheckpoint?: string },
): Promise<string> {
  const data = join(folder, 'data');
  const settings = join(folder, 'server.properties');
  await mkdir(data, { recursive: true });
  await writeFile(settings, properties(serverSettings(options.cluster, options.node, data)));
  await writeFile(join(folder, 'log4j2.properties'), log4jSettings);
  if (options.bootstrapCheckpoint === undefined) return settings;
  // What `kafka-storage format` writes (0.6 to 1.8 s a node); the checkpoint holds only the feature levels, the same for every node.
  await copyFile(options.bootstrapCheckpoint, join(data, 'bootstrap.checkpoint'));
  const meta = { version: 1, 'cluster.id': options.cluster.clusterId, 'node.id': options.node.id, 'directory.id': kafkaUuid() };
  await writeFile(join(data, 'meta.properties'), properties(meta));
  return settings;
}

function serverSettings(cluster: KafkaClusterPlan, node: KafkaNodePlan, data: string): KafkaSettings {
  const controllers = cluster.nodes.filter(({ controllerPort }) => controllerPort !== undefined);
  const listeners = [`PLAINTEXT://127.0.0.1:${node.port}`];
  if (node.controllerPort !== undefined) listeners.push(`CONTROLLER://127.0.0.1:${node.controllerPort}`);
  return {
    'process.roles': node.controllerPort === undefined ? 'broker' : 'broker,controller',
    'node.id': node.id,
    'controller.quorum.voters': controllers.map(({ id, controllerPort }) => `${id}@127.0.0.1:${controllerPort}`).join(','),
    'controller.listener.names': 'CONTROLLER',
    listeners: listeners.join(','),
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${node.advertisedPort ?? node.port}`,
    'log.dirs': data,
    ...smallClusterSettings(cluster.nodes.length),
  };
}

const log4jSettings = properties({
  'rootLogger.level': 'WARN',
  'rootLogger.appenderRef.out.ref': 'out',
  'appender.out.type': 'Console',
  'appender.out.name': 'out',
  'appender.out.layout.type': 'PatternLayout',
  'appender.out.layout.pattern': '%p %c: %m%n%throwable{short}',
});

function properties(values: KafkaSettings): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}
