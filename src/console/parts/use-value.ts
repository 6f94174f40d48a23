import type { ReadonlySignal } from '@preact/signals-core';
import { useEffect, useReducer } from 'preact/hooks';

/** The signal's value; the view is drawn again when it changes. */
export function useValue<T>(signal: ReadonlySignal<T>): T {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const shown = signal.value;
  useEffect(() => {
    let last = shown;
    return signal.subscribe((value) => {
      if (value !== last) redraw(undefined as never);
      last = value;
    });
    // `shown` is what the first draw had; a change before this ran must not be missed.
  }, [signal]);
  return shown;
}
