import { Command } from 'commander';
import { exitCodes } from '../runtime/program-error.ts';
import { expectDone } from './approvals.ts';
import { formatTable, printable } from './io/format-text.ts';
import type { CliIo } from './io/io.ts';
import { addReasonFlag, askOperator, type OperatorFlags, restExitCodes } from './rest/rest-flags.ts';

const haltExamples = `
Examples:
  $ tidemark halt --reason "the venue answers oddly"                     the whole service
  $ tidemark halt --account SIM-1001 --reason "strategy runs away"

Halted means cancel only: placing and replacing are refused, cancels pass. \`tidemark resume\` ends it.
${restExitCodes}`;

const resumeExamples = `
Examples:
  $ tidemark resume --reason "checked with the venue"
  $ tidemark resume --account SIM-1001 --reason "the late order is cancelled"

It clears every halt of that scope, also those of other people: first run \`tidemark command ls --unresolved\`.
${restExitCodes}`;

/** Stops placing and replacing. */
export function haltCommand(io: CliIo): Command {
  return operatorCommand(
    io,
    'halt',
    'Stops placing and replacing, for one account or for the service; cancels still pass.',
    haltExamples,
  );
}

/** Clears halts: a halt ends in no other way. */
export function resumeCommand(io: CliIo): Command {
  return operatorCommand(
    io,
    'resume',
    'Allows placing and replacing again, for one account or for the service.',
    resumeExamples,
  );
}

function operatorCommand(io: CliIo, verb: 'halt' | 'resume', description: string, examples: string): Command {
  const command = new Command(verb)
    .description(description)
    .option('--account <id>', 'only this account; without it the service');
  return addReasonFlag(command)
    .addHelpText('after', examples)
    .action(async (flags: OperatorFlags) => {
      const { body } = expectDone(await askOperator(io, flags, verb));
      // What was asked for did not come about: the whole service is
      // halted, and with it this account.
      if (verb === 'resume' && flags.account !== undefined && haltsService(body['halts'])) io.exit(exitCodes.failed);
      if (flags.json) io.stdout.write(`${JSON.stringify(body)}\n`);
      else {
        const first = verb === 'resume' ? resumed(body['cleared'], flags) : unconfirmed(body['unconfirmed']);
        io.stdout.write(`${first}${haltTable(body['halts'])}`);
      }
    });
}

function haltsService(halts: unknown): boolean {
  return Array.isArray(halts) && halts.some(({ scope }) => scope?.kind === 'service');
}

/** The instances that did not say in time that they hold the halt. */
function unconfirmed(instances: unknown): string {
  if (!Array.isArray(instances) || instances.length === 0) return '';
  return `${printable(`Not confirmed by ${instances.join(', ')}: the database lets no instance send behind a halt, but look at it (tidemark fleet).`)}\n`;
}

/** The halts that this resume has cleared, one line each. */
function resumed(cleared: unknown, { account }: OperatorFlags): string {
  if (!Array.isArray(cleared)) return '';
  if (cleared.length === 0)
    return `Nothing to resume: ${account === undefined ? 'the service was' : `account ${account} was`} not halted.\n`;
  return cleared
    .map(
      ({ scope, cause, since, by, reason }) =>
        `Resumed ${scopeOf(scope)}: halted since ${since} (${cause}) by ${by}: ${reason}`,
    )
    .map((line) => `${printable(line)}\n`)
    .join('');
}

/** Every halt that is in force after the request. */
function haltTable(halts: unknown): string {
  const rows = Array.isArray(halts) ? halts : [];
  if (rows.length === 0) return 'No halt is in force.\n';
  return formatTable([
    ['SCOPE', 'CAUSE', 'SINCE', 'BY', 'REASON'],
    ...rows.map(({ scope, cause, since, by, reason }) =>
      [scopeOf(scope), cause, since, by, reason].map((cell) => printable(String(cell ?? '-'))),
    ),
  ]);
}

function scopeOf(scope: unknown): string {
  if (typeof scope !== 'object' || scope === null) return String(scope);
  return 'accountId' in scope ? `account ${String(scope.accountId)}` : 'service';
}
