import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { conditions, type DoubtName, doubtNames } from '../../../src/contract/conditions.ts';
import { routeTable } from '../../../src/service/rest/route-table.ts';
import { judgeTrust, type TrustFacts } from '../../../src/service/run/judge-trust.ts';

const nowMs = 1_795_000_000_000;
const account: TrustFacts['accounts'][number] = {
  stream: 'account',
  accountId: 'ACC-1',
  state: 'live',
  sinceMs: nowMs - 60_000,
};
const well: TrustFacts = {
  nowMs,
  lane: { held: true, mayAct: true, holder: 'one', sinceMs: nowMs - 90_000 },
  fleet: {
    others: 0,
    unassigned: { rows: 1, oldestMs: nowMs - 5_000 },
    anyFollows: true,
    unfollowed: 0,
    unusableLogins: 0,
  },
  unfollowed: [],
  unlisted: [],
  accounts: [account, { ...account, stream: 'prediction', state: 'not_enrolled' }],
  heartbeatMs: nowMs - 60_000,
  notStored: { rows: 5, oldestMs: nowMs - 10_000 },
  unsent: [{ rows: 5, oldestMs: nowMs - 30_000 }, { rows: 0 }, { rows: 0 }],
  unresolved: { rows: 0 },
  halts: [],
  silentLosses: { events: 0 },
  deadLetters: { rows: 0 },
};

interface Case {
  readonly facts: Partial<TrustFacts>;
  readonly detail: RegExp;
  /** Before now; null: not known. */
  readonly sinceMs: number | null;
}

const cases: Readonly<Record<Exclude<DoubtName, 'instances_unanswered'>, readonly Case[]>> = {
  no_holder: [
    { facts: { lane: { ...well.lane, held: false, holder: undefined } }, detail: /no process/, sinceMs: null },
    { facts: { lane: { ...well.lane, mayAct: false } }, detail: /too old to act on/, sinceMs: null },
  ],
  standby: [
    {
      facts: { lane: { ...well.lane, held: false, holder: 'two' }, accounts: [] },
      detail: /stands by for two/,
      sinceMs: 90_000,
    },
  ],
  shards_unassigned: [
    {
      facts: { fleet: { ...well.fleet, others: 1, unassigned: { rows: 8, oldestMs: nowMs - 7_000 } } },
      detail: /^8 shards of accounts without a process/,
      sinceMs: 7_000,
    },
  ],
  account_not_live: [
    {
      facts: { accounts: [account, { ...account, accountId: 'ACC-2', state: 'down', sinceMs: nowMs - 5_000 }] },
      detail: /^1 of 2 account streams not live; account ACC-2 is down$/,
      sinceMs: 5_000,
    },
    { facts: { accounts: [] }, detail: /no account is followed yet/, sinceMs: null },
    {
      facts: { unlisted: ['alpaca'] },
      detail: /^no list of the accounts on alpaca has come yet$/,
      sinceMs: null,
    },
    {
      facts: { accounts: [], fleet: { ...well.fleet, others: 2, anyFollows: false } },
      detail: /^no process follows any account$/,
      sinceMs: null,
    },
  ],
  accounts_unfollowed: [
    {
      facts: {
        unfollowed: [{ stream: 'account', accountId: 'ACC-9', sinceMs: nowMs - 40_000, why: 'no login lists it' }],
      },
      detail:
        /^1 account stream followed by no process or listed by no login, though they ought to be; account ACC-9: no login lists it$/,
      sinceMs: 40_000,
    },
    {
      facts: { fleet: { ...well.fleet, others: 2, unfollowed: 3 } },
      detail: /^3 account streams followed by no process or listed by no login, though they ought to be$/,
      sinceMs: null,
    },
  ],
  login_required: [
    { facts: { fleet: { ...well.fleet, unusableLogins: 1 } }, detail: /^1 login can't be used/, sinceMs: null },
  ],
  canary_late: [
    { facts: { heartbeatMs: nowMs - 61_000 }, detail: /61 s ago/, sinceMs: 61_000 },
    { facts: { heartbeatMs: undefined }, detail: /yet/, sinceMs: null },
  ],
  rows_not_stored: [
    {
      facts: { notStored: { rows: 1, oldestMs: nowMs - 11_000 } },
      detail: /1 observation has waited 11 s/,
      sinceMs: 11_000,
    },
  ],
  rows_unsent: [
    {
      facts: {
        unsent: [
          { rows: 2, oldestMs: nowMs - 1_000 },
          { rows: 3, oldestMs: nowMs - 31_000 },
        ],
      },
      detail: /5 committed rows has waited 31 s/,
      sinceMs: 31_000,
    },
  ],
  commands_unresolved: [
    { facts: { unresolved: { rows: 2, oldestMs: nowMs - 9_000 } }, detail: /^2 commands with/, sinceMs: 9_000 },
  ],
  halted: [
    {
      facts: {
        halts: [
          { cause: 'operator', sinceMs: nowMs - 2_000 },
          { cause: 'rate', sinceMs: nowMs - 8_000 },
        ],
      },
      detail: /2 halts \(operator, rate\)/,
      sinceMs: 8_000,
    },
  ],
  topics_replaced: [
    {
      facts: {
        replaced: { details: ['updates was deleted and made again', 'state is gone'], sinceMs: nowMs - 50_000 },
      },
      detail: /^updates was deleted and made again; state is gone$/,
      sinceMs: 50_000,
    },
  ],
  orders_out_of_reach: [
    {
      facts: {
        accounts: [
          { ...account, outOfReach: { orders: 2, orderIds: ['..', 'a/../b'], sinceMs: nowMs - 9_000 } },
          { ...account, accountId: 'ACC-2', outOfReach: { orders: 1, orderIds: ['.'], sinceMs: nowMs - 8_000 } },
          { ...account, accountId: 'ACC-3', outOfReach: { orders: 0, orderIds: [] } },
        ],
      },
      detail:
        /^3 open orders can be cancelled only at the platform, by no command and no cancel-all; account ACC-1: "\.\.", "a\/\.\.\/b"$/,
      sinceMs: 9_000,
    },
  ],
  topics_differ: [
    {
      facts: { topics: { details: ['updates has retention.ms=1', 'state has x'], sinceMs: nowMs - 70_000 } },
      detail: /^updates has retention.ms=1; state has x$/,
      sinceMs: 70_000,
    },
  ],
  clock_skewed: [
    {
      facts: { clocks: { detail: 'the clock of this process is 90.0 s ahead of Postgres', sinceMs: nowMs - 3_000 } },
      detail: /90\.0 s ahead of Postgres/,
      sinceMs: 3_000,
    },
  ],
  silent_losses: [
    {
      facts: { silentLosses: { events: 1, firstMs: nowMs - 3_000 } },
      detail: /lost 1 change in the last hour; an audit found it, and the state has it/,
      sinceMs: 3_000,
    },
  ],
  dead_letters: [
    { facts: { deadLetters: { rows: 4, oldestMs: nowMs - 1_000 } }, detail: /^4 dead letters/, sinceMs: 1_000 },
  ],
};

it('is there when nothing is wrong, up to each bound', () => {
  expect(judgeTrust(well)).toEqual({ trusted: true, doubts: [] });
});

it('is there without an account where others follow them', () => {
  const fleet = { ...well.fleet, others: 1 };
  expect(judgeTrust({ ...well, accounts: [], fleet })).toEqual({ trusted: true, doubts: [] });
});

it('does not take the gauges of an earlier term for those of now', () => {
  const unsent = [{ rows: 9, oldestMs: 0 }];
  const { doubts } = judgeTrust({
    ...well,
    lane: { ...well.lane, held: false, holder: 'two' },
    unsent,
    notStored: unsent[0] ?? { rows: 0 },
  });
  expect(doubts.map(({ name }) => name)).toEqual(['standby']);
});

it('leads from a late heartbeat to the accounts where none is followed, not to Kafka', () => {
  const fleet = { ...well.fleet, others: 1, anyFollows: false };
  const { doubts } = judgeTrust({ ...well, accounts: [], fleet, heartbeatMs: undefined });
  expect(doubts.map(({ name, runbook }) => [name, runbook])).toEqual([
    ['canary_late', 'SourceNeverLive'],
    ['account_not_live', 'SourceNeverLive'],
  ]);
});

it('leads from a halt for lost commits to the page of the loss, which says what comes before a resume', () => {
  const { doubts } = judgeTrust({ ...well, halts: [{ cause: 'commits_lost', sinceMs: nowMs }] });
  expect(doubts.map(({ name, runbook }) => [name, runbook])).toEqual([['halted', 'CommitsLost']]);
});

/** Of many instances together: see status-of-all. */
const ofOne = doubtNames.filter((name) => name !== 'instances_unanswered');

describe.each(ofOne)('%s', (name) => {
  it.each(cases[name].map(({ detail, ...rest }) => [detail.source, detail, rest] as const))(
    'is the one doubt: %s',
    (_source, detail, { facts, sinceMs }) => {
      const { trusted, doubts } = judgeTrust({ ...well, ...facts });
      const since = sinceMs === null ? null : new Date(nowMs - sinceMs).toISOString();
      expect([trusted, doubts]).toEqual([
        false,
        [expect.objectContaining({ name, since, detail: expect.stringMatching(detail) })],
      ]);
    },
  );
});

it.each(Object.values(conditions))('$runbook is a page, and $link a route that an operator may read', (condition) => {
  expect(existsSync(`docs/runbooks/${condition.runbook}.md`)).toBe(true);
  const path = condition.link.split('?')[0];
  const route = routeTable.find(({ method, path: of }) => method === 'GET' && of === path);
  expect(route?.scopes).toContain('ops:read');
});
