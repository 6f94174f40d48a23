import type { FleetDocument, FleetLane } from '../../contract/fleet-answer.ts';
import { ageOf, type Columns, clip, tableText } from '../io/format-text.ts';

/** The fleet for people: its verdict, and a row a lane. */
export function fleetText({ lanes, free, pinned, verdict, at }: FleetDocument): string {
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
