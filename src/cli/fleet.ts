import { type Command, Option } from 'commander';
import { type FleetDocument, type FleetLane, fleetAnswer } from '../contract/fleet-answer.ts';
import { exitCodes, usage } from '../runtime/program-error.ts';
import { shaped } from './io/flag-text.ts';
import { ageOf, type Columns, clip, tableText } from './io/format-text.ts';
import type { CliIo } from './io/io.ts';
import type { RestClient } from './rest/rest-client.ts';
import { type RestFlags, restClient, restExitCodes } from './rest/rest-flags.ts';
import { runVerb, type Verb, verbCommand } from './rest/verb.ts';
import { watch } from './watch.ts';

const shardNumber = shaped(/^\d{1,4}$/, 'It must be a whole number, as `tidemark fleet` shows it.');

const examples = `
Examples:
  $ tidemark fleet
  $ tidemark fleet --watch
  $ tidemark fleet --json | jq '.lanes[] | {lane, holder, shards}'
  $ tidemark fleet pin 3 --reason "its accounts trade all day, and a move shows"
  $ tidemark fleet drain desk-1-4fae12c9 --reason "its machine gets a new kernel"

The first line is the verdict. Any instance answers, for all of them. Exit codes: 0 every shard is held and every lane has its process, 1 not so, 69 no service answers, 77 the token lacks ops:read.`;

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

interface FleetFlags extends RestFlags {
  readonly watch?: true;
}

type FleetVerb = Verb<typeof fleetAnswer, FleetFlags>;

const fleetFields = { about: 'the fleet', answer: fleetAnswer, text: fleetText } as const;

const fleetShow: FleetVerb = {
  name: 'fleet',
  does: 'Shows the processes of the service with the shards of accounts that each of them holds, over REST.',
  help: examples,
  route: 'GET /v1/fleet',
  flags: (command) =>
    command.addOption(new Option('--watch', 'show it again every two seconds, until Ctrl-C').conflicts('json')),
  ...fleetFields,
  end: (io, { allHeld }) => {
    if (!allHeld) io.exit(exitCodes.failed);
  },
};

type Change = Pick<FleetVerb, 'does' | 'help' | 'end'>;

const ofInstance = (name: 'drain' | 'undrain', change: Change): FleetVerb => ({
  name,
  route: `POST /v1/fleet/instances/{instance}/${name}`,
  takes: [['<instance>', 'name of the process, or its end']],
  resolve: instanceOf,
  reasoned: true,
  ...fleetFields,
  ...change,
});

const ofShard = (name: 'pin' | 'unpin', change: Change): FleetVerb => ({
  name,
  route: `POST /v1/fleet/shards/{shard}/${name}`,
  takes: [['<shard>', 'its number', shardNumber]],
  reasoned: true,
  ...fleetFields,
  ...change,
});

const changes: readonly FleetVerb[] = [
  ofInstance('drain', {
    does: 'Has a process give its shards to the others, one by one, over REST.',
    help: drainExamples,
    end: (io, { lanes }) => {
      if (!lanes.some(takesShards)) io.stderr.write('no other process takes shards: it keeps its own until one does\n');
    },
  }),
  ofInstance('undrain', { does: 'Has a process take shards again, over REST.' }),
  ofShard('pin', {
    does: 'Keeps a shard with its process: balance does not move it, over REST.',
    help: pinExamples,
  }),
  ofShard('unpin', { does: 'Lets a shard move for balance again, over REST.' }),
];

export const fleetVerbs = [fleetShow, ...changes];

/** Shows who holds which shards; the commands below it move them. */
export function fleetCommand(io: CliIo): Command {
  const fleet = verbCommand(io, fleetShow).action(async (flags: FleetFlags) => {
    if (!flags.watch) return runVerb(io, fleetShow, [], flags);
    const client = restClient(io, flags);
    const look = async () => {
      const fleet = await readFleet(client);
      return { text: fleetText(fleet), isWell: fleet.allHeld };
    };
    if (!(await watch(io, look))) io.exit(exitCodes.failed);
  });
  for (const verb of changes) fleet.addCommand(verbCommand(io, verb));
  return fleet;
}

function readFleet(client: RestClient): Promise<FleetDocument> {
  return client.read('/v1/fleet', fleetFields.about, fleetAnswer);
}

const takesShards = ({ state, drained, unhealthy, weight }: FleetLane) =>
  state === 'live' && !drained && unhealthy === null && weight > 0;

/** The whole name: the table shows the end of a long one. */
async function instanceOf(client: RestClient, given: string): Promise<string> {
  const names = (await readFleet(client)).lanes.flatMap(({ holder }) => holder ?? []);
  const end = given.replace(/^…/, '');
  const [first, ...others] = names.includes(end) ? [end] : names.filter((name) => end !== '' && name.endsWith(end));
  if (first !== undefined && others.length === 0) return first;
  throw usage(
    first === undefined ? `no process has the name ${given}` : `${given} is the end of several names`,
    `The processes are: ${names.join(', ')}.`,
  );
}

/** The fleet for people: its verdict, and a row a lane. */
function fleetText({ lanes, free, pinned, verdict, at }: FleetDocument): string {
  const table = lanes.length === 0 ? '' : tableText(lanes, columnsAt(Date.parse(at)));
  return `${verdict}\n${table}${lanes.map(unhealthyLine).join('')}${shardsLine('free', free)}${shardsLine('pinned', pinned)}`;
}

export const whyUnhealthy: Readonly<Record<NonNullable<FleetLane['unhealthy']>, string>> = {
  sockets_down: 'none of its sockets to the platform is open',
  relay_stuck: 'Kafka acknowledges none of its rows',
  loop_late: 'the process turns late again and again',
};

function unhealthyLine({ lane, unhealthy }: FleetLane): string {
  return unhealthy === null ? '' : `lane ${lane} is unhealthy: ${whyUnhealthy[unhealthy]}\n`;
}

function shardsLine(word: string, shards: readonly number[]): string {
  return shards.length === 0 ? '' : `${word}: ${clip(rangesOf(shards), 90)}\n`;
}

/** `finishing`: another process publishes the rest of its log. */
const stateWords: Readonly<Record<FleetLane['state'], string>> = {
  live: 'live',
  draining: 'draining',
  finished_by_another: 'finishing',
  without_process: 'no process',
};

/** Within 100 columns: 5 + 21 + 8 + 6 + 14 + 24 + 10, and two between each. */
const columnsAt = (nowMs: number): Columns<FleetLane> => ({
  LANE: 'lane',
  // The end tells two processes on one machine apart.
  HOLDER: ({ holder }) => startCut(holder ?? '-', 21),
  SINCE: ({ since }) => ageOf(since, nowMs),
  WEIGHT: 'weight',
  SHARDS: ({ shards }) => (shards.length === 0 ? '-' : clip(rangesOf(shards), 14)),
  ADDRESS: ({ address }) => startCut(address ?? '-', 24),
  STATE: ({ state, drained, unhealthy }) =>
    state !== 'live' ? stateWords[state] : drained ? 'drained' : unhealthy === null ? 'live' : 'unhealthy',
});

/** `0-4,7`. */
function rangesOf(shards: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const shard of shards) {
    const open = ranges.at(-1);
    if (open !== undefined && open[1] === shard - 1) open[1] = shard;
    else ranges.push([shard, shard]);
  }
  return ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(',');
}

function startCut(text: string, width: number): string {
  return text.length <= width ? text : `…${text.slice(1 - width)}`;
}
