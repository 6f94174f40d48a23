import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Log } from '../observability/log.ts';
import type { Clock } from '../runtime/clock.ts';
import { GuardedProcess } from './guarded-process.ts';
import { lookupEnv, type ProgramLookup } from './java-version.ts';
import { kafkaAnswers } from './kafka-answers.ts';
import type { KafkaClusterPlan, KafkaNodePlan } from './kafka-node-files.ts';
import { writeKafkaNodeFiles } from './kafka-node-files.ts';

export interface KafkaNodeOptions extends ProgramLookup {
  readonly cluster: KafkaClusterPlan;
  readonly node: KafkaNodePlan;
  readonly classPath: string;
  readonly bootstrapCheckpoint: string;
  /** Arguments of the virtual machine besides ours. */
  readonly jvm: readonly string[];
  /** KILL where the data goes with the process; TERM to let it write what it writes at its end (0.4 to 1 s more). */
  readonly stopSignal: 'KILL' | 'TERM';
}

/** One core's compiler and collector, a small heap: 0.8 s of CPU until it answers instead of 2.4 s, at the same throughput over 4 s. */
export const smallJvm = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xlog:disable'];

/**
 * One Kafka process with its folder. States: running → exited (killed, crashed) → running (`start` again) …, stopped for good.
 * Invariant: folder and ports stay the same until `stop`.
 */
export class KafkaNode {
  private process: GuardedProcess | undefined;
  private readonly lastLines: string[] = [];
  private readonly deps: { readonly clock: Clock; readonly log: Log };
  private readonly options: KafkaNodeOptions;
  private readonly folder: string;

  private constructor(deps: { readonly clock: Clock; readonly log: Log }, options: KafkaNodeOptions, folder: string) {
    this.deps = deps;
    this.options = options;
    this.folder = folder;
  }

  /** A node with a formatted folder of its own, not yet started. */
  static async prepare(deps: { readonly clock: Clock; readonly log: Log }, options: KafkaNodeOptions): Promise<KafkaNode> {
    const folder = await mkdtemp(join(tmpdir(), `tidemark-kafka-${options.node.id}-`));
    await writeKafkaNodeFiles(folder, options);
    return new KafkaNode(deps, options, folder);
  }

  get id(): number {
    return this.options.node.id;
  }

  get port(): number {
    return this.options.node.port;
  }

  /** Of the running process; 0 when there was none yet. */
  get pid(): number {
    return this.process?.pid ?? 0;
  }

  /** Starts the process, after ending what is left of the one before. Does not wait until it answers. */
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
      onLine: (line) => this.note(line),
    });
  }

  /** Resolves when the node answers and sees at least `brokers` brokers. Rejects when it ends before that, or after `limitMs`. */
  async untilAnswering(brokers: number, limitMs: number): Promise<void> {
    const deadline = this.deps.clock.monotonicMs() + limitMs;
    let over = false;
    void this.process?.exited.then(() => {
      over = true;
    });
    while ((await kafkaAnswers({ host: '127.0.0.1', port: this.port }, 2_000)) < brokers) {
      if (over || this.deps.clock.monotonicMs() > deadline) {
        throw new Error(`kafka node ${this.id} ${over ? 'ended' : 'does not answer'}:\n${this.lastLines.join('\n')}`);
      }
      await this.deps.clock.sleep(50);
    }
  }

  /** Ends the process and removes the folder. */
  async stop(): Promise<void> {
    await this.process?.stop();
  }

  private note(line: string): void {
    this.deps.log.debug({ line, node: this.id }, 'embedded kafka');
    this.lastLines.push(line);
    if (this.lastLines.length > 30) this.lastLines.shift();
  }
}
