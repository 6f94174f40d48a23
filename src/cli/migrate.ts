import { Command } from 'commander';
import { exitCodes, ProgramError, sentenceOf } from '../runtime/program-error.ts';
import type { Secret } from '../runtime/secret.ts';
import { MigrationError, migrate } from '../store/migrate.ts';
import { sqlstateOf } from '../store/retry-transaction.ts';
import type { CliIo } from './io.ts';
import { commandLog, readConfig } from './read-config.ts';
import { unreachable } from './with-database.ts';

const examples = `
Examples:
  $ DATABASE_URL=postgres://owner@db/tidemark tidemark migrate
  $ tidemark migrate --json            { "applied": ["0000_baseline"] }

Safe to run again, and from several machines at once: one migrates, the others wait and find nothing left to do.`;

/** Brings the database to this build's schema. */
export function migrateCommand(io: CliIo): Command {
  return new Command('migrate')
    .description("Brings the database to this build's schema: roles, tables, functions, the first partitions of the log.")
    .option('--json', 'print the applied migrations as JSON')
    .addHelpText('after', examples)
    .action((options: { json?: true }) => runMigrate(io, options.json === true));
}

async function runMigrate(io: CliIo, asJson: boolean): Promise<void> {
  const config = readConfig(io, ['databaseUrl']);
  const log = commandLog(io, config);
  const { databaseUrl } = config;
  const { applied } = await migrate({ url: databaseUrl.reveal(), log, clock: io.clock }).catch((error: unknown) => {
    throw explain(databaseUrl, error);
  });
  if (asJson) io.stdout.write(`${JSON.stringify({ applied })}\n`);
  else if (applied.length === 0) io.stdout.write('The schema is current; nothing to do.\n');
  else io.stdout.write(`${applied.map((tag) => `applied ${tag}`).join('\n')}\n`);
}

const fixes: Readonly<Record<string, string>> = {
  SCHEMA_NEWER: 'Run the build that migrated it, or a newer one.',
  SCHEMA_FOREIGN: 'Check that DATABASE_URL names the right database, and that this build was not altered.',
  MIGRATION_BUSY: 'Run it again when the other one has ended.',
  LANE_HELD: 'Stop every instance of the older build, then run it again (docs/upgrading.md).',
};

function explain(url: Secret, error: unknown): unknown {
  const fix = error instanceof MigrationError ? fixes[error.code] : undefined;
  if (!(error instanceof MigrationError)) return explainRefusal(url, error);
  if (fix === undefined) return error;
  const exitCode = error.code.startsWith('SCHEMA_') ? exitCodes.config : exitCodes.unavailable;
  return new ProgramError(error.message, { code: error.code, fix, exitCode, cause: error });
}

/** Classes 28 and 3D: the database refuses us. Without a SQLSTATE it was never reached. */
function explainRefusal(url: Secret, error: unknown): unknown {
  const state = sqlstateOf(error);
  if (state === undefined || /^(28|3D|57P03)/.test(state)) return unreachable(url, error);
  if (state !== '42501') return error;
  return new ProgramError(sentenceOf(error), {
    code: 'RIGHTS',
    exitCode: exitCodes.denied,
    fix: 'Name the owner of the database in DATABASE_URL, a role that may create roles: migrations need that right, the service does not.',
    cause: error,
  });
}
