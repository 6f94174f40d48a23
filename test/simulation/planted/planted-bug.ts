import type { SimulatedServiceDeps } from '../simulated-service.ts';
import type { SimulatedWorld } from '../simulated-world.ts';

/** A mistake made on purpose, to see that the simulator would notice. */
export interface PlantedBug {
  readonly name: string;
  /**
   * A seed that shows it; left out: one of the first ones does. What a number
   * plays may change when the simulator does.
   */
  readonly seed?: number;
  /** What some failure must say: the bug is to be caught for what it is. */
  readonly shows: RegExp;
  /**
   * It shows only in runs that last long enough for something to be presumed absent,
   * mostly in those with many cancel-alls, where the database loses commits, or where
   * shards move a lot. `hiding`: where only commits are lost that nobody alive has seen.
   * `stranding`: the same, and Kafka is away for those who go on.
   * `forgetting`: where people halt beside a loss. `leaking`: where people halt at one
   * process, and another one places. `contesting`: where owners cancel what we cancel.
   * `odd`: where the platform does what no document says. `setback`: where its clock is set back.
   * `damaging`: where stored states are lost. `reusing`: where the
   * platform gives ids again. `beside`: where another venue is followed beside.
   */
  readonly seeds?:
    | 'patient'
    | 'sweeping'
    | 'losing'
    | 'moving'
    | 'hiding'
    | 'stranding'
    | 'forgetting'
    | 'leaking'
    | 'contesting'
    | 'odd'
    | 'setback'
    | 'damaging'
    | 'reusing'
    | 'beside';
  /** At this venue; left out: at the platform of the specification. */
  readonly venue?: 'alpaca';
  /** And where shards change hands all the time, besides. */
  readonly moves?: true;
  /** Other parts for each process. */
  readonly deps?: (deps: SimulatedServiceDeps, world: SimulatedWorld) => Partial<SimulatedServiceDeps>;
  /** Changes the code itself, for the time of a run; returns the way back. */
  readonly plant?: () => () => void;
}
