import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { Logger } from './logger.ts';

/** What nearly every part is given. */
export interface Ambient {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}
