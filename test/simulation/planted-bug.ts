import type { SimulatedServiceDeps } from './simulated-service.ts';
import type { World } from './world.ts';

/** A mistake made on purpose, to see that the simulator would notice. */
export interface PlantedBug {
  readonly name: string;
  /** What some failure must say: the bug is to be caught for what it is. */
  readonly shows: RegExp;
  /** Other parts for each process. */
  readonly deps?: (deps: SimulatedServiceDeps, world: World) => Partial<SimulatedServiceDeps>;
  /** Changes the code itself, for the time of a run; returns the way back. */
  readonly plant?: () => () => void;
}
