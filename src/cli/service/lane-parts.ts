import type { Ingest } from '../../ingest/ingest.ts';
import type { LaneTenant } from '../../ingest/lane-keeper.ts';
import type { LaneHold } from '../../ingest/lane-store.ts';
import type { Relay } from '../../relay/relay.ts';
import type { StateWriter } from '../../relay/state-writer.ts';

/** What follows the streams while the lane is held. */
export interface Sources {
  begin(): Promise<void>;
  end(): Promise<void>;
}

export interface LanePartsDeps {
  /** Rejects when the database's schema is not this build's. */
  readonly checkSchema: () => Promise<void>;
  readonly sources: Sources;
  readonly ingest: Ingest;
  readonly relay: Relay;
  readonly stateWriter: StateWriter;
}

/**
 * The parts that live with the lane, in the order of the way of the data: they begin from its end, so that nothing is offered to a part that is not
 * there yet, and end from its start.
 */
export class LaneParts implements LaneTenant {
  private readonly deps: LanePartsDeps;

  constructor(deps: LanePartsDeps) {
    this.deps = deps;
  }

  async begin(hold: LaneHold): Promise<void> {
    const { checkSchema, sources, ingest, relay, stateWriter } = this.deps;
    await checkSchema();
    relay.begin(hold.batch);
    stateWriter.begin(hold.batch);
    ingest.begin(hold);
    await sources.begin();
  }

  async end(): Promise<void> {
    const { sources, ingest, relay, stateWriter } = this.deps;
    relay.end();
    stateWriter.end();
    // Side by side: a source may be waiting for a barrier that only the end of ingest answers.
    await Promise.all([sources.end(), ingest.end()]);
  }
}
