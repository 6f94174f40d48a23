import { Command, Option } from 'commander';
import type { Pool } from 'pg';
import type { FleetDocument } from '../contract/fleet-answer.ts';
import { exitCodes } from '../runtime/program-error.ts';
import { fleetDocument } from '../store/fleet/fleet-document.ts';
import { PostgresShardStore } from '../store/fleet/shard-store.ts';
import { addFleetDeeds } from './fleet/fleet-deeds.ts';
import { fleetText } from './fleet/fleet-text.ts';
import type { CliIo } from './io/io.ts';
import { readConfig } from './io/read-config.ts';
import { watch } from './watch.ts';
import { withDatabase } from './with-database.ts';

const examples = `
Examples:
  $ tidemark fleet
  $ tidemark fleet --watch
  $ tidemark fleet --json | jq '.lanes[] | {lane, holder, shards}'
  $ tidemark fleet pin 3 --reason "its accounts trade all day, and a move shows"
  $ tidemark fleet drain desk-1-4fae12c9 --reason "its machine gets a new kernel"

The first line is the verdict. Exit codes: 0 every shard is held and every lane has its process, 1 not so, 69 the database does not answer.`;

interface FleetFlags {
  readonly json?: true;
  readonly watch?: true;
}

/** Shows which process holds which shards; the commands below it move them. */
export function fleetCommand(io: CliIo): Command {
  const fleet = new Command('fleet')
    .description(
      'Shows the processes of the service with the shards of accounts that each of them holds, from the database.',
    )
    .option('--watch', 'show it again every two seconds, until Ctrl-C')
    .addOption(new Option('--json', 'print it as JSON, as GET /v1/fleet does').conflicts('watch'))
    .addHelpText('after', examples)
    .action(async (flags: FleetFlags) => {
      const config = readConfig(io, ['databaseUrl']);
      const isWell = await withDatabase(
        io,
        config,
        { applicationName: 'tidemark-fleet', maxConnections: 1 },
        (pool) => {
          const look = () => read(io, pool, config.leaseExpireMs);
          return flags.watch === true
            ? watch(io, async () => shown(await look()))
            : showOnce(io, look, flags.json === true);
        },
      );
      if (!isWell) io.exit(exitCodes.failed);
    });
  addFleetDeeds(io, fleet);
  return fleet;
}

function shown(fleet: FleetDocument) {
  return { text: fleetText(fleet), isWell: fleet.allHeld };
}

async function read(io: CliIo, pool: Pool, expireAfterMs: number): Promise<FleetDocument> {
  return fleetDocument(await new PostgresShardStore({ pool }).look(expireAfterMs), io.clock.nowMs());
}

async function showOnce(io: CliIo, look: () => Promise<FleetDocument>, asJson: boolean): Promise<boolean> {
  const fleet = await look();
  io.stdout.write(asJson ? `${JSON.stringify(fleet, undefined, 2)}\n` : fleetText(fleet));
  return fleet.allHeld;
}
