import { Command } from 'commander';
import type { EffectiveValue } from '../config/config.ts';
import { type Option, optionGroups } from '../config/option.ts';
import { optionTable } from '../config/option-table.ts';
import { tableText } from './io/format-text.ts';
import { type CliIo, printResult } from './io/io.ts';
import { readSettings } from './io/read-config.ts';

const examples = `
Examples:
  $ tidemark config print                          the values in effect, secrets masked
  $ tidemark config print --json | jq .TIDEMARK_ADMIN_PORT.value
  $ tidemark config docs > docs/configuration.md`;

/** `config print` and `config docs`. */
export function configCommand(io: CliIo): Command {
  const command = new Command('config')
    .description('Shows the settings: those in effect, or all of them.')
    .addHelpText('after', examples);
  command
    .command('print')
    .description('Prints every setting with its value in effect and its source. Secrets are masked.')
    .option('--json', 'as one JSON object: name → { value, source }; value is null where none is set')
    .action((flags: { json?: true }) => printConfig(io, flags));
  command
    .command('docs')
    .description('Prints the page of all settings in Markdown.')
    .action(() => void io.stdout.write(configDocs()));
  return command;
}

function printConfig(io: CliIo, flags: { readonly json?: true }): void {
  const { effective } = readSettings(io);
  const all = effective.map(({ env, source, shown }) => [env, { value: source === 'unset' ? null : shown, source }]);
  const value = ({ source, shown }: EffectiveValue) => (source === 'unset' ? '-' : shown === '' ? '(empty)' : shown);
  const text = tableText(effective, { VARIABLE: 'env', VALUE: value, FROM: 'source' });
  printResult(io, flags, Object.fromEntries(all), text, 2);
}

const introduction = `# Configuration

Everything is set by environment variables, read once at start. \`tidemark config print\` shows the values in effect.

- A wrong value ends the program with code 78. It prints one line for each fault, and never a secret.
- Each secret can be read from a file instead: \`DATABASE_URL_FILE=/run/secrets/database-url\` in place of \`DATABASE_URL\`.
- Numbers are whole, in the unit that stands with them, digits only: \`5000\`, not \`5s\`.
- A variable that is set but blank counts as not set, except a secret or a list: there it is a fault. A blank proxy variable never is.
- An unknown name is a fault if it is one or two letters away from an option that is not set, or the former name of an option. Any other unknown \`TIDEMARK_*\` or \`OTEL_*\` name gets a warning. So does an unknown name of \`PLATFORM_*\`, \`KAFKA_*\` and \`DATABASE_*\` that looks like an option (\`KAFKA_TOPIC_PREFIX\`).

This page is printed by \`tidemark config docs\`.
`;

/** docs/configuration.md, made from the table. */
export function configDocs(): string {
  const all = Object.values<Option<unknown>>(optionTable);
  const sections = optionGroups.map((group) => {
    const rows = all.filter((option) => option.group === group).map(row);
    return `## ${group}\n\n| Variable | Value | Default | What it does |\n|---|---|---|---|\n${rows.join('\n')}\n`;
  });
  return [introduction, ...sections].join('\n');
}

function row(option: Option<unknown>): string {
  const name = option.secret ? `\`${option.env}\` (secret)` : `\`${option.env}\``;
  const fallback = option.fallback === undefined ? 'none' : option.fallback === '' ? 'empty' : `\`${option.fallback}\``;
  // The page says once that numbers are whole.
  const kind = option.kind.replace(/^(?:whole number(?: of|,)|one of) /, '');
  return `| ${[name, kind, fallback, option.describe].map(cell).join(' | ')} |`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
