import type { Ambient } from '../../observability/ambient.ts';
import type { Metrics } from '../../observability/metrics.ts';

/** Given to each function that joins parts. */
export interface SharedParts extends Ambient {
  readonly metrics: Metrics;
}
