import { useEffect } from 'preact/hooks';

/** Runs when the view comes up, and anew when `deps` change; `signal` aborts at the end of each. */
export function useWhileShown(run: (signal: AbortSignal) => unknown, deps: readonly unknown[]): void {
  useEffect(() => {
    const abort = new AbortController();
    void run(abort.signal);
    return () => abort.abort();
  }, [...deps]);
}
