import type { Command } from 'commander';
import type { z } from 'zod';
import type { CliIo } from './io/io.ts';
import type { RestFlags } from './rest/rest-flags.ts';
import type { Verb } from './rest/verb.ts';

type CommandFactory = (io: CliIo) => Command;

/** A command with one verb over REST. */
async function verbOf<Shape extends z.ZodType, Flags extends RestFlags, Shown>(
  verb: Verb<Shape, Flags, Shown>,
): Promise<CommandFactory> {
  const { verbCommand } = await import('./rest/verb.ts');
  return (io) => verbCommand(io, verb);
}

export interface CommandEntry {
  readonly name: string;
  /** Another word for it. */
  readonly alias?: string;
  /** Its line in `tidemark --help`. */
  readonly summary: string;
  /**
   * The command's own module, loaded only when the command is named: all together take a second,
   * `config print` a tenth.
   */
  readonly load: () => Promise<CommandFactory>;
  /** It is about the other commands: they are loaded with it. */
  readonly needsAll?: true;
}

/** Every command, in a newcomer's order. */
const commands: Readonly<Record<string, Omit<CommandEntry, 'name'>>> = {
  demo: {
    summary: 'run everything on this machine, with a made-up market, and show updates as they arrive',
    load: async () => (await import('./demo.ts')).demoCommand,
  },
  dev: {
    summary: 'run Postgres, Kafka and a made-up platform on this machine, for a service of your own',
    load: async () => (await import('./dev.ts')).devCommand,
  },
  serve: {
    summary: 'run the service',
    load: async () => (await import('./serve.ts')).serveCommand,
  },
  config: {
    summary: 'show the settings in effect, or all settings',
    load: async () => (await import('./config.ts')).configCommand,
  },
  migrate: {
    summary: "bring the database to this build's schema",
    load: async () => (await import('./migrate.ts')).migrateCommand,
  },
  topics: {
    summary: 'compare the topics with the plan, and apply it',
    load: async () => (await import('./topics.ts')).topicsCommand,
  },
  link: {
    summary: 'sign a user in, so that their accounts are followed',
    load: async () => (await import('./link.ts')).linkCommand,
  },
  token: {
    summary: 'make, list and revoke tokens of REST',
    load: async () => (await import('./token.ts')).tokenCommand,
  },
  doctor: {
    summary: 'check everything that the service needs, and show how to fix faults',
    load: async () => (await import('./doctor.ts')).doctorCommand,
  },
  status: {
    summary: 'show the state of a running service',
    load: async () => (await import('./status.ts')).statusCommand,
  },
  fleet: {
    alias: 'lanes',
    summary: 'show which process holds which shards of the accounts, and move them',
    load: async () => (await import('./fleet.ts')).fleetCommand,
  },
  healthcheck: {
    summary: 'check a running service; the exit code is the answer',
    load: async () => (await import('./healthcheck.ts')).healthcheckCommand,
  },
  tail: {
    summary: 'print updates as they arrive on Kafka',
    load: async () => (await import('./tail.ts')).tailCommand,
  },
  orders: {
    summary: 'list orders, or show one with its history',
    load: async () => (await import('./orders.ts')).ordersCommand,
  },
  place: {
    summary: 'place an order through a running service',
    load: async () => verbOf((await import('./place.ts')).placeVerb),
  },
  replace: {
    summary: 'change terms of a working prediction order',
    load: async () => verbOf((await import('./place.ts')).replaceVerb),
  },
  cancel: {
    summary: 'cancel an order, or all that match',
    load: async () => (await import('./cancel.ts')).cancelCommand,
  },
  'cancel-after': {
    summary: 'cancel all orders on silence: the dead man’s switch',
    load: async () => verbOf((await import('./cancel.ts')).cancelAfterVerb),
  },
  command: {
    summary: 'list, show and resolve commands',
    load: async () => (await import('./command.ts')).commandCommand,
  },
  mcp: {
    summary: 'serve tools for an assistant, over a running service',
    load: async () => (await import('./mcp.ts')).mcpCommand,
  },
  halt: {
    summary: 'stop placing and replacing; cancels still pass',
    load: async () => verbOf((await import('./halt.ts')).haltVerb),
  },
  resume: {
    summary: 'allow placing and replacing again',
    load: async () => verbOf((await import('./halt.ts')).resumeVerb),
  },
  limits: {
    summary: 'show and change the limits of places and replaces',
    load: async () => (await import('./limits.ts')).limitsCommand,
  },
  approvals: {
    summary: 'show and approve requests that wait for a second principal',
    load: async () => (await import('./approvals.ts')).approvalsCommand,
  },
  probe: {
    summary: 'find out the result of unresolved commands at once',
    load: async () => verbOf((await import('./probe.ts')).probeVerb),
  },
  'dead-letters': {
    summary: 'show unreadable messages, and deal with them',
    load: async () => (await import('./dead-letters.ts')).deadLetterCommand,
  },
  backfill: {
    summary: 'have the running service read a whole account',
    load: async () => verbOf((await import('./backfill.ts')).backfillVerb),
  },
  replay: {
    summary: 'write updates of the log to a topic once more',
    load: async () => (await import('./replay.ts')).replayCommand,
  },
  verify: {
    summary: 'compare database, log and topics, and name the hop where something is missing',
    load: async () => (await import('./verify.ts')).verifyCommand,
  },
  venue: {
    summary: 'play recorded rows of a trading venue once more, or check that it keeps the contract',
    load: async () => (await import('./venue.ts')).venueCommand,
  },
  'audit-log': {
    summary: 'export the audit trail',
    load: async () => (await import('./audit-log.ts')).auditTrailCommand,
  },
  'after-restore': {
    summary: 'go on after the database was restored from a copy',
    load: async () => (await import('./after-restore.ts')).afterRestoreCommand,
  },
  sandbox: {
    summary: 'run a made-up trading platform on this machine, with live orders and faults',
    load: async () => (await import('./sandbox.ts')).sandboxCommand,
  },
  completion: {
    summary: 'print a script that completes commands and flags in a shell',
    load: async () => (await import('./completion.ts')).completionCommand,
    needsAll: true,
  },
};

export const commandEntries: readonly CommandEntry[] = Object.entries(commands).map(([name, entry]) => ({
  name,
  ...entry,
}));
