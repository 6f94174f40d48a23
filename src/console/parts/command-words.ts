import type { CommandHistory } from '../../contract/rest-answers.ts';
import type { CommandRow } from '../state/commands/command-row.ts';
import type { Fact } from '../state/commands/command-timeline.ts';
import { type Choices, joined, wordsOf } from '../state/text/word-text.ts';
import { statusText } from './words.ts';

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
export const stateWords = Object.entries(states) as Choices<State>;

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

const words: Readonly<Record<string, string>> = {
  'answer accepted': 'The platform took it',
  'answer rejected': 'The platform said that nothing was done',
  'answer refused': 'The platform refused it',
  'answer not_sent': 'Nothing was sent',
  'answer unknown': 'No answer says what became of it',
  'update landed': 'An order with the reference of this attempt is there',
  'update venue_refused': 'The venue refused it',
  'update other_identity': 'An order has this reference, but another account or side',
  'update second_order': 'A second order carries a reference of this command',
  'update seen_pending': 'The platform has it in hand',
  'update terms_working': 'The new terms are working at the venue',
  'update ended': 'The order ended in another way first',
  'update successor': 'Another order took the place of this one',
  'update reason_recorded': 'A new reason for a rejection was recorded',
  'update nothing_to_tell_by': 'It is not pending any more, and nothing shows whether it was granted',
  'update other_terms': 'The venue works on other terms than the old and the new ones',
  'update canceled': 'The order is canceled',
  'update source_epoch_changed': 'The platform lost its store, so its versions cannot be compared with those before',
  'read still_ended': 'A complete read showed that the order had ended before',
  'read no_successor': 'A complete read showed no order in its place',
  'read successor_found': 'A complete read showed another order in its place',
  'note refused': 'Refused here, before anything was sent',
  'note abandoned': 'Given up before anything was sent',
  'note taken_over': 'Another process took over while it was under way',
  'note escalated': 'It was still not resolved, and people were warned',
  'note presumed_absent': 'Presumed absent: enough complete reads did not show it',
  'note rival': 'Another request like it may be under way for the order',
  'note no_rival': 'The other request came to nothing',
};

/** A fact as a person reads it. An unknown one keeps its code. */
export function factText({ kind, code, detail }: Fact): string {
  if (kind === 'person')
    return `${textOf(detail['by']) ?? 'A person'} resolved it as ${commandStateText(textOf(detail['result']) ?? code)}`;
  return words[`${kind} ${code}`] ?? `${kind}: ${code.replaceAll('_', ' ')}`;
}

/** The details a person wants at once; the whole fact is one click away. */
export function factDetail({ kind, detail }: Fact): string {
  if (kind === 'person') return textOf(detail['reason']) ?? '';
  const { reason, status, revision, message, was } = detail as Readonly<Record<string, unknown>>;
  const said = typeof reason === 'object' && reason !== null ? reasonText(reason) : textOf(message);
  return joined([
    said,
    kind === 'update' && typeof status === 'string' && `order ${statusText(status)}`,
    typeof revision === 'number' && `revision ${revision}`,
    typeof was === 'string' && `it was ${was}`,
  ]);
}

/** A reason with its code, and the platform's HTTP status if there was one. */
export function reasonText(reason: {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly status?: unknown;
}): string {
  const facts = [reason.code, reason.status].filter((part) => part !== undefined).map(String);
  return `${textOf(reason.message) ?? 'no reason was given'}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
