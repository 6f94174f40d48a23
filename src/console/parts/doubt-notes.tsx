import { runbookAddress } from '../state/address.ts';
import type { ConsoleState } from '../state/console-state.ts';
import { allDoubts, doubtName } from '../state/doubts.ts';
import type { Doubt } from '../state/status-watch.ts';
import { timeText } from './time-text.tsx';
import { useValue } from './use-value.ts';

/** All doubts just now, those of the page before those of the service. */
export function useDoubts({ session, stream, pulse, openOrders, status }: ConsoleState): readonly Doubt[] {
  const own = {
    stream: useValue(stream.state),
    silentMs: useValue(pulse).silentMs,
    openOrders: useValue(openOrders),
  };
  return allDoubts(session.may('orders:read') ? own : undefined, useValue(status.state));
}

interface DoubtNotesProps {
  readonly state: ConsoleState;
  /** The doubts for this screen. */
  readonly names: readonly string[];
}

/**
 * The service's doubts on a screen's subject: each with its reason, since when, and the page with
 * the fix.
 */
export function DoubtNotes({ state, names }: DoubtNotesProps) {
  const { doubts = [] } = useValue(state.status.state);
  const shown = doubts.filter(({ name }) => names.includes(name));
  if (shown.length === 0) return null;
  const nowMs = state.ports.nowMs();
  return (
    <ul class="doubt-notes" aria-label="Doubts">
      {shown.map(({ name, detail, since, runbook }) => (
        <li key={name}>
          <b>{doubtName(name)}</b>{' '}
          <span class="doubt-words">
            {detail}
            {since !== undefined && <>, since {timeText(since, nowMs)}</>}
          </span>
          {runbook !== undefined && (
            <a
              href={runbookAddress(runbook)}
              target="_blank"
              aria-label={`What to do: ${doubtName(name)}`}
              rel="noopener"
            >
              What to do
            </a>
          )}
        </li>
      ))}
    </ul>
  );
}
