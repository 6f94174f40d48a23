import { Command } from 'commander';
import type { ConfigWith } from '../config/config.ts';
import { plural } from '../runtime/plural.ts';
import { exitCodes, ProgramError } from '../runtime/program-error.ts';
import { kafkaOptions } from '../service/log/kafka-options.ts';
import { topicNames } from '../service/log/topics.ts';
import { highestGeneration } from '../service/log/update-position.ts';
import { type AfterRestore, afterRestore } from '../store/fleet/lane-store.ts';
import { defaultPartitionRows } from '../store/migrate.ts';
import { sqlstateOf } from '../store/session/retry-transaction.ts';
import { numberBetween } from './io/flag-text.ts';
import { type CliIo, printResult } from './io/io.ts';
import { ambientOf, kafkaFault, readConfig, requireTopics } from './io/read-config.ts';
import { withDatabase } from './with-database.ts';

const examples = `
Examples:
  $ DATABASE_URL=postgres://owner@db/tidemark tidemark after-restore
  $ tidemark after-restore --at-least 4 --json      without asking Kafka: { "generation": 4, "attempts": 0 }

Run it as the owner of the database, before the service starts on the restored copy (docs/runbooks/after-restore.md). A service that runs is fenced, and goes on
under the new generation. It halts placing: commands made since the copy are not in the journal. Each run raises the generation once more, which harms nothing.`;

interface AfterRestoreFlags {
  readonly atLeast?: number;
  readonly json?: true;
}

/** Prepares a restored database: no revision seen by consumers may come twice. */
export function afterRestoreCommand(io: CliIo): Command {
  return new Command('after-restore')
    .description(
      'Raises the generation of published updates, after the database was restored from a copy or a failover lost commits.',
    )
    .option(
      '--at-least <n>',
      'the least generation; Kafka is not asked which ones were used',
      numberBetween(1, 999_999),
    )
    .option('--json', 'print { generation, attempts } as JSON')
    .addHelpText('after', examples)
    .action((flags: AfterRestoreFlags) => runAfterRestore(io, flags));
}

async function runAfterRestore(io: CliIo, { atLeast, ...flags }: AfterRestoreFlags): Promise<void> {
  // With the database's, so that all missing settings are named at once.
  const least = atLeast ?? (await afterTopics(io, readConfig(io, ['databaseUrl', 'kafkaBrokers'])));
  const config = readConfig(io, ['databaseUrl']);
  await withDatabase(io, config, { applicationName: 'tidemark-after-restore', maxConnections: 1 }, async (pool) => {
    const result = await afterRestore(pool, {
      lane: 0,
      least: Math.max(least, config.generation),
      haltId: io.random.uuid(),
      by: 'tidemark after-restore',
      partitionRows: defaultPartitionRows,
    }).catch(explain);
    printResult(io, flags, result, describe(result));
  });
}

/**
 * Above every generation that consumers have seen. A copy restored twice knows nothing about its
 * first restore.
 */
async function afterTopics(io: CliIo, config: ConfigWith<'kafkaBrokers'>): Promise<number> {
  const deps = ambientOf(io, config);
  const topic = topicNames(config.topicPrefix).state;
  const fix =
    'Set TIDEMARK_TOPIC_PREFIX as the service has it; where the topic is lost, give --at-least a number above every generation that was ever used.';
  await requireTopics(deps, config, [topic], fix);
  io.stderr.write(`Reading ${topic} for the highest generation; --at-least does without.\n`);
  const unread = kafkaFault(
    "the generations on Kafka can't be read",
    'Check KAFKA_BROKERS and the topic, or give --at-least a number above every generation that was ever used.',
  );
  return 1 + (await highestGeneration(deps, kafkaOptions(config), topic).catch(unread));
}

function explain(error: unknown): never {
  if (sqlstateOf(error) !== '42501') throw error;
  throw new ProgramError('this database user may not do that', {
    code: 'RIGHTS',
    exitCode: exitCodes.denied,
    fix: 'Name the owner in DATABASE_URL, as for `tidemark migrate`.',
    cause: error,
  });
}

function describe({ generation, attempts }: AfterRestore): string {
  return [
    `Everything published from now on has generation ${generation}.`,
    attempts === 0
      ? 'No attempt was in hand when the copy was made.'
      : `${plural(attempts, 'attempt was', 'attempts were')} in hand when the copy was made: the service looks for each on the platform.`,
    'Placing is halted: commands made since the copy are not in the journal. `tidemark resume --reason "…"` ends it.',
    'Now start the service, and when it is live run `tidemark verify --repair`.',
    '',
  ].join('\n');
}
