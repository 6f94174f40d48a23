import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { Logger } from './logger.ts';

/** What a part without chance is given. */
export interface ClockAndLogger {
  readonly clock: Clock;
  readonly log: Logger;
}

/** What nearly every part is given. */
export interface Ambient extends ClockAndLogger {
  readonly random: Random;
}
