import { useEffect, useState } from 'preact/hooks';
import type { Polled, PolledState } from '../state/polled.ts';
import type { Answer } from '../state/rest.ts';
import { useValue } from './use-value.ts';

/** Runs when the view comes up, and anew when `deps` change; `signal` then aborts. */
export function useWhileShown(run: (signal: AbortSignal) => unknown, deps: readonly unknown[]): void {
  useEffect(() => {
    const abort = new AbortController();
    void run(abort.signal);
    return () => abort.abort();
  }, [...deps]);
}

/** Follows it while the view is there. */
export function usePolled<T>(polled: Polled<T>): PolledState<T> {
  useWhileShown((signal) => polled.follow(signal), [polled]);
  return useValue(polled.state);
}

/**
 * An answer from REST, read when the view comes up and again when `deps` change; undefined during
 * the first read.
 */
export function useAnswer<T>(
  read: (signal: AbortSignal) => Promise<Answer<T>>,
  deps: readonly unknown[],
): Answer<T> | undefined {
  const [answer, setAnswer] = useState<Answer<T>>();
  useWhileShown(async (signal) => {
    const found = await read(signal);
    if (!signal.aborted) setAnswer(found);
  }, deps);
  return answer;
}
