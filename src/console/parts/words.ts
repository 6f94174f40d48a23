import type { NormalisedOrder } from '../../../types/records.d.ts';
import { type Choices, joined, wordsOf } from '../state/text/word-text.ts';

// Words in records as people read them. An unknown word is shown as it came.

const statuses = {
  pending_new: 'pending',
  new: 'working',
  partially_filled: 'part filled',
  filled: 'filled',
  canceled: 'canceled',
  rejected: 'rejected',
  expired: 'expired',
  replaced: 'replaced',
  done_for_day: 'done for day',
  suspended: 'suspended',
  unknown: 'unknown',
};
export const statusWords: Choices = Object.entries(statuses);

export const statusText = wordsOf(statuses);

/** Groups statuses by colour; the words say the same without it. */
export function statusTone(status: string): 'live' | 'done' | 'over' | 'bad' | 'doubt' {
  if (status === 'filled') return 'done';
  if (status === 'rejected') return 'bad';
  if (status === 'unknown' || status === 'suspended') return 'doubt';
  return ['canceled', 'expired', 'replaced', 'done_for_day'].includes(status) ? 'over' : 'live';
}

/** `buy_to_cover` as `buy to cover`. */
export function sideText(side: string): string {
  return side.replaceAll('_', ' ');
}

const fields: Readonly<Record<string, string>> = {
  cumQty: 'filled',
  leavesQty: 'still working',
  avgPrice: 'average',
  statusRaw: 'word of the platform',
  pendingAction: 'pending',
  clOrdId: 'reference',
  clientOrderRef: 'reference',
  callerRef: 'reference of the caller',
};

/** The name of an order's field: `orderType` as `order type`. */
export function fieldText(field: string): string {
  return fields[field] ?? field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

const certainties: Readonly<Record<string, string>> = {
  certain: '',
  unknown_unacked: 'not acknowledged',
  unknown_gap: 'gap in the stream',
  unknown_store_lost: 'platform lost its store',
};

/** Doubts about an order and its pending action; empty without either. */
export function doubtText({ certainty, pendingAction }: NormalisedOrder): string {
  const pending = pendingAction !== 'none' && `${pendingAction} pending`;
  return joined([certainties[certainty] ?? certainty, pending]);
}

export const causeText = wordsOf({
  stream: 'stream',
  snapshot: 'complete read',
  reply: 'answer to a command',
  probe: 'single read',
  correction: 'correction',
});

const resets: Readonly<Record<string, string>> = {
  slow_reader: 'This page was too slow to take every update. It has connected again and lost none.',
  too_old: 'The service no longer had the updates since the last connection. All orders were read anew.',
  unknown_id: 'The service did not know the place where this page stopped. All orders were read anew.',
};

export function resetText(reason: string): string {
  return resets[reason] ?? `The stream was reset (${reason}). All orders were read anew.`;
}

/** Why a halt was raised. */
export const haltCauseText = wordsOf({
  unresolved: 'too many results are not known',
  unreadable: 'a command cannot be read',
  late_landing: 'an order landed late',
  rate: 'too many orders in a short time',
  operator: 'by a person, for every account',
  account_operator: 'by a person',
  commits_lost: 'the database lost changes',
});

/** The name of a halt's scope; it is typed to confirm an action. */
export function scopeText(accountId: string | undefined): string {
  return accountId ?? 'all accounts';
}
