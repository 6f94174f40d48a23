import { clip, printable } from '../cli/io/format-text.ts';

/** Evidence for a command, as REST has it. */
export interface Fact {
  readonly at: string;
  readonly kind: string;
  readonly code: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** One piece of evidence, for people. */
export function factLine({ at, kind, code, detail = {} }: Fact): string {
  const facts = Object.entries(detail);
  const texts = facts
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(', ');
  const line = `${at.slice(11, 23)}  ${kind} ${code}${texts === '' ? '' : `: ${texts}`}`;
  return clip(printable(line), 200);
}

/** The same in words; undefined for a fact without interest to the demo's reader. */
export function factText({ kind, code, detail = {} }: Fact): string | undefined {
  if (kind === 'note' && code === 'sending') return 'Written down, then sent once.';
  if (kind === 'note') return code === 'prepared' ? undefined : `Note: ${code.replaceAll('_', ' ')}.`;
  if (kind === 'answer' && code === 'unknown') return 'Answer: 504. Whether the order was taken is not known.';
  if (kind === 'read' && code === 'missed')
    return detail['by'] === 'reference'
      ? 'Asked for the order by its reference: not found.'
      : 'Read the whole account: the order is not there.';
  if (kind === 'update' || kind === 'read')
    return `Seen ${detail['cause'] === 'stream' ? 'on the stream' : 'by a read'}: the order is there.`;
  if (kind === 'person') return `Resolved by a person as ${String(detail['result'])}: ${String(detail['reason'])}.`;
  return `${kind} ${code}`.replaceAll('_', ' ');
}
