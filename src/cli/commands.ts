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

type More = Pick<CommandEntry, 'alias' | 'needsAll'>;

/** Every command, in a newcomer's order. */
const commands: Readonly<Record<string, readonly [summary: string, load: CommandEntry['load'], more?: More]>> = {
  demo: [
    'run everything on this machine, with a made-up market, and show updates as they arrive',
    async () => (await import('./demo.ts')).demoCommand,
  ],
  dev: [
    'run Postgres, Kafka and a made-up platform on this machine, for a service of your own',
    async () => (await import('./dev.ts')).devCommand,
  ],
  serve: ['run the service', async () => (await import('./serve.ts')).serveCommand],
  config: ['show the settings in effect, or all settings', async () => (await import('./config.ts')).configCommand],
  migrate: ["bring the database to this build's schema", async () => (await import('./migrate.ts')).migrateCommand],
  topics: ['compare the topics with the plan, and apply it', async () => (await import('./topics.ts')).topicsCommand],
  link: ['sign a user in, so that their accounts are followed', async () => (await import('./link.ts')).linkCommand],
  token: ['make, list and revoke tokens of REST', async () => (await import('./token.ts')).tokenCommand],
  doctor: [
    'check everything that the service needs, and show how to fix faults',
    async () => (await import('./doctor.ts')).doctorCommand,
  ],
  status: ['show the state of a running service', async () => (await import('./status.ts')).statusCommand],
  fleet: [
    'show which process holds which shards of the accounts, and move them',
    async () => (await import('./fleet.ts')).fleetCommand,
    { alias: 'lanes' },
  ],
  healthcheck: [
    'check a running service; the exit code is the answer',
    async () => (await import('./healthcheck.ts')).healthcheckCommand,
  ],
  tail: ['print updates as they arrive on Kafka', async () => (await import('./tail.ts')).tailCommand],
  orders: ['list orders, or show one with its history', async () => (await import('./orders.ts')).ordersCommand],
  place: ['place an order through a running service', async () => verbOf((await import('./place.ts')).placeVerb)],
  replace: ['change terms of a working prediction order', async () => verbOf((await import('./place.ts')).replaceVerb)],
  cancel: ['cancel an order, or all that match', async () => (await import('./cancel.ts')).cancelCommand],
  'cancel-after': [
    'cancel all orders on silence: the dead man’s switch',
    async () => verbOf((await import('./cancel.ts')).cancelAfterVerb),
  ],
  command: ['list, show and resolve commands', async () => (await import('./command.ts')).commandCommand],
  mcp: ['serve tools for an assistant, over a running service', async () => (await import('./mcp.ts')).mcpCommand],
  halt: ['stop placing and replacing; cancels still pass', async () => verbOf((await import('./halt.ts')).haltVerb)],
  resume: ['allow placing and replacing again', async () => verbOf((await import('./halt.ts')).resumeVerb)],
  limits: [
    'show and change the limits of places and replaces',
    async () => (await import('./limits.ts')).limitsCommand,
  ],
  approvals: [
    'show and approve requests that wait for a second principal',
    async () => (await import('./approvals.ts')).approvalsCommand,
  ],
  probe: [
    'find out the result of unresolved commands at once',
    async () => verbOf((await import('./probe.ts')).probeVerb),
  ],
  'dead-letters': [
    'show unreadable messages, and deal with them',
    async () => (await import('./dead-letters.ts')).deadLetterCommand,
  ],
  backfill: [
    'have the running service read a whole account',
    async () => verbOf((await import('./backfill.ts')).backfillVerb),
  ],
  replay: ['write updates of the log to a topic once more', async () => (await import('./replay.ts')).replayCommand],
  verify: [
    'compare database, log and topics, and name the hop where something is missing',
    async () => (await import('./verify.ts')).verifyCommand,
  ],
  venue: [
    'play recorded rows of a trading venue once more, or check that it keeps the contract',
    async () => (await import('./venue.ts')).venueCommand,
  ],
  'audit-log': ['export the audit trail', async () => (await import('./audit-log.ts')).auditTrailCommand],
  'after-restore': [
    'go on after the database was restored from a copy',
    async () => (await import('./after-restore.ts')).afterRestoreCommand,
  ],
  sandbox: [
    'run a made-up trading platform on this machine, with live orders and faults',
    async () => (await import('./sandbox.ts')).sandboxCommand,
  ],
  completion: [
    'print a script that completes commands and flags in a shell',
    async () => (await import('./completion.ts')).completionCommand,
    { needsAll: true },
  ],
};

export const commandEntries: readonly CommandEntry[] = Object.entries(commands).map(
  ([name, [summary, load, more]]) => ({
    name,
    summary,
    load,
    ...more,
  }),
);
