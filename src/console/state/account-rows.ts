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

const states: Readonly<Record<string, readonly [words: string, hint: string, tone: StateWords['tone'], rank: number]>> =
  {
    login_required: ['sign-in needed', 'The platform refuses the login until a person signs in', 'warn', 0],
    down: ['no connection', 'The connection is down; it is opened again', 'warn', 1],
    unanswered: ['no answer', 'The platform does not answer for this account; it is asked again', 'warn', 1],
    frozen: ['store lost', 'The platform lost its store; the orders wait until it was read whole', 'warn', 1],
    not_followed: ['not followed', 'No login sees this account now', 'warn', 2],
    resyncing: ['being read', 'Connected; all orders are read now', 'warn', 3],
    connecting: ['connecting', 'The connection is being opened', 'warn', 3],
    live: ['live', 'Connected, and every order was read', 'good', 6],
    elsewhere: ['at another instance', 'Another instance follows it, and gave no answer', 'quiet', 6],
    not_enrolled: ['not enrolled', 'The platform does not offer this market for the account', 'quiet', 7],
  };

/** The state of an account in words. An unknown state is shown as it came. */
export function stateWords(state: string | undefined): StateWords {
  if (state === undefined)
    return { words: 'not known here', hint: 'Only the instance in charge knows', tone: 'quiet', rank: 6 };
  const [words = state.replaceAll('_', ' '), hint = state, tone = 'warn', rank = 2] = states[state] ?? [];
  return { words, hint, tone, rank };
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
