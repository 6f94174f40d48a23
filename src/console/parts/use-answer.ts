import { useEffect, useState } from 'preact/hooks';
import type { Answer } from '../state/rest.ts';

/**
 * An answer from REST, read when the view comes up and again when `deps` change; undefined during
 * the first read.
 */
export function useAnswer<T>(
  read: (signal: AbortSignal) => Promise<Answer<T>>,
  deps: readonly unknown[],
): Answer<T> | undefined {
  const [answer, setAnswer] = useState<Answer<T>>();
  useEffect(() => {
    const abort = new AbortController();
    void read(abort.signal).then((found) => {
      if (!abort.signal.aborted) setAnswer(found);
    });
    return () => abort.abort();
  }, [...deps]);
  return answer;
}
