import { runbookAddress } from '../state/address.ts';
import { allDoubts, doubtName } from '../state/doubts.ts';
import type { Doubt } from '../state/status-watch.ts';
import { useConsole } from './console.ts';
import { Time } from './time-text.tsx';
import { useValue } from './use-value.ts';

/** All doubts just now, those of the page before those of the service. */
export function useDoubts(): readonly Doubt[] {
  const { session, stream, pulse, openOrders, status } = useConsole();
  const own = {
    stream: useValue(stream.state),
    silentMs: useValue(pulse).silentMs,
    openOrders: useValue(openOrders),
  };
  return allDoubts(session.may('orders:read') ? own : undefined, useValue(status.state));
}

/**
 * The service's doubts with these names, for a screen: each with its reason, since when, and the
 * page with the fix.
 */
export function DoubtNotes({ names }: { readonly names: readonly string[] }) {
  const { doubts = [] } = useValue(useConsole().status.state);
  const shown = doubts.filter(({ name }) => names.includes(name));
  if (shown.length === 0) return null;
  return (
    <ul class="doubt-notes" aria-label="Doubts">
      {shown.map(({ name, detail, since, runbook }) => (
        <li key={name}>
          <b>{doubtName(name)}</b>{' '}
          <span class="doubt-words">
            {detail}
            {since && (
              <>
                , since <Time at={since} />
              </>
            )}
          </span>
          {runbookLink(name, runbook, 'What to do')}
        </li>
      ))}
    </ul>
  );
}

/** To the page with the fix, if there is one. */
export function runbookLink(name: string, runbook: string | undefined, text: string, kind?: string) {
  if (runbook === undefined) return undefined;
  const label = `What to do: ${doubtName(name)}`;
  return (
    <a class={kind} href={runbookAddress(runbook)} target="_blank" title={label} aria-label={label} rel="noopener">
      {text}
    </a>
  );
}
