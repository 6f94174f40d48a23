import { z } from 'zod';
import { instant } from './normalised-order.ts';
import { count, named } from './words.ts';

const shards = z.array(count);

const laneStates = ['live', 'draining', 'finished_by_another', 'without_process'] as const;

/** Why a process is unhealthy, or about to be. */
export const troubles = z
  .enum(['sockets_down', 'relay_stuck', 'loop_late'])
  .meta({ id: 'Trouble', description: 'Why a process is not healthy enough to hold accounts' });

const lane = named('FleetLane', 'A lane, and its process', {
  lane: count,
  state: z
    .enum(laneStates)
    .describe(
      '`finished_by_another`: its process is gone, and another one publishes the rest of its log; `without_process`: the same, and none does so yet',
    ),
  holder: z.string().nullable().describe('The process, as in `Tidemark-Instance`; null: none'),
  since: instant.describe('Since when it holds the lane; without a process: when the lane was last renewed'),
  weight: z.number().nonnegative().describe('Its part of the shards is in proportion to this'),
  drained: z.boolean().describe('An operator wants it to give its shards to the others: its weight is 0'),
  unhealthy: troubles
    .nullable()
    .describe(
      'Why it gives its shards to the others for now, with the weight 0: none of its sockets to the platform is open, Kafka acknowledges nothing, or the process turns late. Null: it is fit',
    ),
  shards: shards.describe('That the lane holds'),
  address: z.string().nullable().describe('Where the others forward commands to; null: it takes none'),
  version: z.string().nullable(),
});

export const fleetAnswer = named('Fleet', 'Which process holds which shards', {
  at: instant,
  verdict: z.string().describe('One sentence for people'),
  allHeld: z.boolean().describe('Every shard is held, and every lane has its process'),
  shards: count,
  free: shards.describe('Shards that no lane holds'),
  pinned: shards.describe('Shards that an operator keeps with their processes: balance does not move them'),
  lanes: z.array(lane).describe('Those with a process, and those that have something left; lowest first'),
});

export type FleetDocument = z.infer<typeof fleetAnswer>;
export type FleetLane = FleetDocument['lanes'][number];
