import type { Command } from 'commander';
import type { CliIo } from './io.ts';

export type CommandFactory = (io: CliIo) => Command;

export interface CommandEntry {
  readonly name: string;
  /** One line of `tidemark --help`. */
  readonly summary: string;
  /** The command's own module. Loaded only when the command is named: all of them together take a second, `config print` a tenth of that. */
  readonly load: () => Promise<CommandFactory>;
}

/** Every command, in the order in which a newcomer meets them. */
export const commandEntries: readonly CommandEntry[] = [
  {
    name: 'config',
    summary: 'show the settings in effect, or all that there are',
    load: async () => (await import('./config.ts')).configCommand,
  },
];
