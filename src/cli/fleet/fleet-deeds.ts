import { type Command, InvalidArgumentError } from 'commander';
import { type FleetDocument, type FleetLane, fleetAnswer } from '../../contract/fleet-answer.ts';
import { exitCodes, ProgramError } from '../../runtime/program-error.ts';
import type { CliIo } from '../io/io.ts';
import { type RestClient, understood } from '../rest/rest-client.ts';
import { addReasonFlag, type RestFlags, restClient, restExitCodes, segment } from '../rest/rest-flags.ts';
import { fleetText } from './fleet-text.ts';

type DeedFlags = RestFlags & { readonly reason: string };

const drainExamples = `
Examples:
  $ tidemark fleet drain desk-1-4fae12c9 --reason "its machine gets a new kernel"
  $ tidemark fleet drain 4fae12c9 --reason "the end of the name is enough"

It goes on, and still forwards commands; \`tidemark fleet\` shows when it holds no shard any more. Where no other process takes shards, it keeps its own until one does. The drain holds until \`tidemark fleet undrain\`, or until the process ends.
It needs a token with ops:read and ops:write for every account. ${restExitCodes}`;

const pinExamples = `
Examples:
  $ tidemark fleet pin 3 --reason "its accounts trade all day, and a move shows"

A pinned shard still moves when its process is drained, is stopped or dies; it is pinned to the next one then. It holds until \`tidemark fleet unpin\`.
It needs a token with ops:write for every account. ${restExitCodes}`;

/** `fleet drain`, `undrain`, `pin` and `unpin`. */
export function addFleetDeeds(io: CliIo, fleet: Command): void {
  const ofInstance = (verb: 'drain' | 'undrain', description: string) => {
    const command = fleet
      .command(verb)
      .description(description)
      .argument('<instance>', 'name of the process, or its end');
    return addReasonFlag(command).action(async (name: string, _own: DeedFlags, called: Command) => {
      // `--json` is also a flag of `fleet`, which takes it first.
      const flags = called.optsWithGlobals<DeedFlags>();
      const client = restClient(io, flags);
      const { lanes } = await act(
        io,
        client,
        `/v1/fleet/instances/${segment(await instanceOf(client, name))}/${verb}`,
        flags,
      );
      if (verb === 'drain' && !lanes.some(takesShards))
        io.stderr.write('no other process takes shards: it keeps its own until one does\n');
    });
  };
  ofInstance('drain', 'Has a process give its shards to the others, one by one, over REST.').addHelpText(
    'after',
    drainExamples,
  );
  ofInstance('undrain', 'Has a process take shards again, over REST.');
  const ofShard = (verb: 'pin' | 'unpin', description: string) => {
    const command = fleet.command(verb).description(description).argument('<shard>', 'its number', shardNumber);
    return addReasonFlag(command).action(async (shard: string, _own: DeedFlags, called: Command) => {
      const flags = called.optsWithGlobals<DeedFlags>();
      await act(io, restClient(io, flags), `/v1/fleet/shards/${segment(shard)}/${verb}`, flags);
    });
  };
  ofShard('pin', 'Keeps a shard with its process: balance does not move it, over REST.').addHelpText(
    'after',
    pinExamples,
  );
  ofShard('unpin', 'Lets a shard move for balance again, over REST.');
}

function shardNumber(text: string): string {
  if (/^\d{1,4}$/.test(text)) return text;
  throw new InvalidArgumentError('It must be a whole number, as `tidemark fleet` shows it.');
}

const takesShards = ({ state, drained, unfit, weight }: FleetLane) =>
  state === 'live' && !drained && unfit === null && weight > 0;

async function act(io: CliIo, client: RestClient, path: string, { reason, json }: DeedFlags): Promise<FleetDocument> {
  const { body } = await client.ask({ method: 'POST', path, body: { reason } });
  const fleet = understood('the fleet', fleetAnswer, body);
  io.stdout.write(json ? `${JSON.stringify(fleet, undefined, 2)}\n` : fleetText(fleet));
  return fleet;
}

/** The whole name: the table shows the end of a long one. */
async function instanceOf(client: RestClient, given: string): Promise<string> {
  const { body } = await client.ask({ method: 'GET', path: '/v1/fleet' });
  const names = understood('the fleet', fleetAnswer, body).lanes.flatMap(({ holder }) => holder ?? []);
  const end = given.replace(/^…/, '');
  const [first, ...others] = names.includes(end) ? [end] : names.filter((name) => end !== '' && name.endsWith(end));
  if (first !== undefined && others.length === 0) return first;
  throw new ProgramError(
    first === undefined ? `no process has the name ${given}` : `${given} is the end of several names`,
    {
      code: 'USAGE',
      exitCode: exitCodes.usage,
      fix: `The processes are: ${names.join(', ')}.`,
    },
  );
}
