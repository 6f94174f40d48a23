import { useMemo } from 'preact/hooks';
import { timeText } from '../parts/time-text.tsx';
import { useValue } from '../parts/use-value.ts';
import type { ConsoleState } from '../state/console-state.ts';
import { isTooSilent } from '../state/doubts.ts';
import { ageText } from '../state/text/age-text.ts';

/** Says on each screen how old it is, while nothing comes from the service. */
export function SilenceNote({ state }: { readonly state: ConsoleState }) {
  const { silentMs = 0 } = useValue(state.pulse);
  const silent = isTooSilent(silentMs);
  const sinceMs = useMemo(() => state.ports.nowMs() - silentMs, [silent]);
  if (!silent) return null;
  // The age is beside the alert: a reader of the screen would hear it each second.
  return (
    <aside class="note">
      <span role="alert">
        No word from the service since {timeText(new Date(sinceMs).toISOString(), state.ports.nowMs())}. This page is as
        it was then: look again before you send an order. Trying again …
      </span>
      <b>{ageText(silentMs)} old</b>
    </aside>
  );
}
