import type { AccountListDocument } from '../../contract/account-answers.ts';
import { Polled } from './polled.ts';
import type { Answer, Rest, RestDeps } from './rest.ts';
import { plural } from './text/word-text.ts';

export type AccountRow = AccountListDocument['items'][number];

/** Every account. With a `next` there are more than a page of the console reads. */
export function readAccounts(rest: Rest, signal?: AbortSignal): Promise<Answer<AccountListDocument>> {
  return rest.getPages('/v1/accounts', {}, { most: Number.POSITIVE_INFINITY, ...(signal !== undefined && { signal }) });
}

/** Every account, read again and again. */
export function accountsPolled({ ports, rest }: RestDeps, everyMs: number): Polled<AccountListDocument> {
  return new Polled(ports, { read: (signal) => readAccounts(rest, signal), everyMs: () => everyMs });
}

interface StateWords {
  readonly words: string;
  readonly hint: string;
  readonly tone: 'good' | 'warn' | 'quiet';
  /** The lower, the sooner a person is needed. */
  readonly rank: number;
}

const states: Readonly<Record<string, StateWords>> = {
  login_required: {
    words: 'sign-in needed',
    hint: 'The platform refuses the login until a person signs in',
    tone: 'warn',
    rank: 0,
  },
  down: { words: 'no connection', hint: 'The connection is down; it is opened again', tone: 'warn', rank: 1 },
  unanswered: {
    words: 'no answer',
    hint: 'The platform does not answer for this account; it is asked again',
    tone: 'warn',
    rank: 1,
  },
  frozen: {
    words: 'store lost',
    hint: 'The platform lost its store; the orders wait until it was read whole',
    tone: 'warn',
    rank: 1,
  },
  elsewhere: {
    words: 'at another instance',
    hint: 'Another instance follows it, and gave no answer',
    tone: 'quiet',
    rank: 6,
  },
  not_followed: { words: 'not followed', hint: 'No login sees this account now', tone: 'warn', rank: 2 },
  resyncing: { words: 'being read', hint: 'Connected; all orders are read now', tone: 'warn', rank: 3 },
  connecting: { words: 'connecting', hint: 'The connection is being opened', tone: 'warn', rank: 3 },
  live: { words: 'live', hint: 'Connected, and every order was read', tone: 'good', rank: 6 },
  not_enrolled: {
    words: 'not enrolled',
    hint: 'The platform does not offer this market for the account',
    tone: 'quiet',
    rank: 7,
  },
};
const unknown: StateWords = {
  words: 'not known here',
  hint: 'Only the instance in charge knows',
  tone: 'quiet',
  rank: 6,
};

/** The state of an account in words. An unknown state is shown as it came. */
export function stateWords(state: string | undefined): StateWords {
  if (state === undefined) return unknown;
  return states[state] ?? { words: state.replaceAll('_', ' '), hint: state, tone: 'warn', rank: 2 };
}

/** A token is renewed five minutes before its end: a nearer one could not be renewed. */
const tokenLateSeconds = 120;

export function isTokenLate({ tokenSecondsLeft }: AccountRow): boolean {
  return tokenSecondsLeft !== undefined && tokenSecondsLeft < tokenLateSeconds;
}

function rankOf(row: AccountRow): number {
  const { rank } = stateWords(row.state);
  if (rank < 4 || (!isTokenLate(row) && (row.silentLosses ?? 0) === 0)) return rank;
  return isTokenLate(row) ? 4 : 5;
}

/**
 * Those in need of a person first, then by account. Only those with `wanted` in their text, in any
 * case of letters.
 */
export function sortedAccounts(rows: readonly AccountRow[], wanted = ''): AccountRow[] {
  const text = wanted.trim().toLowerCase();
  return rows
    .filter(({ accountId }) => accountId.toLowerCase().includes(text))
    .sort(
      (one, other) =>
        rankOf(one) - rankOf(other) || compare(one.accountId, other.accountId) || compare(one.stream, other.stream),
    );
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** The finding of an audit: `240 orders, 3 changes, 1 of them lost by the stream`. */
export function auditText({ orders, changes, silentLosses }: NonNullable<AccountRow['lastAudit']>): string {
  const read = plural(orders, 'order');
  if (changes === 0) return `${read}, all as known`;
  const lost = silentLosses === 0 ? '' : `, ${silentLosses} of them lost by the stream`;
  return `${read}, ${plural(changes, 'change')}${lost}`;
}
