import { Command } from 'commander';
import { configDocs } from '../config/config-docs.ts';
import { loadConfig } from '../config/load-config.ts';
import { tableText } from './io/format-text.ts';
import type { CliIo } from './io/io.ts';
import { configError } from './io/read-config.ts';

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
    .action((options: { json?: true }) => printConfig(io, options.json === true));
  command
    .command('docs')
    .description('Prints the page of all settings in Markdown.')
    .action(() => void io.stdout.write(configDocs()));
  return command;
}

function printConfig(io: CliIo, asJson: boolean): void {
  const result = loadConfig(io.env, io.readFile);
  for (const warning of result.warnings) io.stderr.write(`tidemark: warning: ${warning}\n`);
  if (!result.ok) throw configError(result.faults);
  if (asJson) {
    const all = result.effective.map(({ env, source, shown }) => [
      env,
      { value: source === 'unset' ? null : shown, source },
    ]);
    io.stdout.write(`${JSON.stringify(Object.fromEntries(all), null, 2)}\n`);
    return;
  }
  const value = ({ source, shown }: (typeof result.effective)[number]) =>
    source === 'unset' ? '-' : shown === '' ? '(empty)' : shown;
  io.stdout.write(tableText(result.effective, { VARIABLE: 'env', VALUE: value, FROM: 'source' }));
}
