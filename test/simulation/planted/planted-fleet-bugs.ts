import { emptyReport } from '../../../src/domain/member-report.ts';
import type { IngestItem } from '../../../src/domain/observation.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import type { Lease } from '../../../src/runtime/lease.ts';
import { HeldShards } from '../../../src/service/fleet/held-shards.ts';
import { LaneFinisher } from '../../../src/service/fleet/lane-finisher.ts';
import { LossCheck } from '../../../src/service/fleet/loss-check.ts';
import { CheckpointWriter } from '../../../src/service/log/checkpoint-writer.ts';
import type { Ingest } from '../../../src/service/orders/ingest.ts';
import { AccountsFollower, type FollowingLogin } from '../../../src/service/sources/accounts-follower.ts';
import type { LaneMember, ShardStore } from '../../../src/store/fleet/shard-store.ts';
import { MemoryLanes } from '../world/memory-lanes.ts';
import type { PlantedBug } from './planted-bug.ts';
import { replaced } from './replaced.ts';

interface Finisher {
  readonly deps: { readonly shards: ShardStore };
}

/** The shards of a process that sees this of every other one, and of itself. */
function seeing(shards: ShardStore, what: Partial<LaneMember>): ShardStore {
  return {
    ...shards,
    look: async (expireAfterMs) => {
      const { members, ...fleet } = await shards.look(expireAfterMs);
      return { ...fleet, members: members.map((each) => ({ ...each, ...what })) };
    },
  };
}

/** The shards of a process that sees no pin. */
function unpinned(shards: ShardStore): ShardStore {
  return {
    ...shards,
    look: async (expireAfterMs) => {
      const { assignments, ...fleet } = await shards.look(expireAfterMs);
      return { ...fleet, assignments: assignments.map((assignment) => ({ ...assignment, pinned: false })) };
    },
  };
}

/** Ingest as the keeper of the shards sees it, with a wait for commits that is over at once. */
function withoutCommitted(ingest: Ingest) {
  return {
    committed: async () => undefined,
    fence: () => ingest.fence(),
    forgetOrders: (isOf: (accountId: string) => boolean) => ingest.forgetOrders(isOf),
  };
}

interface Follower {
  readonly deps: { readonly clock: Clock; readonly logins: ReadonlyMap<string, FollowingLogin> };
  turn(signal: AbortSignal): Promise<void>;
  run(signal: AbortSignal): Promise<void>;
  compare(): void;
}

const follower = AccountsFollower as unknown as { readonly prototype: Follower };

type Ahead = { isAhead(): boolean };
type PublishAndFree = { publishAndFree(lease: Lease): Promise<void> };

/** Mistakes in the way of a shard from one process to the next. */
export const plantedFleetBugs: readonly PlantedBug[] = [
  {
    name: 'a turn of the accounts waits for a list that was never read',
    shows: /a loop that waits for nothing/,
    plant: replaced(follower, 'run', async function (this: Follower, signal: AbortSignal) {
      const { clock, logins } = this.deps;
      let hasFailed = false;
      while (!signal.aborted && !hasFailed) {
        await this.turn(signal).catch(() => {
          hasFailed = true;
        });
        const isUnread = [...logins.values()].some(({ list }) => list.lists.said === 'nothing');
        if (!isUnread) await clock.sleep(500, signal);
      }
    }),
  },
  {
    name: 'a lane is finished before the rest of it is published',
    seeds: 'moving',
    shows: /commits for .* before .* is on its topic/,
    plant: replaced(
      LaneFinisher as unknown as { readonly prototype: PublishAndFree },
      'publishAndFree',
      async function (this: PublishAndFree, { lane, epoch }: Lease) {
        const { shards } = (this as unknown as Finisher).deps;
        await shards.freeAll(lane, epoch);
      },
    ),
  },
  {
    name: 'a lane is finished without a question to Kafka',
    seeds: 'losing',
    seed: 4_146,
    shows: /on the state topic behind/,
    plant: replaced(LossCheck, 'ask', async () => undefined),
  },
  {
    name: 'the checkpoint of one lane is read from Kafka, and not that of each',
    seeds: 'hiding',
    shows: /gives .* revision \d+ of generation 1 again with other content/,
    deps: ({ checkpoints }) => ({ checkpoints: async () => (await checkpoints()).slice(-1) }),
  },
  {
    name: 'of the lanes that could not ask Kafka, only the one that finds a loss has its rows under the new generation',
    seeds: 'stranding',
    shows: /gives .* revision \d+ of generation 1 again with other content/,
    deps: ({ noticePublished }, { database }) => ({
      noticePublished: (lane, ...asked) => {
        for (const [other, row] of database.lanes) if (other !== lane) row.unpublishedAfter = undefined;
        return noticePublished(lane, ...asked);
      },
    }),
  },
  {
    name: 'a lost commit counts as there once its number was given again',
    seeds: 'stranding',
    shows: /gives .* revision \d+ of generation 1 again with other content/,
    plant: replaced(MemoryLanes as unknown as { readonly prototype: Ahead }, 'isAhead', () => false),
  },
  {
    name: 'updates are sent before Kafka has the checkpoint of their lane',
    shows: /is on .* before its checkpoint/,
    plant: replaced(
      CheckpointWriter as unknown as { readonly prototype: { cover(): Promise<void> } },
      'cover',
      async () => undefined,
    ),
  },
  {
    name: 'updates are sent without a checkpoint that goes along',
    shows: /is on .* before its checkpoint/,
    plant: replaced(CheckpointWriter, 'along', () => undefined),
  },
  {
    name: 'a shard is given before all of it is published',
    seeds: 'moving',
    shows: /commits for .* before .* is on its topic/,
    deps: () => ({ keeping: { published: async () => undefined } }),
  },
  {
    name: 'a shard is given before all of it is resolved',
    seeds: 'moving',
    shows: /commits for shard .* which lane .* holds/,
    // Batches are over too soon to be seen behind it: here they are not.
    deps: ({ host, database }) => ({
      shardsIngest: (ingest) => withoutCommitted(ingest),
      database: {
        ...database,
        orders: {
          ...database.orders,
          applyBatch: (batch) => host.clock.sleep(500).then(() => database.orders.applyBatch(batch)),
        },
      },
    }),
  },
  {
    name: 'no guard keeps what arrives late from a shard that was given',
    seeds: 'moving',
    shows: /commits for shard .* which lane .* holds/,
    // Sources that were told to leave an account hardly ever bring anything of it: here they do.
    deps: ({ host }) => ({
      intoGuard: (sink) => ({
        offer: (item) => void host.clock.after(3_000, () => sink.offer(item)),
        get full() {
          return sink.full;
        },
        onRoom: (callback) => sink.onRoom(callback),
        committed: () => sink.committed(),
      }),
    }),
    plant: replaced(
      HeldShards as unknown as { readonly prototype: { passes(item: IngestItem): boolean } },
      'passes',
      () => true,
    ),
  },
  {
    name: 'a freeing that is done late frees a shard that was taken again since',
    seeds: 'moving',
    shows: /commits for shard .* which lane .* holds/,
    deps: (_, { database }) => {
      database.shards.freesLate = true;
      return {};
    },
  },
  {
    name: 'a shard is taken without a new epoch',
    shows: /works on shard .* under epoch/,
    deps: (_, { database }) => {
      database.shards.raising = new Set(['resume']);
      return {};
    },
  },
  {
    name: 'the shards of a lane are held again without new epochs',
    shows: /works on shard .* under epoch/,
    deps: (_, { database }) => {
      database.shards.raising = new Set(['take']);
      return {};
    },
  },
  {
    name: 'a pinned shard is given for balance',
    seeds: 'moving',
    shows: /gives shard .*, which is pinned/,
    deps: ({ database }) => ({ database: { ...database, shards: unpinned(database.shards) } }),
  },
  {
    name: 'an account that no list shows any more is left without a word',
    shows: /names no doubt, and .* is followed by no process/,
    plant: replaced(follower, 'compare', () => undefined),
  },
  {
    name: 'only the process that ought to follow an account says that nobody does',
    shows: /names no doubt, and .* is followed by no process/,
    deps: () => ({ keeping: { report: () => ({ ...emptyReport, follows: true }) } }),
  },
  {
    name: 'a process with nothing to send counts as proof that Kafka works',
    shows: /is unhealthy \(relay_stuck\) for a fault that all have/,
    deps: () => ({ keeping: { report: () => ({ ...emptyReport, follows: true, works: ['kafka', 'sockets'] }) } }),
  },
  {
    name: 'a process that is unhealthy keeps its shards',
    seeds: 'moving',
    shows: /still holds the shards .*, and is unhealthy/,
    deps: () => ({ keeping: { fitness: { review: async () => undefined } } }),
  },
  {
    name: 'a process is unhealthy although it is alone, and takes nothing',
    shows: /has no lane, and no process works on it/,
    deps: ({ database }) => ({
      database: { ...database, shards: seeing(database.shards, { spareWeight: 0 }) },
      keeping: { fitness: { review: async () => ({ trouble: 'sockets_down', unhealthy: true }) } },
    }),
  },
  {
    name: 'a process that is drained keeps its shards',
    seeds: 'moving',
    shows: /is still held by lane .*, whose process is drained/,
    deps: ({ database }) => ({
      database: { ...database, shards: seeing(database.shards, { weight: 1, drained: false }) },
    }),
  },
  {
    name: 'a lane is taken before its holder is gone',
    seeds: 'moving',
    shows: /sends in lane .* which .* holds/,
    deps: ({ database }) => ({
      database: {
        ...database,
        shards: { ...database.shards, look: () => database.shards.look(1_500) },
        lanes: { ...database.lanes, acquire: (lane, holder, _, seen) => database.lanes.acquire(lane, holder, 0, seen) },
      },
    }),
  },
];
