import type { Signal } from '@preact/signals-core';
import { useValue } from '../parts/use-value.ts';
import { resetText } from '../parts/words.ts';

interface ResetNoteProps {
  readonly reset: Signal<{ readonly reason: string; readonly atMs: number } | undefined>;
}

/** Says that the stream was reset, until the reader has seen it. */
export function ResetNote({ reset }: ResetNoteProps) {
  const last = useValue(reset);
  if (last === undefined) return null;
  const dismiss = () => {
    reset.value = undefined;
  };
  return (
    <div class="note" role="alert">
      <span>{resetText(last.reason)}</span>
      <time>{new Date(last.atMs).toLocaleTimeString()}</time>
      <button class="quiet" onClick={dismiss}>
        Dismiss
      </button>
    </div>
  );
}
