import type { Ref } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

interface Modal {
  readonly ref: Ref<HTMLDialogElement> & { readonly current: HTMLDialogElement | null };
  /** Ends it, by the page. Twice is as once. */
  readonly end: () => void;
}

/**
 * A dialog over the page, for as long as its view is there. `close` takes the view away, and is
 * called once: the element's own `close` event comes later, when the next dialog may be open.
 * Give `end` as its `onClose` too, for what the browser itself closes.
 */
export function useModal(close: () => void): Modal {
  const ref = useRef<HTMLDialogElement>(null);
  const ended = useRef(false);
  // Before the next key, which may be a part of what is typed into it.
  useLayoutEffect(() => ref.current?.showModal(), []);
  const end = () => {
    if (ended.current) return;
    ended.current = true;
    ref.current?.close();
    close();
  };
  return { ref, end };
}
