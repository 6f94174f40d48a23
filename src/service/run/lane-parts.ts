import type { LaneHold } from '../../store/fleet/lane-store.ts';
import type { LaneWork } from '../fleet/lane-keeper.ts';
import type { LossCheck } from '../fleet/loss-check.ts';
import type { ShardKeeper } from '../fleet/shard-keeper.ts';
import type { CheckpointWriter } from '../log/checkpoint-writer.ts';
import type { Relay } from '../log/relay.ts';
import type { ResultRelay } from '../log/result-relay.ts';
import type { Ingest } from '../orders/ingest.ts';
import type { VenueSources } from '../sources/venue-sources.ts';
import type { ConfigRecord } from './config-record.ts';

interface LanePartsDeps {
  /** Rejects when the database's schema does not fit this build. */
  readonly checkSchema: () => Promise<void>;
  /**
   * Its `begin` rejects when Kafka has updates the database lacks. Left out: nothing is published.
   */
  readonly lossCheck?: Pick<LossCheck, 'begin' | 'end'>;
  /** Keeps observed commits on Kafka. Left out: nothing is kept. */
  readonly checkpoint?: Pick<CheckpointWriter, 'doubt'>;
  /** Records the configuration while the work goes on. */
  readonly configRecord?: Pick<ConfigRecord, 'begin' | 'end'>;
  readonly sources: Pick<VenueSources, 'begin' | 'end'>;
  readonly ingest: Ingest;
  readonly relay: Relay;
  readonly shards: Pick<ShardKeeper, 'resume' | 'begin' | 'end'>;
  readonly results?: Pick<ResultRelay, 'begin' | 'end'>;
}

/**
 * The parts that run while the lane is held, in the data path's order. They begin from its end, so
 * nothing is offered to a part before it has begun. They end from its start. Commands begin last
 * and end first.
 */
export class LaneParts implements LaneWork {
  private readonly deps: LanePartsDeps;

  constructor(deps: LanePartsDeps) {
    this.deps = deps;
  }

  async begin(hold: LaneHold): Promise<void> {
    const { checkSchema, lossCheck, checkpoint, configRecord, sources, ingest, relay, shards, results } = this.deps;
    await checkSchema();
    await lossCheck?.begin();
    checkpoint?.doubt();
    relay.begin(hold.batch);
    results?.begin();
    ingest.begin(hold);
    await shards.resume();
    await sources.begin();
    // Last, because commands find out about orders through the sources.
    await shards.begin();
    configRecord?.begin();
  }

  async end(): Promise<void> {
    const { lossCheck, configRecord, sources, ingest, relay, shards, results } = this.deps;
    configRecord?.end();
    lossCheck?.end();
    relay.end();
    results?.end();
    // In parallel: a source may wait for a barrier answered only by the end of ingest, and a
    // command's probe may wait for its source.
    await Promise.all([shards.end(), sources.end(), ingest.end()]);
  }
}
