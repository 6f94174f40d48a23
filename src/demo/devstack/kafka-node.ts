import { randomBytes } from 'node:crypto';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ambient } from '../../observability/ambient.ts';
import { makeTemporaryFolder } from '../../runtime/temporary-folder.ts';
import { GuardedProcess } from './guarded-process.ts';
import { lookupEnv, type ProgramLookup } from './kafka-jars.ts';
import { kafkaAnswers } from './running-kafka.ts';

/** Broker settings by name, as Kafka's documentation writes them. */
type KafkaSettings = Record<string, string | number | boolean>;

/**
 * A small cluster's settings for `brokers` brokers, without its listeners' settings; all others are
 * Kafka's defaults.
 */
export function smallClusterSettings(brokers: number): KafkaSettings {
  return {
    'auto.create.topics.enable': false,
    'group.initial.rebalance.delay.ms': 0,
    // The default takes 128 MB from the heap for compaction.
    'log.cleaner.dedupe.buffer.size': 16 * 1024 * 1024,
    // A killed node is noticed after 3 s instead of 9: only then do its leaders move, and only then
    // may it come back.
    'broker.heartbeat.interval.ms': 500,
    'broker.session.timeout.ms': 3_000,
    ...internalTopics(Math.min(3, brokers)),
  };
}

/**
 * One partition each instead of 50: nothing here has enough groups to share them out, and each
 * one's first use is a second faster.
 */
function internalTopics(replicas: number): KafkaSettings {
  return Object.fromEntries(
    ['offsets.topic', 'transaction.state.log', 'share.coordinator.state.topic'].flatMap((topic) => [
      [`${topic}.num.partitions`, 1],
      [`${topic}.replication.factor`, replicas],
      // The offsets topic has no such setting: it follows min.insync.replicas, and this is 1.
      ...(topic === 'offsets.topic' ? [] : [[`${topic}.min.isr`, 1]]),
    ]),
  );
}

interface ClientListener {
  readonly port: number;
  readonly advertisedPort: number;
}

/** One node's place in the cluster. */
export interface KafkaNodePlan {
  readonly id: number;
  readonly port: number;
  /**
   * The port that clients get for it, if it is not `port`: a proxy's port before it. In a cluster
   * the other brokers get the same.
   */
  readonly advertisedPort?: number;
  /** Further listeners for clients: a client that comes by `port` gets `advertisedPort`. */
  readonly clientListeners?: readonly ClientListener[];
  /** Set on nodes that are also controllers. */
  readonly controllerPort?: number;
}

export interface KafkaClusterPlan {
  readonly clusterId: string;
  readonly nodes: readonly KafkaNodePlan[];
}

/**
 * 16 random bytes as Kafka writes them. Kafka's own tools would take one with a dash at its start
 * for an option.
 */
export function kafkaUuid(): string {
  const id = randomBytes(16).toString('base64url');
  return id.startsWith('-') ? kafkaUuid() : id;
}

/**
 * Writes the files for a node's start: settings, log4j's settings, and a formatted data folder.
 * Returns the settings' path.
 */
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
  // The same as `kafka-storage format` writes (0.6 to 1.8 s a node); the checkpoint holds only the
  // feature levels, the same for every node.
  await copyFile(options.bootstrapCheckpoint, join(data, 'bootstrap.checkpoint'));
  const meta = {
    version: 1,
    'cluster.id': options.cluster.clusterId,
    'node.id': options.node.id,
    'directory.id': kafkaUuid(),
  };
  await writeFile(join(data, 'meta.properties'), properties(meta));
  return settings;
}

function serverSettings(cluster: KafkaClusterPlan, node: KafkaNodePlan, data: string): KafkaSettings {
  const controllers = cluster.nodes.filter(({ controllerPort }) => controllerPort !== undefined);
  const clients = (node.clientListeners ?? []).map((listener, index) => ({ name: `CLIENT${index + 1}`, ...listener }));
  const listeners = [
    `PLAINTEXT://127.0.0.1:${node.port}`,
    ...clients.map(({ name, port }) => `${name}://127.0.0.1:${port}`),
  ];
  const advertised = [
    `PLAINTEXT://127.0.0.1:${node.advertisedPort ?? node.port}`,
    ...clients.map(({ name, advertisedPort }) => `${name}://127.0.0.1:${advertisedPort}`),
  ];
  if (node.controllerPort !== undefined) listeners.push(`CONTROLLER://127.0.0.1:${node.controllerPort}`);
  return {
    'process.roles': node.controllerPort === undefined ? 'broker' : 'broker,controller',
    'node.id': node.id,
    'controller.quorum.voters': controllers
      .map(({ id, controllerPort }) => `${id}@127.0.0.1:${controllerPort}`)
      .join(','),
    'controller.listener.names': 'CONTROLLER',
    listeners: listeners.join(','),
    'advertised.listeners': advertised.join(','),
    'listener.security.protocol.map': ['PLAINTEXT', 'CONTROLLER', ...clients.map(({ name }) => name)]
      .map((name) => `${name}:PLAINTEXT`)
      .join(','),
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

interface KafkaNodeOptions extends ProgramLookup {
  readonly cluster: KafkaClusterPlan;
  readonly node: KafkaNodePlan;
  readonly classPath: string;
  readonly bootstrapCheckpoint: string;
  /** The virtual machine's arguments in addition to ours. */
  readonly jvm: readonly string[];
  /**
   * KILL if the data is removed with the process; TERM lets it finish its last writes (0.4 to 1 s
   * more).
   */
  readonly stopSignal: 'KILL' | 'TERM';
}

/**
 * One core's compiler and collector, a small heap: 0.8 s of CPU until it answers instead of 2.4 s,
 * at the same throughput over 4 s.
 */
export const smallJvm = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xlog:disable'];

/**
 * One Kafka process with its folder. States: running → exited (killed, crashed) → running (`start`
 * again) …, stopped for good. Invariant: folder and ports stay the same until `stop`.
 */
export class KafkaNode {
  private process: GuardedProcess | undefined;
  private readonly deps: Pick<Ambient, 'clock' | 'log'>;
  private readonly options: KafkaNodeOptions;
  private readonly folder: string;

  private constructor(deps: Pick<Ambient, 'clock' | 'log'>, options: KafkaNodeOptions, folder: string) {
    this.deps = deps;
    this.options = options;
    this.folder = folder;
  }

  /** A node with a formatted folder of its own, not yet started. */
  static async prepare(deps: Pick<Ambient, 'clock' | 'log'>, options: KafkaNodeOptions): Promise<KafkaNode> {
    const folder = await makeTemporaryFolder(`tidemark-kafka-${options.node.id}-`);
    await writeKafkaNodeFiles(folder, options);
    return new KafkaNode(deps, options, folder);
  }

  get id(): number {
    return this.options.node.id;
  }

  get port(): number {
    return this.options.node.port;
  }

  /** In the plan's order. */
  get clientPorts(): readonly number[] {
    return (this.options.node.clientListeners ?? []).map(({ port }) => port);
  }

  /** The running process's id; 0 when there was none yet. */
  get pid(): number {
    return this.process?.pid ?? 0;
  }

  /**
   * Starts the process, after ending the rest of the one before. Does not wait until it answers.
   */
  async start(): Promise<void> {
    await this.process?.stop({ keepFolder: true });
    const { classPath, jvm, stopSignal } = this.options;
    this.process = await GuardedProcess.start(this.deps, {
      name: `kafka node ${this.id}`,
      command: [
        ...(['java', ...smallJvm, ...jvm] as const),
        ...['-cp', classPath, `-Dlog4j2.configurationFile=${join(this.folder, 'log4j2.properties')}`],
        ...['kafka.Kafka', join(this.folder, 'server.properties')],
      ],
      folder: this.folder,
      stopSignal,
      patienceMs: 20_000,
      ...lookupEnv(this.options),
      onLine: (line) => this.deps.log.debug({ line, node: this.id }, 'embedded kafka'),
    });
  }

  /**
   * Resolves when the node answers and sees at least `brokers` brokers. Rejects when it ends before
   * that, or after `limitMs`.
   */
  async untilAnswering(brokers: number, limitMs: number): Promise<void> {
    const deadline = this.deps.clock.monotonicMs() + limitMs;
    let over = false;
    void this.process?.exited.then(() => {
      over = true;
    });
    while ((await kafkaAnswers({ host: '127.0.0.1', port: this.port }, 2_000)) < brokers) {
      if (over || this.deps.clock.monotonicMs() > deadline) {
        throw this.process?.fault(over ? 'ended before it answered' : 'does not answer');
      }
      await this.deps.clock.sleep(50);
    }
  }

  /** Ends the process and removes the folder. */
  async stop(): Promise<void> {
    await this.process?.stop();
  }
}
