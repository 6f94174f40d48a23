import { Command } from 'commander';
import { readAuditTrail, readTrailEnd } from '../store/commands/read-audit-trail.ts';
import { instantFlag, shaped } from './io/flag-text.ts';
import { type CliIo, writeAtPaceOfReader } from './io/io.ts';
import { readConfig } from './io/read-config.ts';
import { withDatabase } from './with-database.ts';

const lineId = shaped(/^\d{1,18}$/, 'It must be the id of a line.');

const examples = `
Examples:
  $ tidemark audit-log export > audit.jsonl
  $ tidemark audit-log export --after 4711                                   the lines since an earlier export
  $ tidemark audit-log export --action denied --since 2026-11-20T00:00:00Z | jq -r .principal | sort | uniq -c

Each line is a JSON object: id, at, principal, action, accountId, commandId, requestId, reason, detail. No line comes late below an id that was exported: a transaction that
stays open holds later lines back, and is named. Needs DATABASE_URL, at the primary; a member of tidemark_reader may do it.`;

interface ExportFlags {
  readonly after: string;
  readonly since?: Date;
  readonly until?: Date;
  readonly action?: string;
}

const pageSize = 1_000;

/** `audit-log export`: the audit trail, for an archive or an auditor. */
export function auditTrailCommand(io: CliIo): Command {
  const command = new Command('audit-log')
    .description('Exports the audit trail: who did what, when and why.')
    .addHelpText('after', examples);
  command
    .command('export')
    .description('Prints the audit trail as JSON lines, the oldest first.')
    .option('--after <id>', 'only lines after this one', lineId, '0')
    .option('--since <instant>', 'only actions from this instant on (ISO 8601)', instant)
    .option('--until <instant>', 'only actions before this instant', instant)
    .option(
      '--action <word>',
      'only this: place, cancel, halt, resume, resolve, denied, token_add, link, configuration …',
    )
    .action((flags: ExportFlags) => exportLines(io, flags));
  return command;
}

async function exportLines(io: CliIo, flags: ExportFlags): Promise<void> {
  const config = readConfig(io, ['databaseUrl']);
  const options = { applicationName: 'tidemark-audit-log', maxConnections: 1, server: 'primary' } as const;
  await withDatabase(io, config, options, async (pool) => {
    let { after } = flags;
    const { upTo, heldBy } = await readTrailEnd({ pool, clock: io.clock }, after);
    for (;;) {
      const lines = await readAuditTrail(pool, { ...flags, after, upTo, limit: pageSize });
      await writeAtPaceOfReader(io.stdout, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      after = lines.at(-1)?.id ?? after;
      if (lines.length < pageSize) break;
    }
    if (after === flags.after) io.stderr.write('No line matches.\n');
    if (heldBy !== undefined)
      io.stderr.write(
        `Lines after ${upTo} are left out: process ${heldBy.pid ?? 'of a prepared transaction'} of the database has written one in a transaction that is open since ${heldBy.since ?? 'some time'}. Export again once it has ended.\n`,
      );
  });
}

function instant(text: string): Date {
  return new Date(instantFlag(text));
}
