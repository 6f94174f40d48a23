import { Command } from 'commander';
import { defaultShardCount, maxShardCount } from '../domain/partition.ts';
import { exitCodes, ProgramError, sentenceOf } from '../runtime/program-error.ts';
import type { Secret } from '../runtime/secret.ts';
import { MigrationError, migrate } from '../store/migrate.ts';
import { foreignSchemaFix } from '../store/migrations.ts';
import { sqlstateOf } from '../store/session/retry-transaction.ts';
import { numberBetween } from './io/flag-text.ts';
import { type CliIo, printJson } from './io/io.ts';
import { ambientOf, readConfig } from './io/read-config.ts';
import { unreachable } from './with-database.ts';

const examples = `
Examples:
  $ DATABASE_URL=postgres://owner@db/tidemark tidemark migrate
  $ tidemark migrate --json            { "applied": ["0001_written_once"] }
  $ tidemark migrate --shards 64       a new database, for up to 16 processes
  $ tidemark migrate --roles-only      before pg_restore, which brings everything else (docs/runbooks/after-restore.md)

Shards are the groups of accounts that processes share among themselves. Their number stays as it is for the life of the database.

Safe to run again, and from several machines at once: one migrates, the others wait and find nothing left to do.`;

interface MigrateFlags {
  readonly json?: boolean;
  readonly shards?: number;
  readonly rolesOnly?: boolean;
}

/** Brings the database to this build's schema. */
export function migrateCommand(io: CliIo): Command {
  return new Command('migrate')
    .description(
      "Brings the database to this build's schema: roles, tables, functions, the first partitions of the log, the shards.",
    )
    .option(
      '--shards <number>',
      `how many shards a new database gets, 1 to ${maxShardCount} (default: ${defaultShardCount})`,
      numberBetween(1, maxShardCount),
    )
    .option('--roles-only', 'make the group roles and their rights on the schema alone, for a restore')
    .option('--json', 'print the applied migrations as JSON')
    .addHelpText('after', examples)
    .action((options: MigrateFlags) => runMigrate(io, options));
}

async function runMigrate(io: CliIo, { json: asJson = false, shards, rolesOnly = false }: MigrateFlags): Promise<void> {
  const config = readConfig(io, ['databaseUrl']);
  const { databaseUrl } = config;
  const { applied } = await migrate({
    ...ambientOf(io, config),
    url: databaseUrl.reveal(),
    rolesOnly,
    ...(shards === undefined ? {} : { shards }),
  }).catch((error: unknown) => {
    throw explain(databaseUrl, error);
  });
  if (asJson) printJson(io, { applied });
  else if (rolesOnly) io.stdout.write('The roles are there; nothing else was made.\n');
  else if (applied.length === 0) io.stdout.write('The schema is current; nothing to do.\n');
  else io.stdout.write(`${applied.map((tag) => `applied ${tag}`).join('\n')}\n`);
}

const fixes: Readonly<Record<string, string>> = {
  SCHEMA_NEWER: 'Run the build that migrated it, or a newer one.',
  SCHEMA_FOREIGN: foreignSchemaFix,
  MIGRATION_BUSY: 'Run it again when the other one has ended.',
  SHARDS_FIXED: 'Leave --shards out. For another number, make another database.',
  LANE_HELD: 'Stop every instance of the older build, then run it again (docs/upgrading.md).',
};

function explain(url: Secret, error: unknown): unknown {
  if (!(error instanceof MigrationError)) return explainRefusal(url, error);
  const fix = error.fix ?? fixes[error.code];
  if (fix === undefined) return error;
  const needsPerson = error.code.startsWith('SCHEMA_') || ['SHARDS_FIXED', 'SESSIONS', 'OWNERS'].includes(error.code);
  const exitCode = needsPerson ? exitCodes.config : exitCodes.unavailable;
  return new ProgramError(error.message, { code: error.code, fix, exitCode, cause: error });
}

/**
 * Classes 28 and 3D: the database refuses us. 25006: it takes no writes.
 * Without a SQLSTATE it was never reached.
 */
function explainRefusal(url: Secret, error: unknown): unknown {
  const state = sqlstateOf(error);
  if (state === undefined || /^(28|3D|57P03|25006)/.test(state)) return unreachable(url, error);
  if (state !== '42501') return error;
  return new ProgramError(sentenceOf(error), {
    code: 'RIGHTS',
    exitCode: exitCodes.denied,
    fix:
      'Name the owner of the database in DATABASE_URL, a role that may create roles: migrations need that right, the service does not.\n' +
      'On a server that has a Tidemark already, an administrator runs this first, with the owner and the login of the service:\n' +
      'grant tidemark_owner to <owner>; grant tidemark_app to <service>;\n' +
      'Where it is that owner: `tidemark doctor` names each object that belongs to another role.',
    cause: error,
  });
}
