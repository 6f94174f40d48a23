import type { VNode } from 'preact';

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
