import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { systemClock } from '../../../src/runtime/clock.ts';
import type { TopicNames } from '../../../src/service/log/topics.ts';
import { prefixOf } from '../../support/servers/topics.ts';

/**
 * Lines of kafkajs and of librdkafka (`%4|1690000000.123|SESSTMOUT|…`): what these say of a broker
 * that is slow for a moment is not the program's word.
 */
const ofLibrary = /"logger":"kafkajs"|^%\d\|/;

/** What every program of docs/consumers asks of its environment, with a group of its own. */
export function consumerEnvironment(brokers: readonly string[], topics: TopicNames, stateFile: string) {
  return {
    ...process.env,
    KAFKA_BROKERS: brokers.join(','),
    TOPIC_PREFIX: prefixOf(topics),
    GROUP_ID: topics.updates,
    STATE_FILE: stateFile,
    NODE_NO_WARNINGS: '1',
  };
}

/**
 * A program of docs/consumers as a supervisor runs it: one that ends by itself is started again
 * with what it kept, unless `isOnce`.
 */
export class ConsumerProcess {
  /** Lines of standard output, over all its starts. */
  readonly said: string[] = [];
  /** Its own lines of standard error. */
  readonly warned: string[] = [];
  readonly #command: readonly string[];
  readonly #env: NodeJS.ProcessEnv;
  readonly #isOnce: boolean;
  #child: ChildProcess;
  #isKilled = false;

  constructor(command: readonly string[], env: NodeJS.ProcessEnv, { isOnce = false } = {}) {
    this.#command = command;
    this.#env = env;
    this.#isOnce = isOnce;
    this.#child = this.#start();
  }

  #start(): ChildProcess {
    const [program = '', ...args] = this.#command;
    const child = spawn(program, args, { env: this.#env, stdio: ['ignore', 'pipe', 'pipe'] });
    createInterface(child.stdout).on('line', (line) => this.said.push(line));
    createInterface(child.stderr).on('line', (line) => {
      if (!ofLibrary.test(line)) this.warned.push(line);
    });
    child.once('close', () => void this.#startAgain());
    return child;
  }

  async #startAgain(): Promise<void> {
    if (this.#isOnce) return;
    await systemClock.sleep(1_000);
    if (!this.#isKilled) this.#child = this.#start();
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(name);
  }

  /** Kills it, and resolves once it is gone. */
  async kill(): Promise<void> {
    this.#isKilled = true;
    if (!this.isRunning) return;
    const ended = this.ended();
    this.#child.kill('SIGKILL');
    await ended;
  }

  /** The code that it ended with. */
  async ended(): Promise<unknown> {
    const [code] = await once(this.#child, 'close');
    return code;
  }
}
