import { describe, expect, it } from 'vitest';
import { showStatus } from '../../src/cli/format-status.ts';
import { statusDocument } from '../../src/service/run/status-document.ts';
import {
  followedAccount,
  type SampleStatus,
  sampledMs,
  sampleSource,
  sampleStatusParts,
} from '../support/rest/status-parts.ts';

const ready = { status: 'ready', checks: [] };

async function shown(over: SampleStatus = {}, health: unknown = ready) {
  const status = await statusDocument(sampleStatusParts(over), { kind: 'all' });
  return showStatus({ health, status: JSON.parse(JSON.stringify(status)) }, sampledMs);
}

const trouble: SampleStatus = {
  reading: { updatesTopic: { rows: 3, oldestMs: sampledMs - 31_000 } },
  sources: [
    sampleSource([
      followedAccount('ACC-1', {
        state: 'down',
        absent: [{ cause: 'forgotten', orders: 1, orderIds: ['ord-1'] }],
        silentLosses: { events: 22, firstMs: sampledMs - 100_000 },
        lastError: `\u001b[2Jthe connection was reset ${'again and '.repeat(30)}again`,
      }),
    ]),
  ],
  unresolvedIn: ['ACC-1'],
  halts: [
    {
      haltId: 'h-1',
      scope: { kind: 'service' },
      cause: 'operator',
      reason: 'lunch',
      by: 'ann',
      sinceMs: sampledMs - 300_000,
    },
  ],
  deadLetters: [
    { stream: 'account', reason: 'not_json', accountId: null, rows: 2, oldest: new Date(sampledMs - 50_000) },
  ],
};

it('shows the word of the platform for an account on which nothing can be placed', async () => {
  const restricted = followedAccount('ACC-1', { standing: { isOpen: false, status: 'RESTRICTED' } });
  const gone = followedAccount('ACC-2', { standing: { isOpen: false, status: 'OPEN', unlistedSinceMs: sampledMs } });
  const open = followedAccount('ACC-3', { standing: { isOpen: true, status: 'OPEN' } });
  const { text } = await shown({ sources: [sampleSource([restricted, gone, open])] });
  expect(text).toMatch(/ACC-1 +account +live, RESTRICTED /);
  expect(text).toMatch(/ACC-2 +account +live, unlisted /);
  expect(text).toMatch(/ACC-3 +account +live /);
});

describe('the first line', () => {
  it.each<[string, SampleStatus, unknown, string, boolean]>([
    ['well', {}, ready, 'trusted', true],
    ['doubts', { unresolvedIn: ['ACC-1'] }, ready, 'in doubt: commands unresolved', false],
    ['standby', { state: 'standby', holder: 'two' }, ready, 'standby for two, which knows more: ask it', false],
    [
      'not ready',
      {},
      { status: 'unready', checks: [{ name: 'database', ok: false, effect: 'unready', detail: 'is down' }] },
      'not ready: database',
      false,
    ],
    [
      'degraded',
      {},
      { status: 'degraded', checks: [{ name: 'sources', ok: false, effect: 'degraded', detail: '1 of 2 down' }] },
      'degraded: sources',
      false,
    ],
    ['no answer about its health', {}, null, 'unknown: its health is not known', false],
  ])('is the verdict: %s', async (_name, over, health, line, isWell) => {
    const status = await shown(over, health);
    expect([status.text.split('\n')[0], status.isWell]).toEqual([line, isWell]);
  });

  it('says that the state is of another version, and keeps the checks', () => {
    const checks = [{ name: 'database', ok: false, effect: 'unready', detail: 'is down' }];
    const { text, isWell } = showStatus({ health: { status: 'unready', checks }, status: { version: '9' } }, sampledMs);
    expect([text, isWell]).toEqual([
      'unready; its state is that of another version of Tidemark: --json shows it\n\nchecks that fail\n  database  not ready  is down\n',
      false,
    ]);
  });
});

it('shows a quiet service in few lines, with ages', async () => {
  expect((await shown()).text).toMatchInlineSnapshot(`
    "trusted
    12.5 updates/s; p50 4.2 ms, p99 9.7 ms to Kafka; heartbeat 5 s ago; commands on; version 1.2.3

    accounts
      ACCOUNT  STREAM   STATE  FOR   EVENT  READ  AUDIT  LOST  LAST ERROR
      ACC-1    account  live   60 s  -      -     -      0     -

    way of the data
      HOP                         WAITING  OLDEST
      socket to Postgres          0 rows   -
      Postgres to Kafka, updates  0 rows   -
      Postgres to Kafka, state    0 rows   -
      Postgres to Kafka, results  0 rows   -

    lane
      lane 1, held by one (this process) for 90 s
      epoch 3, 1 takeover by this process, which may act now

    connections
      CREDENTIAL  STREAM   NOW   FRAME  EVENT  LAST END
      client      account  open  -      -      -

    logins
      CREDENTIAL  STATE  TOKEN ENDS IN  LAST ERROR
      client      held   -              -
    "
  `);
});

it('says why a process has given its accounts away', async () => {
  const fleet = () => ({
    others: 1,
    unassigned: { rows: 0 },
    drained: true,
    unhealthy: 'loop_late' as const,
    anyFollows: true,
    unfollowed: 0,
    unusableLogins: 0,
  });
  const status = await statusDocument({ ...sampleStatusParts(), fleet }, { kind: 'all' });
  const { text } = showStatus({ health: ready, status: JSON.parse(JSON.stringify(status)) }, sampledMs);
  expect(text).toContain(
    '  drained by an operator: it holds no accounts while others can (`tidemark fleet undrain`)\n' +
      '  unhealthy, so it gives its accounts to others: the process turns late again and again\n',
  );
});

it('shows every trouble in at most 100 columns, and nothing that a terminal obeys', async () => {
  const { text, isWell } = await shown(trouble);
  expect(isWell).toBe(false);
  expect(text).toMatchInlineSnapshot(`
    "in doubt: account not live, rows unsent, commands unresolved, halted, silent losses, dead letters
    12.5 updates/s; p50 4.2 ms, p99 9.7 ms to Kafka; heartbeat 5 s ago; commands on; version 1.2.3

    doubts
      account not live, for 60 s: 1 of 1 account stream not live; account ACC-1 is down
        docs/runbooks/SourceNeverLive.md
      rows unsent, for 31 s: the oldest of 3 committed rows has waited 31 s for Kafka
        docs/runbooks/RelayStuck.md
      commands unresolved, for 7 s: 1 command with a result that is not known
        docs/runbooks/CommandUnknown.md
      halted, for 5 min: placing is halted by 1 halt (operator)
        docs/runbooks/PlacingHalted.md
      silent losses, for 100 s: the stream lost 22 changes in the last hour; audits found them, and the
          state has them
        docs/runbooks/SilentLosses.md
      dead letters, for 50 s: 2 dead letters for a person to look at
        docs/runbooks/DeadLetters.md

    accounts
      ACCOUNT  STREAM   STATE  FOR   EVENT  READ  AUDIT  LOST  LAST ERROR
      ACC-1    account  down   60 s  -      -     -      22    ?[2Jthe connection was reset again and a…

    way of the data
      HOP                         WAITING  OLDEST
      socket to Postgres          0 rows   -
      Postgres to Kafka, updates  3 rows   31 s
      Postgres to Kafka, state    0 rows   -
      Postgres to Kafka, results  0 rows   -

    lane
      lane 1, held by one (this process) for 90 s
      epoch 3, 1 takeover by this process, which may act now

    unresolved commands
      1  oldest 7 s

    halts
      service  operator  5 min  ann  lunch

    dead letters
      account  not_json  2 rows

    orders that the platform does not know
      ACC-1  account  forgotten by the platform  1  ord-1

    connections
      CREDENTIAL  STREAM   NOW   FRAME  EVENT  LAST END
      client      account  open  -      -      -

    logins
      CREDENTIAL  STATE  TOKEN ENDS IN  LAST ERROR
      client      held   -              -
    "
  `);
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
});

it('shows the detail of a failed check whole, in lines of at most 100 columns', async () => {
  const detail = `placing is halted on SIM-1001 (late_landing): ${'and more, '.repeat(9)}\`tidemark resume --account SIM-1001 --reason "…"\` ends it ${'x'.repeat(250)}`;
  const checks = [{ name: 'commands', ok: false, effect: 'degraded', detail }];
  const { text } = await shown({}, { status: 'degraded', checks });
  const lines = text.split('\n');
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
  expect(text.replaceAll(/\n {6}/g, ' ')).toContain('`tidemark resume --account SIM-1001 --reason "…"` ends it');
  expect(text.replaceAll(/\s/g, '')).toContain(detail.replaceAll(/\s/g, ''));
});
