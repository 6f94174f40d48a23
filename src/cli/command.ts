import { Command, Option } from 'commander';
import { commandLs } from './command/list-commands.ts';
import { sentAnswer } from './command/sent-command.ts';
import { commandId, commandShow } from './command/show-command.ts';
import { linesText } from './io/format-text.ts';
import type { CliIo } from './io/io.ts';
import { type EachVerb, each, runEach } from './rest/each-verb.ts';
import { listCommand } from './rest/list-verb.ts';
import { type RestFlags, restExitCodes } from './rest/rest-flags.ts';
import { commandOf, verbCommand } from './rest/verb.ts';

const examples = `
Examples:
  $ tidemark command ls --unresolved                    age, terms, ids, evidence, and the line that resolves each
  $ tidemark command ls --account SIM-1001 --limit 20
  $ tidemark command show 4f7c1d1e-…                    its timeline, and the verdict computed again from the evidence
  $ tidemark command resolve 4f7c1d1e-… 90ab3c55-… --result rejected --reason "desk confirmed by phone: never received"
  $ tidemark command ls --unresolved --json | jq -r '.[].commandId'

${restExitCodes}`;

/** `command ls`, `command show` and `command resolve`. */
export function commandCommand(io: CliIo): Command {
  return new Command('command')
    .description(
      'Shows commands with their evidence, and records a verdict of a person on those that evidence does not resolve.',
    )
    .addCommand(listCommand(io, commandLs))
    .addCommand(verbCommand(io, commandShow))
    .addCommand(commandOf<ResolveFlags>(commandResolve, (ids, flags) => runEach(io, commandResolve, ids, flags)))
    .addHelpText('after', examples);
}

interface ResolveFlags extends RestFlags {
  readonly result: string;
}

interface Resolved {
  readonly commandId: string;
  readonly result?: string;
  readonly error?: string;
  readonly code?: string;
}

/** A person's verdict on each command. */
export const commandResolve: EachVerb<typeof sentAnswer, ResolveFlags, Resolved> = {
  name: 'resolve',
  does: 'Resolves commands with the result that a person found out.',
  route: 'POST /v1/commands/{commandId}/resolution',
  takes: [['<commands...>', 'ids of the commands', each(commandId)]],
  flags: (command) =>
    command.addOption(
      new Option('--result <word>', 'the result: it took effect, never did, was never sent, or the order ended first')
        .choices(['applied', 'rejected', 'not_sent', 'moot'])
        .makeOptionMandatory(),
    ),
  reasoned: true,
  ask: ({ result }) => ({ body: { result } }),
  about: 'a command',
  answer: sentAnswer,
  result: (id, { result }) => ({ commandId: id, result }),
  refused: (id, { message, code }) => ({ commandId: id, error: message, code }),
  text: (results) => linesText(results.map(({ commandId: id, result, error }) => `${error ?? result}  command ${id}`)),
};
