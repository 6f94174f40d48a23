import type { CommandHistory } from '../../contract/rest-answers.ts';
import type { CommandRow } from '../state/commands/command-row.ts';
import { wordsOf } from '../state/text/word-text.ts';

type State = CommandRow['state'];

/** States as people read them, in a sensible order for a list. */
const states: Readonly<Record<State, string>> = {
  open: 'under way',
  unknown: 'not known',
  conflict: 'needs a person',
  accepted: 'accepted',
  applied: 'applied',
  rejected: 'rejected',
  refused: 'refused',
  not_sent: 'not sent',
  moot: 'moot',
};
export const stateWords = Object.entries(states) as readonly (readonly [state: State, words: string])[];

export const commandStateText = wordsOf(states);

/** Groups states by colour; the words say the same without it. */
export function commandTone(state: State): 'live' | 'done' | 'over' | 'bad' | 'doubt' {
  if (state === 'applied') return 'done';
  if (state === 'unknown' || state === 'conflict') return 'doubt';
  if (state === 'rejected' || state === 'refused') return 'bad';
  return state === 'open' || state === 'accepted' ? 'live' : 'over';
}

/** The meaning of a state for this kind of command, in one sentence. */
export function stateMeaning({ state, kind, presumedAbsent, orderId }: CommandHistory): string {
  if (state === 'unknown' && presumedAbsent)
    return 'Its result is not known. Enough complete reads did not show it, so a new command may name it as the one that it replaces.';
  if (state === 'accepted' && kind === 'place' && orderId !== undefined)
    return 'The order is there, and its venue has not decided yet.';
  return meanings[state];
}

const meanings: Readonly<Record<State, string>> = {
  open: 'Its answer has not come yet.',
  unknown:
    'It may or may not have reached the platform. It is never sent again; the platform is asked until the facts show what became of it.',
  conflict: 'The facts contradict each other, so a person has to say what became of it.',
  accepted: 'The platform took it; its effect has not been seen yet.',
  applied: 'It took effect.',
  rejected: 'The platform or the venue did not grant it.',
  refused: 'It was refused, and nothing was changed.',
  not_sent: 'It never left, and nothing was changed.',
  moot: 'The order had ended before, so it had no effect.',
};

/** How the platform is asked about a command. */
export const probeText = wordsOf({
  reference: 'by its reference',
  order: 'for its order',
  account: 'by a complete read of the account',
});
