import { Argument, Command, type Option } from 'commander';
import type { CliIo } from './io/io.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

const examples = `
Examples:
  $ source <(tidemark completion bash)                                  this shell
  $ tidemark completion bash > ~/.tidemark.bash                         each new one, with "source ~/.tidemark.bash" in ~/.bashrc
  $ tidemark completion zsh > "\${fpath[1]}/_tidemark"
  $ tidemark completion fish > ~/.config/fish/completions/tidemark.fish

In a clone, after \`alias tidemark='npx tidemark'\`, it completes the alias. It completes commands, flags, and values that are one of a few words. Make it again after an upgrade.`;

/**
 * Prints a completion script. It is complete: a TAB starts no program. @bomb.sh/tab 0.0.22 was
 * tried: it starts Node for each TAB, lets the shell evaluate the typed line (a typed `$(…)` ran),
 * and its script for bash needs the package bash-completion and fails when sourced twice.
 */
export function completionCommand(io: CliIo): Command {
  return new Command('completion')
    .description('Prints a script that completes the commands and flags of this program in a shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText('after', examples)
    .action((shell: Shell, _flags: object, command: Command) => {
      io.stdout.write(scripts[shell](placesBelow(command.parent ?? command)));
    });
}

interface Word {
  readonly text: string;
  readonly summary: string;
}

interface Flag {
  readonly short: string | undefined;
  readonly long: string;
  readonly summary: string;
  /** Undefined: it takes no value. An empty list: any text. */
  readonly values: readonly string[] | 'file' | undefined;
}

/** A command, with what may stand behind it. */
interface Place {
  /** '' for the program, ' orders ls' for a command below one. */
  readonly path: string;
  readonly words: readonly Word[];
  readonly flags: readonly Flag[];
}

function placesBelow(command: Command, path = '', shared: readonly Option[] = []): Place[] {
  const help = command.createHelp();
  const below = help.visibleCommands(command);
  const choices = command.registeredArguments[0]?.argChoices ?? [];
  const words = [
    ...below.map((child) => ({ text: child.name(), summary: child.summary() || child.description() })),
    ...choices.map((text) => ({ text, summary: '' })),
  ];
  const flags = [...help.visibleOptions(command), ...shared].flatMap(flagOf);
  // Of the program's own options, --color may stand behind every command.
  const passed = path === '' ? command.options.filter(({ long }) => long !== '--version') : shared;
  return [
    { path, words, flags },
    ...command.commands.flatMap((child) => placesBelow(child, `${path} ${child.name()}`, passed)),
  ];
}

function flagOf({ short, long, description, required, optional, argChoices, flags }: Option): Flag[] {
  if (!long) return [];
  const takesValue = required || optional;
  const values = flags.includes('<file>') ? 'file' : (argChoices ?? []);
  return [{ short: short ?? undefined, long, summary: description, values: takesValue ? values : undefined }];
}

const header = (shell: Shell) =>
  `# Completes tidemark in ${shell}. Made by \`tidemark completion ${shell}\`; make it again after an upgrade.`;

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

const patterns = (texts: readonly string[]) => texts.map(quoted).join(' | ');
const known = (places: readonly Place[]) => patterns(places.slice(1).map(({ path }) => path));

interface Values {
  /**
   * Places and flags before any text, such as ' orders ls --symbol', as alternatives in a `case`.
   */
  readonly anyText: string;
  readonly anyFile: string;
  /** The same before one of a few words, by these words. */
  readonly oneOf: readonly { readonly before: string; readonly words: string }[];
}

function valuesOf(places: readonly Place[]): Values {
  const before = new Map<string, string[]>();
  for (const { path, flags } of places) {
    for (const { short, long, values } of flags) {
      if (values === undefined) continue;
      const kind = values === 'file' ? 'file' : values.join(' ');
      const names = short === undefined ? [long] : [long, short];
      before.set(kind, [...(before.get(kind) ?? []), ...names.map((name) => `${path} ${name}`)]);
    }
  }
  const { '': anyText = [], file: anyFile = [], ...lists } = Object.fromEntries(before);
  const oneOf = Object.entries(lists).map(([words, texts]) => ({ before: patterns(texts), words }));
  return { anyText: patterns(anyText), anyFile: patterns(anyFile), oneOf };
}

/** Also for bash 3.2, on macOS. */
function bash(places: readonly Place[]): string {
  const { anyText, anyFile, oneOf } = valuesOf(places);
  const choices = oneOf.map(({ before, words }) => `    ${before}) words=${quoted(words)} ;;`);
  const lists = places.map(({ path, words, flags }) => {
    const names = flags.flatMap(({ short, long }) => [long, short ?? []].flat()).join(' ');
    const first = words.length === 0 ? names : words.map(({ text }) => text).join(' ');
    return `      ${quoted(path)}) words=${quoted(first)} flags=${quoted(names)} ;;`;
  });
  return `${header('bash')}
_tidemark() {
  local cur=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} at='' word words='' flags='' IFS=$' \\t\\n'
  COMPREPLY=()
  # Bash takes --flag=value apart.
  if [[ $cur == = ]]; then cur=''; elif [[ $before == = ]]; then before=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at $word" in
      ${known(places)}) at="$at $word" ;;
    esac
  done
  case "$at $before" in
${choices.join('\n')}
    ${anyFile}) IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$cur")); return ;;
    ${anyText}) return ;;
    *) case "$at" in
${lists.join('\n')}
    esac ;;
  esac
  if [[ $cur == -* ]]; then words=$flags; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _tidemark tidemark
`;
}

function zsh(places: readonly Place[]): string {
  const described = (text: string, summary: string) =>
    quoted(`${text.replaceAll(':', '\\:')}${summary === '' ? '' : `:${summary}`}`);
  const { anyText, anyFile, oneOf } = valuesOf(places);
  const choices = oneOf.map(({ before, words }) => `    (${before}) compadd -- ${words}; return ;;`);
  const lists = places.map(({ path, words, flags }) => {
    const names = flags.map(({ long, summary }) => described(long, summary)).join(' ');
    const first = words.map(({ text, summary }) => described(text, summary)).join(' ');
    return `    (${quoted(path)}) found=(${first || names}) flags=(${names}) ;;`;
  });
  return `#compdef tidemark
${header('zsh')}
_tidemark() {
  local at='' word cur=\${words[CURRENT]} before=\${words[CURRENT-1]}
  local -a found flags
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
      (${known(places)}) at="$at $word" ;;
    esac
  done
  if [[ $cur == --*=* ]]; then before=\${cur%%=*}; compset -P '*='; fi
  case "$at $before" in
${choices.join('\n')}
    (${anyFile}) _files; return ;;
    (${anyText}) return 1 ;;
  esac
  case "$at" in
${lists.join('\n')}
  esac
  if [[ $cur == -* ]]; then found=("\${flags[@]}"); fi
  _describe tidemark found
}
if [[ \${funcstack[1]} == _tidemark ]]; then _tidemark "$@"; else compdef _tidemark tidemark; fi
`;
}

function fish(places: readonly Place[]): string {
  const text = (value: string) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const lines = places.flatMap(({ path, words, flags }) => {
    const start = `complete -c tidemark -n ${text(`__tidemark_at "${path}"`)}`;
    return [
      ...words.map(
        ({ text: word, summary }) => `${start} -a ${text(word)}${summary === '' ? '' : ` -d ${text(summary)}`}`,
      ),
      ...flags.map(({ short, long, summary, values }) => {
        const taken = values === undefined ? '' : values === 'file' ? ' -r -F' : ` -x -a ${text(values.join(' '))}`;
        return `${start} -l ${long.slice(2)}${short === undefined ? '' : ` -s ${short.slice(1)}`}${taken} -d ${text(summary)}`;
      }),
    ];
  });
  return `${header('fish')}
function __tidemark_at
  set -l at ''
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
      case ${places
        .slice(1)
        .map(({ path }) => text(path))
        .join(' ')}
        set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
complete -c tidemark -f
${lines.join('\n')}
`;
}

const scripts: Readonly<Record<Shell, (places: readonly Place[]) => string>> = { bash, zsh, fish };
