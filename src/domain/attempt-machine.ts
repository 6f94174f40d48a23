import type { AttemptState } from './command.ts';

/**
 * What can happen to one attempt.
 *
 * - `claimed`: prepared → sending is committed, by the one who will write. `abandoned`: given up without a byte written.
 * - `answered_*`: by the table "observed → outcome"; also learnt late, from a socket whose process had lost the lane. `taken_over`: found by the next holder.
 */
export const attemptEvents = [
  'claimed',
  'abandoned',
  'answered_accepted',
  'answered_rejected',
  'answered_refused',
  'answered_not_sent',
  'answered_unknown',
  'taken_over',
] as const;
export type AttemptEvent = (typeof attemptEvents)[number];

export type AttemptTransition = { readonly to: AttemptState } | 'ignored' | 'impossible';

type Cell = AttemptState | '·' | '!';

/**
 * Every state × every event. `sending` is entered once and from `prepared` only: that is "at most one write per attempt". An attempt that may have been sent
 * never becomes unsent by being given up, only by the platform's word; an answer is never taken back by another.
 */
// biome-ignore format: a table
const table: Readonly<Record<AttemptEvent, Readonly<Record<AttemptState, Cell>>>> = {
  claimed:           { prepared: 'sending',  sending: '!',        unknown: '!',        accepted: '!', rejected: '!', refused: '!', not_sent: '!' },
  abandoned:         { prepared: 'not_sent', sending: 'not_sent', unknown: '·',        accepted: '·', rejected: '·', refused: '·', not_sent: '·' },
  answered_accepted: { prepared: '!',        sending: 'accepted', unknown: 'accepted', accepted: '·', rejected: '·', refused: '·', not_sent: '·' },
  answered_rejected: { prepared: '!',        sending: 'rejected', unknown: 'rejected', accepted: '·', rejected: '·', refused: '·', not_sent: '·' },
  answered_refused:  { prepared: '!',        sending: 'refused',  unknown: 'refused',  accepted: '·', rejected: '·', refused: '·', not_sent: '·' },
  answered_not_sent: { prepared: 'not_sent', sending: 'not_sent', unknown: 'not_sent', accepted: '·', rejected: '·', refused: '·', not_sent: '·' },
  answered_unknown:  { prepared: '!',        sending: 'unknown',  unknown: '·',        accepted: '·', rejected: '·', refused: '·', not_sent: '·' },
  taken_over:        { prepared: 'not_sent', sending: 'unknown',  unknown: '·',        accepted: '·', rejected: '·', refused: '·', not_sent: '·' },
};

/** Where an event takes an attempt. `sending` may be left as `abandoned` only by the one who claimed it and knows that nothing was written. */
export function attemptTransition(state: AttemptState, event: AttemptEvent): AttemptTransition {
  const cell = table[event][state];
  if (cell === '·') return 'ignored';
  return cell === '!' ? 'impossible' : { to: cell };
}
