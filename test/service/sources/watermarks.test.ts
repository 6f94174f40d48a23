import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { heartbeats } from '../../../src/service/sources/watermarks.ts';
import { accountRow } from '../../../src/venue/platform/fixtures/rows.ts';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';

const random = seededRandom(3);

describe('the heartbeats of a stream', () => {
  it('are one mark for all accounts that are complete up to the same time', () => {
    const marks = heartbeats(
      'account',
      new Map([
        ['a', 5],
        ['b', 7],
        ['c', 5],
      ]),
      random,
    );
    expect(marks).toMatchObject([
      { stream: 'account', event: 'heartbeat', atMs: 5, accountIds: ['a', 'c'] },
      { stream: 'account', event: 'heartbeat', atMs: 7, accountIds: ['b'] },
    ]);
    expect(new Set(marks.map(({ markId }) => markId)).size).toBe(2);
  });

  it('name at most 500 accounts each, and every account once', () => {
    const accounts = Array.from({ length: 1_201 }, (_, i) => `acct-${i}`);
    const marks = heartbeats('account', new Map(accounts.map((id) => [id, 5])), random);
    expect(marks.map(({ accountIds }) => accountIds.length)).toEqual([500, 500, 201]);
    expect(marks.flatMap(({ accountIds }) => accountIds)).toEqual(accounts);
  });

  it('are one of its own for an account with orders that it does not speak for', () => {
    const upTo = new Map(['a', 'b', 'c'].map((id) => [id, 5]));
    const marks = heartbeats('account', upTo, random, new Map([['b', ['ord-1']]]));
    expect(marks).toMatchObject([{ accountIds: ['a', 'c'] }, { accountIds: ['b'], unreadOrderIds: ['ord-1'] }]);
    expect(marks[0]).not.toHaveProperty('unreadOrderIds');
  });

  it('are none while no account is live', () => {
    expect(heartbeats('account', new Map(), random)).toEqual([]);
  });
});

describe('a source with several accounts', () => {
  const beats = ({ sink }: ReturnType<typeof connectorsRig>) =>
    sink.items.flatMap((item) =>
      item.kind === 'watermarks' && item.stream === 'account' && item.event === 'heartbeat' ? [item] : [],
    );

  async function withAccounts(...accountIds: string[]) {
    const rig = connectorsRig();
    rig.platform.accounts = accountIds.map((accountId) => ({ accountId, isOpen: true, isSim: true }));
    await rig.begin();
    for (const accountId of accountIds) await rig.until('account', 'live', accountId);
    return rig;
  }

  it('says "complete up to" once for all that are live, and not for one that is not', async () => {
    const rig = connectorsRig();
    rig.platform.accounts = ['a', 'refused', 'b'].map((accountId) => ({ accountId, isOpen: true, isSim: true }));
    rig.platform.subscription = (_, accountId) => (accountId === 'refused' ? { code: 'FORBIDDEN' } : 'acknowledge');
    await rig.begin();
    await rig.until('account', 'live', 'b');
    await rig.clock.advance(31_000);
    expect(beats(rig).map(({ accountIds }) => accountIds)).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ]);
  });

  it('says it of the others up to now where one has a frame that could not be read', async () => {
    const rig = await withAccounts('a', 'b');
    rig.platform.getError = rig.platform.listError = () => ({
      status: 503,
      message: 'down',
      retryable: true,
      sent: 'yes',
    });
    await rig.clock.advance(1_000);
    const framedMs = rig.clock.nowMs();
    rig.platform.emit('account', 'a', { ...accountRow, accountId: 'a', qty: 'many' });
    await rig.clock.advance(5_000);
    rig.socket('account').deliver('{"type":"heartbeat"}');
    await rig.clock.advance(10_000);
    const [first, second, ...more] = beats(rig);
    expect(first).toMatchObject({ accountIds: ['a'] });
    expect(first?.atMs).toBeLessThan(framedMs);
    expect(second).toMatchObject({ accountIds: ['b'] });
    expect(second?.atMs).toBeGreaterThan(framedMs);
    expect(more).toEqual([]);
  });

  it('lets no heartbeats pile up before a database that is away', async () => {
    const rig = await withAccounts('a');
    const { promise, resolve } = Promise.withResolvers<void>();
    const settle = rig.sink.settle;
    rig.sink.settle = () => promise;
    await rig.clock.advance(60_000);
    expect(beats(rig)).toHaveLength(0);
    rig.sink.settle = settle;
    resolve();
    await rig.clock.advance(16_000);
    expect(beats(rig)).toHaveLength(2);
  });
});
