import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CliIo } from '../../cli/io/io.ts';
import type { Logger } from '../../observability/logger.ts';
import { ProgramError } from '../../runtime/program-error.ts';
import { unlessAborted, withDeadline } from '../../runtime/waiting.ts';
import { MissingPartError } from '../devstack/missing-part-error.ts';
import type { RunningKafka } from '../devstack/running-kafka.ts';
import type { RunningPostgres } from '../devstack/running-postgres.ts';
import { startKafka } from '../devstack/start-kafka.ts';
import { startPostgres } from '../devstack/start-postgres.ts';
import { type ChildProgram, jsonObject, startChild } from './child-program.ts';
import { type DemoSandbox, demoSandbox, venueNames } from './demo-sandbox.ts';

/** The sandbox's made-up market. */
export interface Market {
  readonly venue: (typeof venueNames)[number];
  /** Order changes a second. */
  readonly rate: number;
  /** The same seed makes the same orders. */
  readonly seed: number;
  /** No orders but those placed by people. */
  readonly isEmpty?: boolean;
}

export function addMarketFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--venue <name>', 'what the sandbox is: the platform that Tidemark follows, or Alpaca')
        .choices(venueNames)
        .default('platform'),
    )
    .option('--rate <n>', 'order changes a second', wholeNumber, 20)
    .option('--seed <n>', 'the same seed makes the same orders', wholeNumber, 1);
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,7}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of at most seven digits.');
  return Number(text);
}

interface Stopped {
  stop(): Promise<void>;
}

/** A part asked to stop during its start may take this long to start. */
const beginsWithinMs = 10_000;

/** Aborts at the first ending signal, and says so. */
export function interruption(io: Pick<CliIo, 'onSignal'>, say: (line: string) => void): AbortController {
  const interrupted = new AbortController();
  io.onSignal(() => {
    say('Ending …');
    const sentence = 'it was interrupted before everything was started';
    interrupted.abort(new ProgramError(sentence, { code: 'INTERRUPTED', exitCode: 130 }));
  });
  return interrupted;
}

/** The parts around the service, each as it runs in production. */
export interface Parts {
  readonly postgres: RunningPostgres;
  /** Or why there is none, in one sentence. */
  readonly kafka: RunningKafka | MissingPartError;
  startSandbox(market: Market): Promise<DemoSandbox>;
  /**
   * Starts a part: the parts' `stop` stops it first, also while it is starting. Rejects with the
   * signal's reason, and starts nothing after that.
   */
  begin<Part extends Stopped>(start: () => Promise<Part>): Promise<Part>;
  /** Stops everything that was started, the last first. */
  stop(): Promise<void>;
}

const unwanted = new MissingPartError('kafka', 'No Kafka: nothing here reads from one.');

interface StartOptions {
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
  /** False: there shall be none. */
  readonly kafka?: boolean;
}

/**
 * Starts Postgres and Kafka, or takes those that the environment names. Started parts are stopped
 * again when a later one fails, and at an interruption.
 */
export async function startParts(
  io: CliIo,
  log: Logger,
  { say, signal, kafka: wanted = true }: StartOptions,
): Promise<Parts> {
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const each of stops.reverse())
      await each().catch((error: unknown) => log.warn({ err: error }, 'a part did not stop'));
  };
  const { clock, cacheDir, env } = io;
  const begin: Parts['begin'] = (start) => {
    signal.throwIfAborted();
    const started = start();
    const there = started.catch(() => undefined);
    stops.push(async () => (await withDeadline(clock, beginsWithinMs, 'its start', there))?.stop());
    return unlessAborted(started, signal);
  };
  const givenBrokers = (env['KAFKA_BROKERS'] ?? '').split(',').filter((broker) => broker !== '');
  // If the environment names a Kafka, that one is meant, and its fault ends the start. If this
  // machine can't have one, a part of the demo can be shown all the same.
  const ifNone = (error: unknown) => {
    if (error instanceof MissingPartError && givenBrokers.length === 0) return error;
    throw error;
  };
  try {
    say('Starting Postgres …');
    const givenUrl = env['DATABASE_URL'];
    const postgres = await begin(() =>
      startPostgres({ clock, log, cacheDir, ...(givenUrl !== undefined && { givenUrl }) }),
    );
    if (wanted) say('Starting Kafka …');
    const kafka = wanted
      ? await begin(() => startKafka({ clock, log, cacheDir, givenBrokers })).catch(ifNone)
      : unwanted;
    return {
      postgres,
      kafka,
      startSandbox: async (market) => demoSandbox((await begin(() => startSandbox(io, market))).answer as Described),
      ...{ begin, stop },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Described = Parameters<typeof demoSandbox>[0];

function startSandbox(io: CliIo, { venue, rate, seed, isEmpty = false }: Market): Promise<ChildProgram> {
  // At Alpaca one account is followed: every change is there.
  const accounts = venue === 'alpaca' && !isEmpty ? ['--accounts', '1'] : [];
  const shape = ['--venue', venue, ...accounts, ...(isEmpty ? ['--open-orders', '0'] : [])];
  const args = ['sandbox', '--json', ...shape, '--rate', String(rate), '--seed', String(seed)];
  return startChild(io, { name: 'sandbox', args, env: inheritedEnv(io), pick: jsonObject, startMs: 30_000 });
}

/**
 * A child's variables from our environment, and none that would configure it without our knowledge.
 */
export function inheritedEnv(io: CliIo): Record<string, string> {
  const kept = Object.entries(io.env).filter(
    ([name]) => !/^(DATABASE_URL|KAFKA_|PLATFORM_|VENUES|ALPACA_|TIDEMARK_(?!LOG_LEVEL))/.test(name),
  );
  return Object.fromEntries(kept.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
