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
    name: 'demo',
    summary: 'run everything on this machine, with a made-up market, and show updates as they arrive',
    load: async () => (await import('./demo.ts')).demoCommand,
  },
  {
    name: 'serve',
    summary: 'run the service',
    load: async () => (await import('./serve.ts')).serveCommand,
  },
  {
    name: 'config',
    summary: 'show the settings in effect, or all that there are',
    load: async () => (await import('./config.ts')).configCommand,
  },
  {
    name: 'migrate',
    summary: "bring the database to this build's schema",
    load: async () => (await import('./migrate.ts')).migrateCommand,
  },
  {
    name: 'topics',
    summary: 'compare the topics with the plan, and make them so',
    load: async () => (await import('./topics.ts')).topicsCommand,
  },
  {
    name: 'link',
    summary: 'sign a user in, so that their accounts are followed',
    load: async () => (await import('./link.ts')).linkCommand,
  },
  {
    name: 'doctor',
    summary: 'look at everything that the service needs, and say what mends it',
    load: async () => (await import('./doctor.ts')).doctorCommand,
  },
  {
    name: 'status',
    summary: 'ask a running service how it is',
    load: async () => (await import('./status.ts')).statusCommand,
  },
  {
    name: 'tail',
    summary: 'print updates as they arrive on Kafka',
    load: async () => (await import('./tail.ts')).tailCommand,
  },
  {
    name: 'sandbox',
    summary: 'run a made-up trading platform on this machine, with live orders and faults',
    load: async () => (await import('./sandbox.ts')).sandboxCommand,
  },
];
