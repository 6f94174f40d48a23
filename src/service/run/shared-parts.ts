import type { EffectiveValue } from '../../config/config.ts';
import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Tracing } from '../../observability/tracing.ts';
import type { Lease } from '../../runtime/lease.ts';
import type { CommandService } from '../commands/command-service.ts';
import type { LaneKeeper } from '../fleet/lane-keeper.ts';
import type { RestServer } from '../rest/rest-server.ts';

/** Given to each function that joins parts. */
export interface SharedParts extends Ambient {
  readonly metrics: Metrics;
}

/**
 * What the assembly begins with. Each of its steps takes all that is made before it, under the name
 * of that state: `Stored`, `Watched`, `Connected`, `Flowing`, `Commanding`, `Joined`.
 */
export interface BaseParts extends SharedParts {
  readonly lease: Lease;
  /** Names this process in its lane's row. */
  readonly holder: string;
  readonly version: string;
  readonly effective: readonly EffectiveValue[];
  readonly tracing: Tracing | undefined;
  /** Made by later steps, from earlier ones. They are asked for only once the service runs. */
  readonly later: {
    readonly keeper: () => LaneKeeper;
    readonly commands: () => CommandService;
    readonly rest: () => RestServer;
    readonly draining: () => boolean;
  };
}
