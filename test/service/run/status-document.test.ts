import { describe, expect, it } from 'vitest';
import { statusAnswer } from '../../../src/contract/status-answer.ts';
import { statusDocument } from '../../../src/service/run/status-document.ts';
import type { AccountScope } from '../../../src/store/orders/order-reads.ts';
import {
  followedAccount,
  type SampleStatus,
  sampledMs,
  sampleSource,
  sampleStatusParts,
} from '../../support/rest/status-parts.ts';

const everything: AccountScope = { kind: 'all' };
const own: AccountScope = { kind: 'accounts', accountIds: ['ACC-1', 'ACC-1'] };

const show = (sample: SampleStatus = {}, scope: AccountScope = everything) =>
  statusDocument(sampleStatusParts(sample), scope);

const halt = { haltId: 'h', cause: 'operator', reason: 'of ACC-2', by: 'b', sinceMs: sampledMs };
const rowOf = (accountId: string | null, rows: number) => {
  return { stream: 'account', reason: 'not_json', accountId, rows, oldest: new Date(sampledMs - 1000) };
};

/** Account ACC-1 is well, ACC-2 has every trouble, on the same connection. */
const shared: SampleStatus = {
  sources: [
    sampleSource(
      [
        followedAccount('ACC-1', { lastError: 'subscribing ACC-2 was not answered' }),
        followedAccount('ACC-2', { state: 'down', silentLosses: { events: 3, firstMs: sampledMs - 1 } }),
      ],
      { lastEnd: { atMs: sampledMs, reason: 'ack_timeout', detail: 'subscribing ACC-2 was not answered' } },
    ),
    sampleSource([followedAccount('ACC-2')], { credential: 'login:second' }),
  ],
  unresolvedIn: ['ACC-2'],
  halts: [{ ...halt, scope: { kind: 'account', accountId: 'ACC-2' } }],
  deadLetters: [rowOf('ACC-2', 4), rowOf(null, 2)],
};

describe('the state of the service', () => {
  it('is trusted when all is well, and has its shape', async () => {
    const status = await show();
    expect(statusAnswer.parse(status)).toEqual(status);
    expect(status).toMatchObject({
      trust: { trusted: true, doubts: [] },
      latency: { p50Ms: 4.2, p99Ms: 9.7 },
      updatesPerSecond: 12.5,
      newestHeartbeat: new Date(sampledMs - 5_000).toISOString(),
      silentLossesLastHour: 0,
      deadLetters: [],
    });
  });

  it('shows every trouble to a token of every account', async () => {
    const status = await show(shared);
    const names = ['account_not_live', 'commands_unresolved', 'halted', 'silent_losses', 'dead_letters'];
    expect(status.trust.doubts.map(({ name }) => name)).toEqual(names);
    expect(status.deadLetters).toEqual([{ stream: 'account', reason: 'not_json', rows: 6 }]);
    expect([status.commands.unresolved, status.silentLossesLastHour]).toEqual([1, 3]);
    expect(status.sources[0]?.lastEnd).toContain('ACC-2');
  });

  it('shows nothing of an account that the token does not name, not even in words about a connection', async () => {
    const status = await show(shared, own);
    expect(JSON.stringify(status)).not.toContain('ACC-2');
    expect(JSON.stringify(status)).not.toContain('second');
    expect(status.trust).toEqual({ trusted: true, doubts: [] });
    expect([status.commands.unresolved, status.silentLossesLastHour, status.deadLetters]).toEqual([0, 0, []]);
    expect(status.accounts.map(({ account }) => account)).toEqual(['ACC-1']);
    expect(status.sources.map(({ lastEnd }) => lastEnd)).toEqual(['ack_timeout']);
  });

  it('shows a halt of the whole service to every token', async () => {
    const { halts } = await show({ halts: [{ ...halt, scope: { kind: 'service' } }] }, own);
    expect(halts.map(({ scope }) => scope)).toEqual(['service']);
  });

  it('is in doubt for a token whose accounts are not followed', async () => {
    const { trust } = await show({}, { kind: 'accounts', accountIds: ['ACC-9'] });
    expect(trust.doubts.map(({ name }) => name)).toEqual(['account_not_live']);
  });

  it('is never trusted by a process that stands by, which knows neither streams nor commands', async () => {
    const { trust, commands } = await show({ state: 'standby', mayAct: false, holder: 'two', sources: [] });
    expect([trust.doubts.map(({ name }) => name), commands.unresolved]).toEqual([['standby'], null]);
  });

  it('says that the dead letters were not counted yet', async () => {
    const parts = { ...sampleStatusParts(), deadLetters: () => undefined };
    expect((await statusDocument(parts, everything)).deadLetters).toBeNull();
  });
});
