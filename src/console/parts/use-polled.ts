import type { Polled, PolledState } from '../state/polled.ts';
import { useValue } from './use-value.ts';
import { useWhileShown } from './use-while-shown.ts';

/** Follows it while the view is there. */
export function usePolled<T>(polled: Polled<T>): PolledState<T> {
  useWhileShown((signal) => polled.follow(signal), [polled]);
  return useValue(polled.state);
}
