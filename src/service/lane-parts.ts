import type { Ingest } from '../ingest/ingest.ts';
import type { LaneTenant } from '../ingest/lane-keeper.ts';
import type { Relay } from '../publish/relay.ts';
import type { StateWriter } from '../publish/state-writer.ts';
import type { LaneHold } from '../store/lane-store.ts';

/** What follows the streams while the lane is held. */
export interface Sources {
  begin(): Promise<void>;
  end(): Promise<void>;
}

/** What sends commands and finds out about them while the lane is held. */
export interface LaneCommands {
  /** Rejects when the journal can't be read: nothing may be sent without knowing what was. */
  begin(hold: LaneHold): Promise<void>;
  end(): Promise<void>;
}

/** What publishes the steps of commands. */
export interface LaneOutcomes {
  begin(): void;
  end(): void;
}

export interface LanePartsDeps {
  /** Rejects when the database's schema is not this build's. */
  readonly checkSchema: () => Promise<void>;
  /** Its `begin` rejects when Kafka has updates that the database lacks. Left out: nothing is published. */
  readonly lossCheck?: { begin(): Promise<void>; end(): void };
  /** Records the configuration, beside the work. */
  readonly configDeed?: { begin(): void };
  readonly sources: Sources;
  readonly ingest: Ingest;
  readonly relay: Relay;
  readonly stateWriter: StateWriter;
  /** Left out where only the way of the data is run. */
  readonly commands?: LaneCommands;
  readonly outcomes?: LaneOutcomes;
}

/**
 * The parts that live with the lane, in the order of the way of the data: they begin from its end, so that nothing is offered to a part that is not
 * there yet, and end from its start; commands begin last and end first.
 */
export class LaneParts implements LaneTenant {
  private readonly deps: LanePartsDeps;

  constructor(deps: LanePartsDeps) {
    this.deps = deps;
  }

  async begin(hold: LaneHold): Promise<void> {
    const { checkSchema, lossCheck, configDeed, sources, ingest, relay, stateWriter, commands, outcomes } = this.deps;
    await checkSchema();
    await lossCheck?.begin();
    relay.begin(hold.batch);
    stateWriter.begin(hold.batch);
    outcomes?.begin();
    ingest.begin(hold);
    await sources.begin();
    // Last: what it finds out, it finds out through the sources.
    await commands?.begin(hold);
    configDeed?.begin();
  }

  async end(): Promise<void> {
    const { lossCheck, sources, ingest, relay, stateWriter, commands, outcomes } = this.deps;
    lossCheck?.end();
    relay.end();
    stateWriter.end();
    outcomes?.end();
    // Side by side: a source may be waiting for a barrier that only the end of ingest answers, and a probe of the commands for its source.
    await Promise.all([commands?.end(), sources.end(), ingest.end()]);
  }
}
