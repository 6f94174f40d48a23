import { Command, InvalidArgumentError, Option } from 'commander';
import { exitCodes, ProgramError } from '../runtime/program-error.ts';
import { idKinds } from '../service/rest/request-fields.ts';
import { type CommandListFlags, commandLs, listUnresolved } from './command/list-commands.ts';
import { showCommand } from './command/show-command.ts';
import { printable } from './io/format-text.ts';
import type { CliIo } from './io/io.ts';
import { addReasonFlag, addRestFlags, type RestFlags, restClient, restExitCodes, segment } from './rest/rest-flags.ts';
import { expectDone, listCommand, runList } from './rest/verb.ts';

const examples = `
Examples:
  $ tidemark command ls --unresolved                    age, terms, ids, evidence, and the line that settles each
  $ tidemark command ls --account SIM-1001 --limit 20
  $ tidemark command show 4f7c1d1e-…                    its timeline, and the verdict computed again from the evidence
  $ tidemark command settle 4f7c1d1e-… 90ab3c55-… --outcome rejected --reason "desk confirmed by phone: never received"
  $ tidemark command ls --unresolved --json | jq -r '.[].commandId'

${restExitCodes}`;

/** `command ls`, `command show` and `command settle`. */
export function commandCommand(io: CliIo): Command {
  const command = new Command('command')
    .description(
      'Shows commands with their evidence, and records a verdict of a person on those that evidence does not settle.',
    )
    .addHelpText('after', examples);
  command.addCommand(
    listCommand(io, commandLs).action((flags: CommandListFlags) =>
      flags.unresolved ? listUnresolved(io, flags) : runList(io, commandLs, flags),
    ),
  );
  addRestFlags(
    command
      .command('show')
      .description('Prints the timeline of one command, and its verdict computed again from the evidence.')
      .argument('<command>', 'id of the command', commandId),
  ).action((id: string, flags: RestFlags) => showCommand(io, id, flags));
  addReasonFlag(
    command
      .command('settle')
      .description('Settles commands with the outcome that a person found out.')
      .argument('<commands...>', 'ids of the commands', (text: string, before: readonly string[] = []) => [
        ...before,
        commandId(text),
      ])
      .addOption(
        new Option(
          '--outcome <word>',
          'the outcome: it took effect, never did, was never sent, or the order ended first',
        )
          .choices(['applied', 'rejected', 'not_sent', 'moot'])
          .makeOptionMandatory(),
      ),
  ).action((ids: string[], flags: SettleFlags) => settleCommands(io, ids, flags));
  return command;
}

function commandId(text: string): string {
  if (idKinds.commandId.test(text)) return text;
  throw new InvalidArgumentError('It must be the whole id of a command: `tidemark command ls` prints it.');
}

interface SettleFlags extends RestFlags {
  readonly outcome: string;
  readonly reason: string;
}

/**
 * `command settle`: a person's verdict on each of the commands, one after the other. A refused one
 * does not stop the others; the exit code shows it.
 */
async function settleCommands(io: CliIo, ids: readonly string[], flags: SettleFlags): Promise<void> {
  const client = restClient(io, flags);
  const { outcome, reason } = flags;
  const results: {
    readonly commandId: string;
    readonly outcome?: unknown;
    readonly error?: string;
    readonly code?: string;
  }[] = [];
  for (const commandId of ids) {
    try {
      const path = `/v1/commands/${segment(commandId)}/settlement`;
      const { body } = expectDone(await client.ask({ method: 'POST', path, body: { outcome, reason } }));
      results.push({ commandId, outcome: body['outcome'] });
    } catch (error) {
      if (!(error instanceof ProgramError)) throw error;
      results.push({ commandId, error: error.message, code: error.code });
      io.exit(error.exitCode);
      // The next one would fail in the same way: the service does not answer, or refuses the token.
      if (error.exitCode === exitCodes.unavailable || error.exitCode === exitCodes.denied) break;
    }
  }
  if (flags.json) io.stdout.write(`${JSON.stringify(results)}\n`);
  else
    for (const { commandId, outcome: now, error } of results)
      io.stdout.write(`${printable(`${error ?? String(now)}  command ${commandId}`)}\n`);
}
