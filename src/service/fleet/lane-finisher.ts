import type { Ambient } from '../../observability/ambient.ts';
import { createMetrics, type Metrics } from '../../observability/metrics.ts';
import { Lease } from '../../runtime/lease.ts';
import { abortAfter, unlessAborted } from '../../runtime/waiting.ts';
import type { LaneStore } from '../../store/fleet/lane-store.ts';
import type { ShardStore } from '../../store/fleet/shard-store.ts';
import type { UpdateLog } from '../../store/orders/update-log.ts';
import { CheckpointWriter } from '../log/checkpoint-writer.ts';
import type { Publisher, StatePublisher } from '../log/publisher.ts';
import { Relay } from '../log/relay.ts';
import { relayDefaults } from '../log/relay-options.ts';
import { LaneKeeper, type LaneWork } from './lane-keeper.ts';
import type { LossCheck } from './loss-check.ts';

interface LaneFinisherDeps extends Ambient {
  readonly lanes: LaneStore;
  readonly shards: ShardStore;
  readonly updates: UpdateLog;
  /** New ones for each lane: a publisher takes one send at a time. */
  readonly publishers: (lane: number) => {
    readonly updates: Publisher;
    readonly states: StatePublisher;
    /** Left out: no checkpoint is kept. */
    readonly checkpoint?: Publisher;
  };
  readonly lossCheck: Pick<LossCheck, 'ask'>;
}

interface LaneFinisherOptions {
  /** Names this process. */
  readonly holder: string;
  readonly actForMs: number;
  readonly renewEveryMs: number;
  readonly expireAfterMs: number;
  /**
   * If a lane's rest is not published by then, it is given back: a process without Kafka must not
   * keep it from one with it.
   */
  readonly publishWithinMs: number;
}

export const laneFinisherDefaults = { publishWithinMs: 20_000 } as const;

const takeWithinMs = 3_000;

/**
 * Ends a lane that has no process: takes its row, which fences the former holder; publishes the
 * rest of its log and of its states; frees its shards; and gives the lane back. So the next holder
 * of a shard commits only after the last one's updates are on Kafka. Before it publishes it asks
 * Kafka: a database that came back without the shards' freeing has old rows as the rest of the
 * lane, and another process may have published newer states since.
 *
 * It resolves without doing anything when another process holds the lane. It rejects when a signal
 * aborts, the lane was lost on the way, Kafka can't be asked or has updates that the database
 * lacks, or the rest could not be published in time: then the lane is looked at again, by any
 * process, and what was published of it stays so.
 */
export class LaneFinisher {
  private readonly deps: LaneFinisherDeps;
  private readonly options: LaneFinisherOptions;

  constructor(deps: LaneFinisherDeps, options: LaneFinisherOptions) {
    this.deps = deps;
    this.options = options;
  }

  async finish(lane: number, ...signals: AbortSignal[]): Promise<void> {
    const { lanes, clock, log } = this.deps;
    const lease = new Lease(clock, this.options.actForMs);
    lease.enter(lane);
    // Its figures are not those of this process's own lane.
    const metrics = createMetrics();
    const { relay, close } = this.writersOf(lease, metrics);
    const over = new AbortController();
    const taken = Promise.withResolvers<true>();
    const begun = Promise.withResolvers<void>();
    begun.promise.catch(() => undefined);
    const work: LaneWork = {
      begin: async ({ batch }) => {
        taken.resolve(true);
        await this.deps.lossCheck.ask(lease).catch((error: unknown) => {
          begun.reject(error);
          throw error;
        });
        relay.begin(batch);
        begun.resolve();
      },
      end: async () => {
        over.abort();
        relay.end();
      },
    };
    const keeper = new LaneKeeper(
      { store: lanes, lease, work, clock, metrics: metrics.ingest, log },
      { ...this.options, acquireEveryMs: 1_000 },
    );
    const parts = [relay, keeper];
    await Promise.all(parts.map((part) => part.start()));
    const waited = new AbortController();
    using within = abortAfter(
      clock,
      this.options.publishWithinMs,
      'publishing the rest of the lane',
      over.signal,
      ...signals,
    );
    try {
      const isTaken = await Promise.race([taken.promise, clock.sleep(takeWithinMs, waited.signal, ...signals)]);
      waited.abort();
      if (isTaken !== true) return;
      // The lane counts as held before Kafka has answered: only the answer says its shards may go.
      await unlessAborted(begun.promise, within.signal);
      await this.publishAndFree(lease, relay, within.signal);
    } finally {
      for (const part of parts) await part.drain(within.signal);
      await close();
    }
  }

  /** The parts to publish the lane's rest, and their publishers' end. */
  private writersOf(lease: Lease, metrics: Metrics) {
    const { updates: log, publishers, clock, random, log: logger } = this.deps;
    const { updates, states, checkpoint: checkpoints } = publishers(lease.lane);
    // They begin once Kafka has answered: nothing is published before.
    const mayWrite = () => true;
    const checkpoint = checkpoints && new CheckpointWriter({ clock, lease, mayWrite, publisher: checkpoints });
    const relay = new Relay(
      {
        lease,
        clock,
        random,
        logger,
        log,
        ...(checkpoint && { checkpoint }),
        publisher: updates,
        statePublisher: states,
        metrics: { ...metrics.relay, latency: metrics.ingest.latency },
      },
      { ...relayDefaults, states: { ...relayDefaults.states, flushEveryMs: 200 } },
    );
    const close = () => Promise.all([updates.close(), states.close(), checkpoints?.close()]);
    return { relay, close };
  }

  private async publishAndFree(lease: Lease, relay: Relay, signal: AbortSignal): Promise<void> {
    const { shards, log } = this.deps;
    const { lane } = lease;
    await relay.awaitPublished(signal);
    const freed = await shards.freeAll(lane, lease.epoch);
    if (freed === undefined) throw new Error(`lane ${lane} was taken by another process`);
    log.info(
      { lane, shards: freed },
      'a lane without a process was finished: its updates are published, its shards are free',
    );
  }
}
