import type { ComponentChildren, VNode } from 'preact';
import type { Followed } from '../state/followed.ts';
import type { PolledState } from '../state/polled.ts';
import { Link } from './link.tsx';

/** A sentence in place of a whole page: `status` while something is read, `alert` for a fault. */
export function aloneNote(role: 'status' | 'alert', text: string): VNode {
  return (
    <p class="alone" role={role}>
      {text}
    </p>
  );
}

/** In place of the page of one thing, until it is shown. `all`: the address of its list. */
export function followedNote(
  state: Exclude<Followed<object>, { kind: 'shown' }>,
  thing: 'order' | 'command',
  all: string,
): VNode {
  if (state.kind === 'loading') return aloneNote('status', `Reading the ${thing} …`);
  if (state.kind === 'failed') return aloneNote('alert', `${state.why} Trying again …`);
  return (
    <p class="alone">
      There is no such {thing}, or this token may not see it. <Link to={all}>To the {thing}s</Link>
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
export function staleNote({ value, fault }: PolledState<unknown>): VNode | null {
  if (value === undefined || fault === undefined) return null;
  return (
    <p class="stale" role="status">
      These figures are old. {fault} Trying again …
    </p>
  );
}

/** In place of the rows of a panel, or below them. */
export function panelNote(text: ComponentChildren, role?: 'status' | 'alert'): VNode {
  return (
    <p class="hint panel-body" role={role}>
      {text}
    </p>
  );
}

/** In place of a missing value: it is being read, or why it cannot be. */
export function waitingNote({ fault }: Pick<PolledState<unknown>, 'fault'>, what: string): VNode {
  return fault === undefined ? panelNote(`Reading ${what} …`, 'status') : panelNote(`${fault} Trying again …`, 'alert');
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

/** The result of a read that was asked for; undefined: there is none yet. */
export function readBadge(result: 'done' | 'failed' | 'withdrawn' | undefined): VNode {
  const tone = result === 'done' ? 'good' : result === undefined ? '' : 'warn';
  return <span class={`badge ${tone}`}>{result ?? 'waits or is under way'}</span>;
}
