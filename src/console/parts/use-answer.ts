import { useState } from 'preact/hooks';
import type { Answer } from '../state/rest.ts';
import { useWhileShown } from './use-while-shown.ts';

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
