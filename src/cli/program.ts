import { Command, CommanderError, Option } from 'commander';
import { escapeControls } from '../observability/escape-controls.ts';
import { exitCodes, reportError } from '../runtime/program-error.ts';
import { type CommandEntry, commandEntries } from './commands.ts';
import { colourChoices } from './io/colours.ts';
import type { CliIo, TextOutput } from './io/io.ts';

const examples = `
Examples:
  $ tidemark demo                      everything at once, on this machine, with a made-up market
  $ tidemark config docs               every setting, its unit, range and default
  $ tidemark doctor                    finds missing or wrong parts before the service runs
  $ tidemark migrate && tidemark topics apply && tidemark serve
  $ tidemark tail --account ACC-1      updates as they arrive on Kafka
  $ tidemark command ls --unresolved   commands with an unknown result, and the line that resolves each

Settings come from the environment only. Exit codes: 0 done, 1 failed, 64 wrong usage, 69 unavailable, 75 not known yet, 77 not allowed, 78 wrong configuration.`;

/** The program, with the commands in `argv` loaded and the others by name and summary only. */
export async function buildProgram(
  io: CliIo,
  argv: readonly string[],
  entries: readonly CommandEntry[] = commandEntries,
): Promise<Command> {
  const program = new Command('tidemark')
    .description(
      "Follows a brokerage's order streams, keeps the newest state of every order in Postgres, and feeds every accepted change to Kafka.",
    )
    .version(io.version, '-V, --version')
    .addOption(
      new Option('--color <when>', 'colours; auto: on a terminal, by NO_COLOR and FORCE_COLOR').choices(colourChoices),
    )
    .on('option:color', (when: (typeof colourChoices)[number]) => io.colours.choose(when))
    .showSuggestionAfterError(true)
    .addHelpText('after', examples);
  const named = new Set(argv.filter((word) => !word.startsWith('-')).slice(0, 2));
  const needsAll = entries.some((entry) => entry.needsAll === true && named.has(entry.name));
  for (const { name, alias, summary, load } of entries) {
    const isNamed = named.has(name) || (alias !== undefined && named.has(alias));
    const command = needsAll || isNamed ? (await load())(io) : new Command(name);
    if (alias !== undefined) command.alias(alias);
    program.addCommand(command.summary(summary));
  }
  for (const command of [program, ...descendants(program)]) {
    missFlagsLast(command);
    command.showHelpAfterError(`  \`${pathOf(command)} --help\` shows how it is called.`);
    command.exitOverride().configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) => write(plainWords(text, command).replace(/^error:/, errorName(io))),
    });
  }
  return program;
}

/**
 * Commander misses a flag before it finds a mistyped one, mostly the same flag; and it names one of
 * several.
 */
function missFlagsLast(command: Command): void {
  const needed = command.options.filter(({ mandatory }) => mandatory);
  if (needed.length === 0) return;
  for (const option of needed) option.makeOptionMandatory(false);
  command.hook('preAction', () => {
    const missing = needed.filter((option) => command.getOptionValue(option.attributeName()) === undefined);
    if (missing.length === 0) return;
    const flags = missing.map(({ flags: text }) => `'${text}'`).join(', ');
    command.error(`error: required option${missing.length === 1 ? '' : 's'} ${flags} not specified`);
  });
}

/** In place of "command-argument value 'x' is invalid for argument 'command'". */
function plainWords(text: string, { registeredArguments }: Command): string {
  if (registeredArguments.length > 0 && text.startsWith('error: unknown option'))
    return `${text.trimEnd()} An id that begins with a dash goes behind \`--\`.\n`;
  return text.replace(/command-argument value '(.*)' is invalid for argument '([\w-]+)'\./, "'$1' is wrong for <$2>.");
}

/** It begins each error. */
export function errorName(io: CliIo): string {
  return io.colours.paint('bad', 'tidemark:', 'stderr');
}

/** `tidemark command show`. */
function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

function descendants(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...descendants(child)]);
}

/**
 * `argv`, with `help orders show` as `orders show --help`, since commander looks at one word only.
 * Or, for help on an unknown command, its words up to the unknown one: commander would print the
 * help for the command before it and end with code 0, as if all were well.
 */
function wordsToParse(program: Command, argv: readonly string[]): readonly string[] {
  if (argv[0] === 'help') return wordsToParse(program, [...argv.slice(1), '--help']);
  const words = argv.filter((word) => !/^(?:--help|-h|help)$/.test(word));
  if (words.length === argv.length) return argv;
  let command = program;
  for (const [at, word] of words.entries()) {
    if (command.commands.length === 0 || word.startsWith('-')) return argv;
    const next = command.commands.find((below) => below.name() === word || below.aliases().includes(word));
    if (next === undefined) return words.slice(0, at + 1);
    command = next;
  }
  return argv;
}

/**
 * Runs the command named by the arguments (without Node and script). Never rejects: every failure
 * ends as a sentence on stderr and an exit code.
 */
export async function runProgram(
  given: CliIo,
  argv: readonly string[],
  entries?: readonly CommandEntry[],
): Promise<void> {
  const io = withSafeOutputs(given);
  try {
    const program = await buildProgram(io, argv, entries);
    await program.parseAsync([...wordsToParse(program, argv)], { from: 'user' });
  } catch (error) {
    // Commander has already written its message; help and version end here as well, with code 0.
    if (error instanceof CommanderError) io.exit(error.exitCode === 0 ? exitCodes.ok : exitCodes.usage);
    else io.exit(reportError(io, error, errorName(io)));
  }
}

/** All output, JSON too: a terminal obeys some characters that JSON does not escape. */
function withSafeOutputs(io: CliIo): CliIo {
  const safe = (output: TextOutput): TextOutput => ({
    write: (text) => output.write(escapeControls(text)),
    drained: async (signal) => output.drained?.(signal),
  });
  const outputs = { stdout: safe(io.stdout), stderr: safe(io.stderr) };
  // Not a copy: some properties are read at the moment of use.
  return new Proxy(io, {
    get: (target, name) => (name === 'stdout' || name === 'stderr' ? outputs[name] : Reflect.get(target, name)),
  });
}
