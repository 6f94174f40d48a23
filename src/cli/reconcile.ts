import { Command } from 'commander';
import { plural } from '../runtime/plural.ts';
import { exitCodes } from '../runtime/program-error.ts';
import { formatTable, printable } from './io/format-text.ts';
import type { CliIo } from './io/io.ts';
import { longestHoldMs } from './rest/rest-client.ts';
import { addRestFlags, query, type RestFlags, restClient, restExitCodes, tellUnanswered } from './rest/rest-flags.ts';

const examples = `
Examples:
  $ tidemark reconcile --dry-run                     the reads that would be made, and for which commands; reads nothing
  $ tidemark reconcile --account SIM-1001
  $ tidemark reconcile --json | jq '.settled[]'

It only reads, within the budget of probes: it never places and never cancels.
${restExitCodes}`;

interface ReconcileFlags extends RestFlags {
  readonly account?: string;
  readonly dryRun?: true;
}

/** Finds out the outcome of unresolved commands at once. */
export function reconcileCommand(io: CliIo): Command {
  const command = new Command('reconcile')
    .description(
      'Asks the platform at once about every command with an unknown outcome, instead of when its next probe is due.',
    )
    .option('--account <id>', 'only this account')
    .option('--dry-run', 'only show the reads that would be made');
  return addRestFlags(command)
    .addHelpText('after', examples)
    .action((flags: ReconcileFlags) => run(io, flags));
}

async function run(io: CliIo, flags: ReconcileFlags): Promise<void> {
  const path = `/v1/reconcile${query({ accountId: flags.account, dryRun: String(flags.dryRun === true) })}`;
  // A complete read of an account waits for its one reader, and a
  // whole round waits for the request budget.
  const { body } = await restClient(io, flags).ask({ method: 'POST', path, waitMs: longestHoldMs });
  if (flags.json) io.stdout.write(`${JSON.stringify(body)}\n`);
  else io.stdout.write(report(body, flags.dryRun === true));
  if (tellUnanswered(io, body)) io.exit(exitCodes.unresolved);
}

function report(body: Readonly<Record<string, unknown>>, dryRun: boolean): string {
  const [settled, plan] = [rows(body['settled']), rows(body['plan'])];
  const unresolved = Number(body['unresolved']);
  const lines = [
    unresolved === 0
      ? 'No command is unresolved.'
      : `${unresolved} unresolved, ${plural(Number(body['probes']), 'read')} ${dryRun ? 'would be made' : 'made'}, ${settled.length} settled.`,
  ];
  const planned = plan.map(({ accountId, stream, read, commands }) =>
    [accountId, stream, read, Array.isArray(commands) ? commands.join(' ') : '-'].map((cell) =>
      printable(String(cell)),
    ),
  );
  if (planned.length > 0)
    lines.push('', formatTable([['ACCOUNT', 'STREAM', 'READ', 'COMMANDS'], ...planned]).trimEnd());
  const outcomes = settled.map(({ commandId, outcome }) => [outcome, commandId].map((cell) => printable(String(cell))));
  if (outcomes.length > 0) lines.push('', formatTable([['OUTCOME', 'COMMAND'], ...outcomes]).trimEnd());
  return `${lines.join('\n')}\n`;
}

function rows(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value : [];
}
