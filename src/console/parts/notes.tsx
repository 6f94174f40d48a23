import type { ComponentChildren, VNode } from 'preact';
import type { PolledState } from '../state/polled.ts';

/** A sentence in place of a whole page: `status` while something is read, `alert` for a fault. */
export function aloneNote(role: 'status' | 'alert', text: string): VNode {
  return (
    <p class="alone" role={role}>
      {text}
    </p>
  );
}

/** Why something could not be done or read, beside it. */
export function faultNote(text: string): VNode {
  return (
    <p class="fault" role="alert">
      {text}
    </p>
  );
}

/** The figures below are old, and why; nothing while they are new. */
export function staleNote({
  value,
  fault,
}: {
  readonly value: unknown;
  readonly fault: string | undefined;
}): VNode | null {
  if (value === undefined || fault === undefined) return null;
  return (
    <p class="stale" role="status">
      These figures are old. {fault} Trying again …
    </p>
  );
}

/** In place of a missing value: it is being read, or why it cannot be. */
export function waitingNote({ fault }: { readonly fault: string | undefined }, what: string): VNode {
  if (fault === undefined)
    return (
      <p class="hint panel-body" role="status">
        Reading {what} …
      </p>
    );
  return (
    <p class="hint panel-body" role="alert">
      {fault} Trying again …
    </p>
  );
}

/** A panel for a polled value; before its first answer, a word on that. */
export function polledPanel<T>(shown: PolledState<T>, what: string, view: (value: T) => ComponentChildren): VNode {
  return (
    <>
      {staleNote(shown)}
      <div class="panel">{shown.value === undefined ? waitingNote(shown, what) : view(shown.value)}</div>
    </>
  );
}
