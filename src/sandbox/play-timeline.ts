import type { Clock, Timer } from '../runtime/clock.ts';
import type { Controls } from './control/controls.ts';
import { type Moment, rateOf } from './sandbox-options.ts';

/** Does at each moment of a scenario what it says. Returns the way to stop. */
export function playTimeline(deps: { clock: Clock; controls: Controls }, moments: readonly Moment[]): () => void {
  const timers: Timer[] = moments.map((moment) => deps.clock.after(moment.atMs, () => play(deps.controls, moment)));
  return () => {
    for (const timer of timers) timer.cancel();
  };
}

/** Heals first, so that one moment can end old faults and begin new ones. */
function play(controls: Controls, moment: Moment): void {
  if (moment.heal === true) controls.heal();
  if (moment.faults !== undefined) controls.faults(moment.faults);
  if (moment.venue !== undefined) controls.setVenue(moment.venue);
  if (moment.rate !== undefined) controls.setRate(rateOf(moment.rate));
  if (moment.burst !== undefined) controls.burst(moment.burst);
}
