import { describe, expect, it } from 'vitest';
import {
  type AccountRow,
  auditText,
  isTokenLate,
  sortedAccounts,
  stateWords,
} from '../../src/console/state/account-rows.ts';

function row(accountId: string, over: Partial<AccountRow> = {}): AccountRow {
  return { accountId, stream: 'account', isSim: true, openOrders: 0, state: 'live', silentLosses: 0, ...over };
}
const namesOf = (rows: readonly AccountRow[]) => rows.map(({ accountId }) => accountId);

describe('the accounts of the console', () => {
  it('has those on top that need a person, and the others by name', () => {
    const rows = [
      row('live-b'),
      row('not-enrolled', { state: 'not_enrolled' }),
      row('live-a'),
      row('lost', { silentLosses: 2 }),
      row('late-token', { tokenSecondsLeft: 60 }),
      row('being-read', { state: 'resyncing' }),
      row('down', { state: 'down' }),
      row('sign-in', { state: 'login_required' }),
    ];
    expect(namesOf(sortedAccounts(rows))).toEqual([
      ...['sign-in', 'down', 'being-read', 'late-token', 'lost', 'live-a', 'live-b', 'not-enrolled'],
    ]);
  });

  it('are found by a part of the name, in any case of letters', () => {
    expect(namesOf(sortedAccounts([row('ACC-1'), row('SIM-2')], ' acc'))).toEqual(['ACC-1']);
  });

  it('say their state in words, also one that is new', () => {
    expect(stateWords('login_required')).toMatchObject({ words: 'sign-in needed', tone: 'warn' });
    expect(stateWords('of_a_later_build')).toMatchObject({ words: 'of a later build', tone: 'warn' });
    expect(stateWords(undefined).words).toBe('not known here');
  });

  it('say the finding of an audit', () => {
    const at = '2026-11-22T17:00:00Z';
    expect(auditText({ at, orders: 1, changes: 0, silentLosses: 0 })).toBe('1 order, all as known');
    expect(auditText({ at, orders: 240, changes: 3, silentLosses: 1 })).toBe(
      '240 orders, 3 changes, 1 of them lost by the stream',
    );
  });

  it('count a token as late that should have been renewed by now', () => {
    expect(
      [119, 120, undefined].map((seconds) =>
        isTokenLate(row('a', seconds === undefined ? {} : { tokenSecondsLeft: seconds })),
      ),
    ).toEqual([...[true, false, false]]);
  });
});
