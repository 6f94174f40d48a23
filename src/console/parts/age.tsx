import type { ConsoleState } from '../state/console-state.ts';
import { ageText } from '../state/text/age-text.ts';
import { useValue } from './use-value.ts';

interface AgeProps {
  readonly state: ConsoleState;
  readonly since: string;
}

/** The service warns and pages at the same steps. */
const lateMs = 10_000;
const tooLateMs = 60_000;

/** How long something has waited, growing each second, with a colour and a word once it is late. */
export function Age({ state, since }: AgeProps) {
  useValue(state.pulse);
  const ms = Math.max(0, state.ports.nowMs() - Date.parse(since));
  const tone = ms >= tooLateMs ? 'age bad' : ms >= lateMs ? 'age doubt' : 'age';
  return (
    <span class={tone}>
      {ageText(ms)}
      {ms >= tooLateMs ? ', too long' : ms >= lateMs ? ', late' : ''}
    </span>
  );
}
