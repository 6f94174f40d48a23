import type { Config, ConfigFault, ConfigWith, EffectiveValue } from '../../config/config.ts';
import { loadConfig } from '../../config/load-config.ts';
import type { OptionName } from '../../config/option-table.ts';
import type { Ambient } from '../../observability/ambient.ts';
import { createLogger, type Logger } from '../../observability/logger.ts';
import { exitCodes, ProgramError, sentenceOf } from '../../runtime/program-error.ts';
import { Secret } from '../../runtime/secret.ts';
import { kafkaOptions } from '../../service/log/kafka-options.ts';
import { type AdminDeps, withAdmin } from '../../service/log/with-admin.ts';
import type { CliIo } from './io.ts';

/** A command may read the settings in several places: each warning is said once. */
const warned = new WeakMap<CliIo, Set<string>>();

/**
 * The configuration with the options that this command needs. Warnings go to stderr; any fault ends
 * the command with 78, and all faults are printed at once.
 */
export function readConfig<K extends OptionName = never>(io: CliIo, needed: readonly K[] = []): ConfigWith<K> {
  return readSettings(io, needed).config;
}

/** The same, with the source of each value and its printable form. */
export function readSettings<K extends OptionName = never>(
  io: CliIo,
  needed: readonly K[] = [],
  neededBy?: Parameters<typeof loadConfig>[3],
): { readonly config: ConfigWith<K>; readonly effective: readonly EffectiveValue[] } {
  const result = loadConfig(io.env, io.readFile, needed, neededBy);
  const said = warned.get(io) ?? new Set<string>();
  warned.set(io, said);
  for (const warning of result.warnings) if (!said.has(warning)) io.stderr.write(`tidemark: warning: ${warning}\n`);
  for (const warning of result.warnings) said.add(warning);
  if (!result.ok) throw configError(result.faults);
  return result;
}

/** One line for each fault. */
export function configError(faults: readonly ConfigFault[]): ProgramError {
  const count = faults.length === 1 ? 'a fault' : `${faults.length} faults`;
  return new ProgramError(`the configuration has ${count}`, {
    code: 'CONFIG',
    exitCode: exitCodes.config,
    fix: faults.map(({ name, problem }) => `${name} ${problem}`).join('\n'),
  });
}

const ofOurs = 'Run `tidemark topics apply`, or set TIDEMARK_TOPIC_PREFIX as the service has it.';

/**
 * Throws an error with its fix when the brokers do not answer or a topic
 * does not exist, before anything else begins.
 */
export async function requireTopics(
  deps: AdminDeps,
  config: ConfigWith<'kafkaBrokers'>,
  topics: readonly string[],
  fix: string = ofOurs,
): Promise<void> {
  const there = await withAdmin(deps, kafkaOptions(config), (admin) => admin.listTopics()).catch(
    kafkaFault(
      'Kafka does not answer',
      `Check KAFKA_BROKERS (${config.kafkaBrokers.join(', ')}); \`tidemark doctor\` asks each broker.`,
    ),
  );
  const missing = topics.find((topic) => !there.includes(topic));
  if (missing === undefined) return;
  throw new ProgramError(`the topic ${missing} does not exist`, {
    code: 'NO_TOPIC',
    exitCode: exitCodes.unavailable,
    fix,
  });
}

/** For a failed request to Kafka. */
export function kafkaFault(message: string, fix: string): (error: unknown) => never {
  return (cause) => {
    const { unavailable: exitCode } = exitCodes;
    throw new ProgramError(`${message}: ${sentenceOf(cause)}`, { code: 'KAFKA', exitCode, fix, cause });
  };
}

/** The log of a long-lived process: stdout is its only output. */
export function serviceLogger(io: CliIo, config: Config): Logger {
  return logTo(io, config, 'stdout', config.logLevel);
}

/**
 * For a command that ends: on stderr, so stdout holds the result alone. Only problems, unless the
 * settings ask for more.
 */
export function commandLogger(io: CliIo, config: Config): Logger {
  return logTo(io, config, 'stderr', config.logLevel === 'info' ? 'warn' : config.logLevel);
}

/** For nearly every job in a command. */
export function ambientOf(io: CliIo, config: Config): Ambient {
  const { clock, random } = io;
  return { clock, random, log: commandLogger(io, config) };
}

function logTo(io: CliIo, config: Config, output: 'stdout' | 'stderr', level: Config['logLevel']): Logger {
  const secrets = Object.values(config).filter((value) => value instanceof Secret);
  const looks = { pretty: io.isTerminal, colour: io.colours.areOn(output) };
  return createLogger({ destination: io[output] }, { level, version: io.version, ...looks, secrets });
}
