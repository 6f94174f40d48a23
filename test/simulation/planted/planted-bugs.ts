import type { Observation } from '../../../src/domain/observation.ts';
import { type Clock, momentOf } from '../../../src/runtime/clock.ts';
import { CommitCheckpoint, Lease } from '../../../src/runtime/lease.ts';
import { Handoff } from '../../../src/service/log/handoff.ts';
import { Position } from '../../../src/service/log/position.ts';
import { StateWriter } from '../../../src/service/log/state-writer.ts';
import { BatchPipeline } from '../../../src/service/orders/batch-pipeline.ts';
import { HeadCache } from '../../../src/service/orders/head-cache.ts';
import { Ingest } from '../../../src/service/orders/ingest.ts';
import { AccountReader } from '../../../src/service/sources/account-reader.ts';
import { Connection } from '../../../src/service/sources/connection.ts';
import { Connectors } from '../../../src/service/sources/connectors.ts';
import { Doubts } from '../../../src/service/sources/doubts.ts';
import type { Pings } from '../../../src/service/sources/pings.ts';
import { StoreLost } from '../../../src/service/sources/store-lost.ts';
import { Unrecovered } from '../../../src/service/sources/unrecovered.ts';
import { Watermarks } from '../../../src/service/sources/watermarks.ts';
import { passing } from '../passing.ts';
import { MemoryDatabase } from '../world/memory-database.ts';
import { plantedAlpacaBugs } from './planted-alpaca-bugs.ts';
import { plantedBesideBugs } from './planted-beside-bugs.ts';
import type { PlantedBug } from './planted-bug.ts';
import { plantedCommandBugs } from './planted-command-bugs.ts';
import { plantedDamageBugs } from './planted-damage-bugs.ts';
import { plantedFleetBugs } from './planted-fleet-bugs.ts';
import { plantedOddBugs } from './planted-odd-bugs.ts';
import { replaced } from './replaced.ts';

const { reportsNewLoss: isNews } = StoreLost.prototype;
const { received } = Connection.prototype as unknown as Receiver;
const { lost } = Watermarks.prototype as unknown as Losing;
const { forget } = StateWriter.prototype as unknown as Remembering;
const { putBack } = BatchPipeline.prototype as unknown as Trusting;
const dealtWith = new WeakSet<StoreLost>();

/** The private parts that planted bugs change. */
type Receiver = { received(text: string): void; readonly pings: Pings; readonly clock: Clock };
type Remembering = { memory: 'behind' | 'joining' | 'whole'; forget(memory: string): void; join(upTo: bigint): void };
type Trusting = { trustsFirst: boolean; putBack(...failed: unknown[]): void };
type Losing = { lost(fromMs: number, reason: string): boolean; readonly deps: { readonly clock: Clock } };

/** Mistakes that one could make in this design, each of which some seed must show. */
const plantedStreamBugs: readonly PlantedBug[] = [
  {
    name: 'the position is saved before Kafka has acknowledged',
    shows: /says complete before|not on its topic|updates topic|shows revision/,
    deps: ({ publisher }) => ({
      publisher: { ...publisher, publish: (...sent) => publisher.publish(...sent).catch(() => undefined) },
    }),
  },
  {
    name: 'heads stay cached after the batch that changed them failed',
    shows: /goes from revision/,
    plant: replaced(HeadCache, 'evict', () => undefined),
  },
  {
    name: 'the cache lets go of a head that a batch in flight has changed',
    shows: /would hold .* twice/,
    plant: replaced(HeadCache, 'pin', () => undefined),
  },
  {
    name: 'an order that is stored is written anew where its first event comes again',
    shows: /would hold .* twice/,
    plant: replaced(MemoryDatabase, 'isTakenForNew', () => false),
  },
  {
    name: 'first events are trusted although a batch was refused for one',
    shows: /takes a stored order for new again/,
    plant: replaced(BatchPipeline as unknown as { readonly prototype: Trusting }, 'putBack', function (...failed) {
      putBack.apply(this, failed);
      this.trustsFirst = true;
    }),
  },
  {
    name: 'a correction is never looked for',
    seed: 39,
    shows: /not healed: account/,
    plant: replaced(Doubts, 'raise', () => undefined),
  },
  {
    name: 'a lost store is taken for any other uncertainty',
    shows: /not healed: prediction/,
    plant: replaced(StoreLost, 'reportsNewLoss', () => false),
  },
  {
    name: 'a store that is lost again is taken for the loss before',
    seed: 273,
    shows: /not healed: prediction/,
    plant: replaced(StoreLost, 'reportsNewLoss', function (this: StoreLost, observation: Observation) {
      if (!isNews.call(this, observation) || dealtWith.has(this)) return false;
      dealtWith.add(this);
      return true;
    }),
  },
  {
    name: 'an account is live before its orders were read',
    shows: /is live though no list/,
    plant: replaced(AccountReader, 'read', async () => ({ complete: true, rows: 0 })),
  },
  {
    name: 'what is complete goes on over a frame that could not be read',
    seed: 83,
    shows: /complete over a frame that was not recovered/,
    plant: replaced(Unrecovered, 'loseOrder', () => undefined),
  },
  {
    name: 'a heartbeat goes ahead of rows that are not committed yet',
    shows: /was called complete up to .* comes into the log only now/,
    deps: ({ host }) => ({
      intoIngest: (sink) =>
        passing(sink, (item) => {
          if (item.kind !== 'order' || item.cause !== 'stream') return item;
          host.clock.after(2_000, () => sink.offer(item));
          return undefined;
        }),
    }),
  },
  {
    name: 'what is complete is said up to the message that was read last',
    shows: /a (heartbeat|lost) covers an event that was sent/,
    plant: replaced(Connection as unknown as { readonly prototype: Receiver }, 'received', function (text: string) {
      this.pings.readUpTo = momentOf(this.clock);
      received.call(this, text);
    }),
  },
  {
    name: 'a gap begins where it was noticed',
    shows: /a lost covers an event that was sent/,
    plant: replaced(
      Watermarks as unknown as { readonly prototype: Losing },
      'lost',
      function (_: number, reason: string) {
        return lost.call(this, this.deps.clock.nowMs(), reason);
      },
    ),
  },
  {
    name: 'a process acts on a lease that is long gone',
    seed: 9,
    shows: /behind its last renewal/,
    plant: replaced(Lease, 'mayAct', () => true),
  },
  {
    name: 'a term begins as if the one before had proven everything',
    seed: 12,
    shows: /not healed: lane 0: HOLE/,
    plant: replaced(MemoryDatabase, 'readUnproven', async () => undefined),
  },
  {
    name: 'a process does not remember what was committed',
    seed: 24,
    shows: /gives .* again with other content/,
    seeds: 'losing',
    plant: replaced(CommitCheckpoint, 'sawLane', () => undefined),
  },
  {
    name: 'a process that was started since does not ask Kafka what was published',
    seed: 134,
    shows: /gives .* again with other content/,
    seeds: 'losing',
    deps: () => ({ checkpoints: async () => [] }),
  },
  {
    name: 'the state topic takes what a fenced writer sends',
    seed: 74,
    shows: /on the state topic behind/,
    deps: ({ host }, { broker }) => ({
      statePublisher: (lane) => broker.statePublisher(host, { fencing: false, lane }),
    }),
  },
  {
    name: 'after a lost answer nothing is reclaimed: it is taken for a rollback',
    shows: /goes from (revision|version)|twice|not healed/,
    deps: ({ database }) => ({
      database: {
        ...database,
        orders: {
          ...database.orders,
          applyBatch: async (batch) => {
            const result = await database.orders.applyBatch(batch);
            return result.kind === 'unknown' ? { kind: 'retry', code: result.code } : result;
          },
        },
      },
    }),
  },
  {
    name: 'after a lost answer nothing is reclaimed: it is taken for a commit',
    shows: /not healed|goes from/,
    deps: ({ database }) => ({
      database: {
        ...database,
        orders: {
          ...database.orders,
          applyBatch: async (batch) => {
            const result = await database.orders.applyBatch(batch);
            return result.kind === 'unknown' ? { kind: 'committed', lastSeq: undefined } : result;
          },
        },
      },
    }),
  },
  {
    name: 'batches are written whatever the epoch',
    shows: /goes from revision|twice|epoch .* commits behind/,
    deps: ({ database }, world) => ({
      database: {
        ...database,
        orders: {
          ...database.orders,
          applyBatch: (batch) => {
            const { epoch, batch: last } = world.database.holdOf(batch.lane);
            return database.orders.applyBatch({ ...batch, epoch, number: last + 1n });
          },
        },
      },
    }),
  },
  {
    name: 'the relay follows memory over a gap',
    shows: /says complete before|not on its topic|updates topic|shows revision/,
    plant: replaced(Handoff, 'reread', () => undefined),
  },
  {
    name: 'the state writer trusts its memory after a failed flush',
    shows: /state topic/,
    plant: replaced(
      StateWriter as unknown as { readonly prototype: Remembering },
      'forget',
      function (this: Remembering, memory: string) {
        forget.call(this, this.memory === 'whole' ? 'whole' : memory);
      },
    ),
  },
  {
    name: 'the state writer keeps rows that the log has shown with newer ones',
    seed: 64,
    shows: /on the state topic behind/,
    plant: replaced(
      StateWriter as unknown as { readonly prototype: Remembering },
      'join',
      function (this: Remembering) {
        this.memory = 'whole';
      },
    ),
  },
  {
    name: 'the state writer writes the newest of the rows that it looked at, and not of the order',
    seed: 35,
    shows: /on the state topic behind/,
    plant: replaced(
      MemoryDatabase,
      'readNewestAfter',
      async function (this: MemoryDatabase, ...[lane, afterSeq, limit]: Parameters<MemoryDatabase['readNewestAfter']>) {
        const looked = await this.readAfter(lane, afterSeq, Math.min(limit, 20));
        const updates = looked.filter(({ topic }) => topic === 'updates');
        return {
          rows: [...new Map(updates.map((row) => [row.key, row])).values()],
          lastSeq: looked.at(-1)?.seq ?? afterSeq,
          endSeq: this.backlogOf(lane)[1]?.newest ?? afterSeq,
        };
      },
    ),
  },
  {
    name: 'the relay begins behind what is committed, not behind what is acknowledged',
    shows: /updates topic/,
    plant: replaced(Position, 'load', async function (this: Position) {
      this.advance(1_000_000n);
    }),
  },
  {
    name: 'sources go on after the lane is lost',
    shows: /leaves .* behind|connections are left/,
    plant: replaced(Connectors, 'end', async () => undefined),
  },
  {
    name: 'versions go through a JavaScript number',
    shows: /version|conflict|not healed/,
    deps: () => ({
      intoIngest: (sink) =>
        passing(sink, (item) => {
          if (item.kind !== 'order' || item.sourceVersion === undefined) return item;
          return { ...item, sourceVersion: BigInt(Number(item.sourceVersion)) };
        }),
    }),
  },
  {
    name: 'an order is shown from memory while its batch is in flight',
    shows: /shows .* at revision \d+, and the database has/,
    plant: replaced(HeadCache, 'committedOpen', function (this: HeadCache, key: string) {
      return this.get(key);
    }),
  },
  {
    name: 'an order is shown from memory by a process whose lane is over',
    shows: /shows .* at revision \d+, and the database has/,
    plant: replaced(Ingest, 'openOrder', function (this: Ingest, key: string) {
      const { pipeline } = this as unknown as { readonly pipeline: BatchPipeline | undefined };
      return pipeline?.cache.committedOpen(key);
    }),
  },
  {
    name: 'a full queue drops what comes',
    shows: /./,
    deps: () => ({ intoIngest: (sink) => passing(sink, (item) => (sink.full ? undefined : item)) }),
  },
  {
    name: 'an event that repeats a known instant is dropped',
    shows: /./,
    deps: () => {
      const seen = new Set<string>();
      return {
        intoIngest: (sink) =>
          passing(sink, (item) => {
            if (item.kind !== 'order') return item;
            const instant = `${item.view.orderId} ${item.view.updatedAt.slice(0, 19)}`;
            if (seen.has(instant)) return undefined;
            seen.add(instant);
            return item;
          }),
      };
    },
  },
];

export const plantedBugs: readonly PlantedBug[] = [
  ...plantedStreamBugs,
  ...plantedOddBugs,
  ...plantedDamageBugs,
  ...plantedFleetBugs,
  ...plantedCommandBugs,
  ...plantedAlpacaBugs,
  ...plantedBesideBugs,
];
