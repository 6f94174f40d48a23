import type { Ingest } from '../ingest/ingest.ts';
import type { LaneTenant } from '../ingest/lane-keeper.ts';
import type { Relay } from '../publish/relay.ts';
import type { StateWriter } from '../publish/state-writer.ts';
import type { LaneHold } from '../store/lane-store.ts';

/** The part that follows the streams while the lane is held. */
export interface Sources {
  begin(): Promise<void>;
  end(): Promise<void>;
}

/** The part that sends commands and finds out their outcomes while the lane is held. */
interface LaneCommands {
  /** Rejects when the journal can't be read: nothing may be sent before the earlier sends are known. */
  begin(hold: LaneHold): Promise<void>;
  end(): Promise<void>;
}

/** The part that publishes the steps of commands. */
interface LaneOutcomes {
  begin(): void;
  end(): void;
}

interface LanePartsDeps {
  /** Rejects when the database's schema does not fit this build. */
  readonly checkSchema: () => Promise<void>;
  /** Its `begin` rejects when Kafka has updates that the database lacks. Left out: nothing is published. */
  readonly lossCheck?: { begin(): Promise<void>; end(): void };
  /** Records the configuration while the work goes on. */
  readonly configDeed?: { begin(): void };
  readonly sources: Sources;
  readonly ingest: Ingest;
  readonly relay: Relay;
  readonly stateWriter: StateWriter;
  /** Left out where only the data path runs. */
  readonly commands?: LaneCommands;
  readonly outcomes?: LaneOutcomes;
}

/**
 * The parts that run while the lane is held, in the order of the data path. They begin from its end, so that nothing is offered to a part that has not
 * begun, and end from its start. Commands begin last and end first.
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
    // Last, because it finds out about orders through the sources.
    await commands?.begin(hold);
    configDeed?.begin();
  }

  async end(): Promise<void> {
    const { lossCheck, sources, ingest, relay, stateWriter, commands, outcomes } = this.deps;
    lossCheck?.end();
    relay.end();
    stateWriter.end();
    outcomes?.end();
    // In parallel: a source may wait for a barrier that only the end of ingest answers, and a probe of the commands may wait for its source.
    await Promise.all([commands?.end(), sources.end(), ingest.end()]);
  }
}
