import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { Logger } from './logger.ts';

/** Given to a part without chance. */
export interface ClockAndLogger {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Given to nearly every part. */
export interface Ambient extends ClockAndLogger {
  readonly random: Random;
}
