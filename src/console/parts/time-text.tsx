import type { VNode } from 'preact';
import { ageText } from '../state/text/age-text.ts';
import { zoneText } from '../state/text/zone-text.ts';
import { useConsole } from './console.ts';
import { useValue } from './use-value.ts';

/** Hours, minutes and seconds. */
export const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: '2-digit' });
const dayOfAnotherYear = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: '2-digit' });

/** A time in the reader's zone, with its day if it is another one. Any other text stays. */
export function timeWords(instant: string, nowMs: number): string {
  const at = new Date(instant);
  return Number.isNaN(at.getTime()) ? instant : `${dayText(at, new Date(nowMs))}${clockText(at)}`;
}

/** The same with its offset, UTC and the platform's own text on hover. */
export function timeText(instant: string | undefined, nowMs: number): VNode | string {
  if (instant === undefined) return '–';
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return instant;
  return (
    <time
      datetime={at.toISOString()}
      title={`${clockText(at)} here (${zoneText(at.getTime())})\n${at.toISOString()} (UTC)\n${instant} (as it came)`}
    >
      {timeWords(instant, nowMs)}
    </time>
  );
}

interface TimeProps {
  /** As text, or in milliseconds. */
  readonly at: string | number | null | undefined;
}

/** A time as of now, for any view but a cell of the blotter: a component for each takes longer. */
export function Time({ at }: TimeProps) {
  const instant = typeof at === 'number' ? new Date(at).toISOString() : at;
  return timeText(instant ?? undefined, useConsole().ports.nowMs());
}

function clockText(at: Date): string {
  return `${clock.format(at)}.${String(at.getUTCMilliseconds()).padStart(3, '0')}`;
}

function dayText(at: Date, now: Date): string {
  if (dayOf(at) === dayOf(now)) return '';
  return `${(at.getFullYear() === now.getFullYear() ? day : dayOfAnotherYear).format(at)} `;
}

/** A day of the reader's zone: another one has another text. */
export function dayOf(at: Date): string {
  return `${at.getFullYear()}-${at.getMonth()}-${at.getDate()}`;
}

/** A length of time in one or two words: `4 ms`, `1.2 s`, `3 min`. */
export function lengthText(ms: number): string {
  const size = Math.abs(ms);
  if (size < 1000) return `${Math.round(ms)} ms`;
  if (size < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  if (size < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return `${Math.round(ms / 3_600_000)} h`;
}

/** The service warns and pages at the same steps. */
const lateMs = 10_000;
const tooLateMs = 60_000;

/** How long something has waited, growing each second, with a colour and a word once it is late. */
export function Age({ since }: { readonly since: string }) {
  const { pulse, ports } = useConsole();
  useValue(pulse);
  const ms = Math.max(0, ports.nowMs() - Date.parse(since));
  const tone = ms >= tooLateMs ? 'age bad' : ms >= lateMs ? 'age doubt' : 'age';
  return (
    <span class={tone}>
      {ageText(ms)}
      {ms >= tooLateMs ? ', too long' : ms >= lateMs ? ', late' : ''}
    </span>
  );
}
