import type { ConfigFault, ConfigWith, EffectiveValue } from '../config/config.ts';
import { loadConfig } from '../config/load-config.ts';
import type { OptionName } from '../config/option-table.ts';
import { CliError, exitCodes } from './cli-error.ts';
import type { CliIo } from './io.ts';

/**
 * The configuration with the options that this command needs. Warnings go to stderr; any fault ends the command with 78, all of them
 * told at once.
 */
export function readConfig<K extends OptionName = never>(io: CliIo, needed: readonly K[] = []): ConfigWith<K> {
  return readSettings(io, needed).config;
}

/** The same, with where each value came from and how it may be printed. */
export function readSettings<K extends OptionName = never>(
  io: CliIo,
  needed: readonly K[] = [],
): { readonly config: ConfigWith<K>; readonly effective: readonly EffectiveValue[] } {
  const result = loadConfig(io.env, io.readFile, needed);
  for (const warning of result.warnings) io.stderr.write(`tidemark: warning: ${warning}\n`);
  if (!result.ok) throw configError(result.faults);
  return result;
}

/** One line for each fault. */
export function configError(faults: readonly ConfigFault[]): CliError {
  const count = faults.length === 1 ? 'a fault' : `${faults.length} faults`;
  return new CliError(`the configuration has ${count}`, {
    code: 'CONFIG',
    exitCode: exitCodes.config,
    mend: faults.map(({ name, problem }) => `${name} ${problem}`).join('\n'),
  });
}
