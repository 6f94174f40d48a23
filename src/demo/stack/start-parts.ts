import { type Command, InvalidArgumentError } from 'commander';
import type { CliIo } from '../../cli/io/io.ts';
import type { Logger } from '../../observability/logger.ts';
import type { SandboxDescription } from '../../sandbox/describe-sandbox.ts';
import { MissingPartError } from '../devstack/missing-part-error.ts';
import type { RunningKafka } from '../devstack/running-kafka.ts';
import type { RunningPostgres } from '../devstack/running-postgres.ts';
import { startKafka } from '../devstack/start-kafka.ts';
import { startPostgres } from '../devstack/start-postgres.ts';
import { type ChildProgram, jsonObject, startChild } from './child-program.ts';

/** The sandbox's made-up market. */
export interface Market {
  /** Order changes a second. */
  readonly rate: number;
  /** The same seed makes the same orders. */
  readonly seed: number;
}

export function addMarketFlags(command: Command): Command {
  return command
    .option('--rate <n>', 'order changes a second', wholeNumber, 20)
    .option('--seed <n>', 'the same seed makes the same orders', wholeNumber, 1);
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,7}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of at most seven digits.');
  return Number(text);
}

/** The parts around the service, each as it runs in production. */
export interface Parts {
  readonly postgres: RunningPostgres;
  /** Or why there is none, in one sentence. */
  readonly kafka: RunningKafka | MissingPartError;
  startSandbox(market: Market): Promise<SandboxDescription>;
  /** From now on the parts' `stop` calls this first. */
  onStop(stop: () => Promise<void>): void;
  /** Stops everything that was started, the last first. */
  stop(): Promise<void>;
}

/**
 * Starts Postgres and Kafka, or takes those that the environment names. Started parts are stopped
 * again when a later one fails.
 */
export async function startParts(io: CliIo, log: Logger, say: (line: string) => void): Promise<Parts> {
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const each of stops.reverse())
      await each().catch((error: unknown) => log.warn({ err: error }, 'a part did not stop'));
  };
  const { clock, cacheDir, env } = io;
  try {
    say('Starting Postgres …');
    const givenUrl = env['DATABASE_URL'];
    const postgres = await startPostgres({ clock, log, cacheDir, ...(givenUrl === undefined ? {} : { givenUrl }) });
    stops.push(() => postgres.stop());
    say('Starting Kafka …');
    const givenBrokers = (env['KAFKA_BROKERS'] ?? '').split(',').filter((broker) => broker !== '');
    const kafka = await startKafka({ clock, log, cacheDir, givenBrokers }).catch((error: unknown) => {
      // If the environment names a Kafka, that one is meant, and its fault ends the start. If this
      // machine can't have one, a part of the demo can be shown all the same.
      if (error instanceof MissingPartError && givenBrokers.length === 0) return error;
      throw error;
    });
    if (!(kafka instanceof MissingPartError)) stops.push(() => kafka.stop());
    return {
      postgres,
      kafka,
      startSandbox: async (market) => {
        const sandbox = await startSandbox(io, market);
        stops.push(() => sandbox.stop());
        return sandbox.answer as SandboxDescription;
      },
      onStop: (each) => void stops.push(each),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function startSandbox(io: CliIo, { rate, seed }: Market): Promise<ChildProgram> {
  const args = ['sandbox', '--json', '--rate', String(rate), '--seed', String(seed)];
  return startChild(io, { name: 'sandbox', args, env: inheritedEnv(io), pick: jsonObject, startMs: 30_000 });
}

/**
 * A child's variables from our environment, and none that would configure it without our knowledge.
 */
export function inheritedEnv(io: CliIo): Record<string, string> {
  const kept = Object.entries(io.env).filter(
    ([name]) => !/^(DATABASE_URL|KAFKA_|PLATFORM_|TIDEMARK_(?!LOG_LEVEL))/.test(name),
  );
  return Object.fromEntries(kept.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
