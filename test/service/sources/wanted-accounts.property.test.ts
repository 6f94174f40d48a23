import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Stream } from '../../../src/domain/order.ts';
import {
  type FollowInputs,
  type LoginLists,
  noteList,
  wantedAccounts,
} from '../../../src/service/sources/wanted-accounts.ts';
import type { AccountsResult } from '../../../src/venue/order-reads.ts';
import { failedList } from '../../support/orders/follower-rig.ts';

const ids = ['a', 'b', 'c', 'd'];
const names = ['one', 'two', 'three'];
const streams = ['account', 'prediction'] as const;
const subset = fc.subarray(ids);

const answer: fc.Arbitrary<AccountsResult> = fc.oneof(
  { weight: 1, arbitrary: fc.constant(failedList) },
  {
    weight: 3,
    arbitrary: fc.record({ shown: subset, unreadable: fc.constantFrom(0, 0, 1) }).map(({ shown, unreadable }) => ({
      complete: true as const,
      accounts: shown.map((accountId) => ({ accountId, isOpen: accountId !== 'd' })),
      unreadable,
    })),
  },
);
const stored = (accountIds: readonly string[]) => new Map(accountIds.map((accountId) => [accountId, new Map()]));
const nothing = { known: stored([]), isSole: false };
/** Some lists, one after the other, while the database has these accounts. */
const lists = fc
  .array(fc.tuple(answer, subset, fc.boolean()), { maxLength: 4 })
  .map((answers) =>
    answers.reduce<LoginLists>(
      (before, [list, known, isSole], at) => noteList(before, list, { known: stored(known), isSole }, at),
      { said: 'nothing', accounts: new Map() },
    ),
  );
const inputs: fc.Arbitrary<FollowInputs> = fc
  .record({
    logins: fc.subarray(names).chain((chosen) => fc.tuple(...chosen.map((name) => fc.tuple(fc.constant(name), lists)))),
    isAll: fc.boolean(),
    known: fc.array(fc.tuple(fc.constantFrom(...ids), fc.subarray([...streams], { minLength: 1 }))),
    streams: fc.constantFrom<readonly Stream[]>(['account'], streams),
    only: fc.option(subset, { nil: undefined }),
    ours: subset,
    now: fc.array(fc.tuple(fc.constantFrom(...ids), fc.constantFrom(...names, 'gone'))),
  })
  .map(({ logins, isAll, known, only, ours, now, ...rest }) => ({
    ...rest,
    ofVenue: streams,
    logins: new Map(logins),
    isSole: isAll && logins.length === 1,
    known: new Map(known.map(([id, on]) => [id, new Map(on.map((stream) => [stream, {}]))])),
    only: only && new Set(only),
    isOurs: (accountId) => ours.includes(accountId),
    now: new Map(now),
  }));

const isListedBy = ({ logins }: FollowInputs, login: string | undefined, accountId: string) => {
  const standing = logins.get(login ?? '')?.accounts.get(accountId)?.standing;
  return standing !== undefined && standing.unlistedSinceMs === undefined;
};

describe('the accounts that ought to be followed', () => {
  it('are ours and of the settings alone, and have a login that is there', () => {
    fc.assert(
      fc.property(inputs, (given) => {
        for (const [accountId, { login, streams: on }] of wantedAccounts(given)) {
          expect(given.isOurs(accountId)).toBe(true);
          expect(given.only?.has(accountId) ?? true).toBe(true);
          expect(login === undefined || given.logins.has(login)).toBe(true);
          expect(on.size).toBeGreaterThan(0);
        }
      }),
    );
  });

  it('are all that a login lists, that the database has, or that the settings name', () => {
    fc.assert(
      fc.property(inputs, (given) => {
        const wanted = wantedAccounts(given);
        for (const accountId of ids.filter((id) => given.isOurs(id) && (given.only?.has(id) ?? true))) {
          const isListed = names.some((name) => isListedBy(given, name, accountId));
          const ought = isListed || given.known.has(accountId) || given.only?.has(accountId) === true;
          if (ought) expect(wanted.has(accountId)).toBe(true);
          if (isListed)
            expect([...(wanted.get(accountId)?.streams ?? [])]).toEqual(expect.arrayContaining([...given.streams]));
        }
      }),
    );
  });

  it('go to a login that lists them, stay with it, and move only when it loses them', () => {
    fc.assert(
      fc.property(inputs, (given) => {
        for (const [accountId, { login }] of wantedAccounts(given)) {
          const now = given.now.get(accountId);
          if (isListedBy(given, now, accountId)) expect(login).toBe(now);
          else if (names.some((name) => isListedBy(given, name, accountId)))
            expect(isListedBy(given, login, accountId)).toBe(true);
        }
      }),
    );
  });

  it('are the same once they are followed as wanted', () => {
    fc.assert(
      fc.property(inputs, (given) => {
        const wanted = wantedAccounts(given);
        const now = new Map(
          [...wanted].flatMap(([id, { login }]) => (login === undefined ? [] : [[id, login] as const])),
        );
        expect(wantedAccounts({ ...given, now })).toEqual(wanted);
      }),
    );
  });

  it('have not left a login whose list could not be read, or had items that could not', () => {
    const unread = fc.oneof(
      fc.constant(failedList),
      subset.map((): AccountsResult => ({ complete: true, accounts: [], unreadable: 1 })),
    );
    fc.assert(
      fc.property(inputs, fc.constantFrom(...names), unread, (given, name, list) => {
        const before = wantedAccounts(given);
        const of = given.logins.get(name);
        const now = new Map(
          [...before].flatMap(([id, { login }]) => (login === undefined ? [] : [[id, login] as const])),
        );
        if (of === undefined) return;
        const after = wantedAccounts({
          ...{ ...given, now },
          logins: new Map(given.logins).set(name, noteList(of, list, nothing, 9)),
        });
        for (const [accountId, { login, standing }] of before)
          if (login !== undefined) expect(after.get(accountId)).toMatchObject({ login, ...(standing && { standing }) });
      }),
    );
  });

  it('are followed on by the last login that listed them, marked so', () => {
    fc.assert(
      fc.property(inputs, fc.constantFrom(...names), (given, name) => {
        const of = given.logins.get(name);
        if (of === undefined) return;
        const now = new Map([...wantedAccounts(given)].map(([id, { login }]) => [id, login ?? '']));
        const known = stored([...of.accounts.keys()]);
        const empty = noteList(of, { complete: true, accounts: [] }, { known, isSole: false }, 9);
        const after = wantedAccounts({ ...given, now, logins: new Map(given.logins).set(name, empty) });
        for (const [accountId, login] of now) {
          if (login !== name || !of.accounts.has(accountId)) continue;
          const isListed = names.some((other) => other !== name && isListedBy(given, other, accountId));
          if (isListed) expect(isListedBy(given, after.get(accountId)?.login, accountId)).toBe(true);
          else
            expect(after.get(accountId)).toMatchObject({
              login: name,
              standing: { isOpen: false, unlistedSinceMs: expect.any(Number) },
            });
        }
      }),
    );
  });
});
