import { useEffect } from 'preact/hooks';
import type { Polled, PolledState } from '../state/polled.ts';
import { useValue } from './use-value.ts';

/** Follows it while the view is there. */
export function usePolled<T>(polled: Polled<T>): PolledState<T> {
  useEffect(() => {
    const abort = new AbortController();
    void polled.follow(abort.signal);
    return () => abort.abort();
  }, [polled]);
  return useValue(polled.state);
}
