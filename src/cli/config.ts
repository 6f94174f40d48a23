import { Command } from 'commander';
import type { EffectiveValue } from '../config/config.ts';
import { configDocs } from '../config/config-docs.ts';
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
