import type { LaneHold } from '../../store/fleet/lane-store.ts';
import type { LaneWork } from '../fleet/lane-keeper.ts';
import type { Relay } from '../log/relay.ts';
import type { Ingest } from '../orders/ingest.ts';

/** Follows the streams while the lane is held. */
interface Sources {
  begin(): Promise<void>;
  end(): Promise<void>;
}

/** Knows which accounts belong to the lane, and takes commands for them. */
interface LaneShards {
  /** The lane's own shards are held again. Rejects when they can't be read. */
  resume(hold: LaneHold): Promise<void>;
  /**
   * Rejects when the journal can't be read: nothing may be sent before the earlier sends are known.
   */
  begin(hold: LaneHold): Promise<void>;
  end(): Promise<void>;
}

/** Publishes commands' steps. */
interface LaneResults {
  begin(): void;
  end(): void;
}

interface LanePartsDeps {
  /** Rejects when the database's schema does not fit this build. */
  readonly checkSchema: () => Promise<void>;
  /**
   * Its `begin` rejects when Kafka has updates the database lacks. Left out: nothing is published.
   */
  readonly lossCheck?: { begin(): Promise<void>; end(): void };
  /** Keeps observed commits on Kafka. Left out: nothing is kept. */
  readonly checkpoint?: { doubt(): void };
  /** Records the configuration while the work goes on. */
  readonly configRecord?: { begin(): void; end(): void };
  readonly sources: Sources;
  readonly ingest: Ingest;
  readonly relay: Relay;
  readonly shards: LaneShards;
  readonly results?: LaneResults;
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
    await shards.resume(hold);
    await sources.begin();
    // Last, because commands find out about orders through the sources.
    await shards.begin(hold);
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
