import { describe, expect, it, onTestFinished } from 'vitest';
import type { Watermark } from '../../../src/domain/observation.ts';
import { accountRow, predictionRow } from '../../../src/venue/platform/fixtures/rows.ts';
import { unreadAccount } from '../../support/commands/unread-account.ts';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';

async function working(...args: Parameters<typeof connectorsRig>) {
  const rig = connectorsRig(...args);
  await rig.connectors.begin();
  onTestFinished(async () => {
    await rig.connectors.end();
    // Nothing may be left that would run on: sockets, reads, timers.
    expect(rig.platform.live).toEqual([]);
    expect(rig.clock.armed).toBe(0);
  });
  return rig;
}

async function live(...args: Parameters<typeof connectorsRig>) {
  const rig = await working(...args);
  await rig.until('account', 'live');
  await rig.until('prediction', 'live');
  return rig;
}

const marksOf = (items: readonly unknown[], stream: string) =>
  items.filter(
    (item): item is Watermark => (item as Watermark).kind === 'watermarks' && (item as Watermark).stream === stream,
  );

describe('an account', () => {
  it('is live once it is subscribed and a read that began after that was committed', async () => {
    const rig = connectorsRig();
    const order: string[] = [];
    let commit = () => undefined as undefined;
    rig.platform.subscription = (stream) => {
      order.push(`subscribe ${stream}`);
      return 'acknowledge';
    };
    rig.platform.beforeList = async ({ stream }) => void order.push(`list ${stream}`);
    rig.sink.settle = () =>
      new Promise((resolve) => {
        commit = () => void resolve();
      });
    await rig.connectors.begin();
    onTestFinished(() => rig.connectors.end());
    await rig.clock.advance(3_000);
    expect(order.filter((step) => step.endsWith('account'))[0]).toBe('subscribe account');
    expect(rig.state('account')).toBe('resyncing');
    rig.sink.settle = async () => undefined;
    commit();
    await rig.clock.advance(10);
    expect([rig.state('account'), rig.state('prediction')]).toContain('live');
  });

  it('is live within 3 s of the start, with nothing but what the platform itself takes', async () => {
    const rig = connectorsRig();
    const startedMs = rig.clock.monotonicMs();
    await rig.connectors.begin();
    await rig.until('account', 'live');
    await rig.until('prediction', 'live');
    expect(rig.clock.monotonicMs() - startedMs).toBeLessThan(100);
    await rig.connectors.end();
    expect(rig.clock.armed).toBe(0);
  });

  it('reads what is open and the closed orders of seven days at first, and from half a minute before the last read after that', async () => {
    const rig = connectorsRig();
    rig.platform.rows.set('account:acct-1', [{ ...accountRow, updatedAt: '2026-01-05T14:00:00.5Z' }]);
    await rig.connectors.begin();
    await rig.until('account', 'live');
    const of = () =>
      rig.platform.lists.filter(({ stream }) => stream === 'account').map(({ state, after }) => [state, after]);
    expect(of().slice(0, 2)).toEqual([
      ['open', undefined],
      ['all', expect.stringMatching(/^2025-12-29T14:30:00\.00\dZ$/)],
    ]);
    expect(rig.registry.get('account', 'acct-1')?.readUpTo).toBe('2026-01-05T14:00:00.5Z');
    await rig.connectors.end();
    rig.platform.lists.length = 0;
    await rig.connectors.begin();
    await rig.until('account', 'live');
    expect(of()).toEqual([['all', '2026-01-05T13:59:30.500Z']]);
    await rig.connectors.end();
  });

  it('hands over events as they come, also before it is live, with their digits whole', async () => {
    const rig = connectorsRig();
    rig.platform.listError = () => ({ status: 500, message: 'down', retryable: true, sent: 'yes' });
    await rig.connectors.begin();
    onTestFinished(() => rig.connectors.end());
    await rig.until('prediction', 'resyncing');
    rig.platform.emit('prediction', 'acct-1', predictionRow, 9007199254740993n);
    expect(rig.sink.observations.map(({ sourceVersion, cause }) => [sourceVersion, cause])).toEqual([
      [9007199254740993n, 'stream'],
    ]);
    await rig.clock.advance(60_000);
    expect(rig.state('prediction')).toBe('resyncing');
    rig.platform.listError = undefined;
    await rig.until('prediction', 'live');
  });

  it('tells when it went live, what was lost, and when that was made good', async () => {
    const { clock, platform, sink, until, socket } = await live();
    await clock.advance(100_000);
    const old = socket('account');
    old.deliver('{"type":"heartbeat"}');
    await clock.advance(400);
    const endedMs = clock.nowMs();
    old.end({ kind: 'closed', code: 1006, reason: '' });
    platform.beforeList = () => clock.sleep(50);
    await until('account', 'live');
    const readBeganMs = clock.nowMs() - 51;
    const marks = marksOf(sink.items, 'account').filter(({ event }) => event !== 'heartbeat');
    expect(marks.map(({ event }) => event)).toEqual(['live', 'lost', 'resynchronised', 'live']);
    expect(marks[1]).toMatchObject({ fromMs: old.ponged.at(-1), toMs: endedMs, reason: 'closed' });
    expect(marks[2]).toMatchObject({ fromMs: old.ponged.at(-1), toMs: readBeganMs, atMs: readBeganMs });
    expect(marks[3]).toMatchObject({ atMs: readBeganMs });
    expect(platform.sockets.filter(({ url }) => url === 'ws://account')).toHaveLength(2);
  });

  it('says of a gap how many orders were read after it, and which of them had changed, also where a first read failed', async () => {
    const { clock, platform, sink, until, socket } = await live();
    platform.rows.set(
      'account:acct-1',
      ['ord-1', 'ord-2', 'ord-3'].map((ordId) => ({ ...accountRow, ordId })),
    );
    // What the first read brought is known to the second.
    const known = new Set(['ord-1']);
    sink.result = ({ view: { orderId } }) => {
      if (known.has(orderId)) return 'duplicate';
      known.add(orderId);
      return 'applied';
    };
    const resolve = sink.settle;
    sink.settle = async () => {
      sink.settle = resolve;
      throw new Error('the database is away');
    };
    socket('account').end({ kind: 'closed', code: 1006, reason: '' });
    await until('account', 'live');
    const closed = () => marksOf(sink.items, 'account').findLast(({ event }) => event === 'resynchronised');
    expect(closed()).toMatchObject({ ordersRead: 3, ordersRepaired: 2, repairedOrderIds: ['ord-2', 'ord-3'] });
    await clock.advance(1_000);
    socket('account').end({ kind: 'closed', code: 1006, reason: '' });
    await until('account', 'live');
    expect(closed()).toMatchObject({ ordersRead: 3, ordersRepaired: 0, repairedOrderIds: [] });
  });

  it('says every 15 s that it is complete up to the last sign of life', async () => {
    const { clock, sink } = await live();
    await clock.advance(61_000);
    const beats = marksOf(sink.items, 'account').filter(({ event }) => event === 'heartbeat');
    expect(beats).toHaveLength(4);
    for (const { atMs } of beats) expect(clock.nowMs() - atMs).toBeLessThan(66_000);
    expect(new Set(beats.map(({ markId }) => markId)).size).toBe(4);
  });

  it('that is not enrolled is asked for again after an hour, and is no fault', async () => {
    const rig = connectorsRig();
    let asked = 0;
    rig.platform.subscription = (stream) => {
      if (stream === 'account') return 'acknowledge';
      asked += 1;
      return asked === 1 ? { code: 'FORBIDDEN' } : 'acknowledge';
    };
    await rig.connectors.begin();
    onTestFinished(() => rig.connectors.end());
    await rig.until('prediction', 'not_enrolled');
    await rig.clock.advance(3_590_000);
    expect([asked, rig.state('prediction')]).toEqual([1, 'not_enrolled']);
    await rig.until('prediction', 'live');
    expect(asked).toBe(2);
  });

  it('that is not enrolled may also say so in the list', async () => {
    const rig = await working();
    rig.platform.listError = ({ stream }) =>
      stream === 'prediction'
        ? { status: 403, code: 'FORBIDDEN', message: 'no', retryable: false, sent: 'yes' }
        : undefined;
    await rig.until('prediction', 'not_enrolled');
    await rig.until('account', 'live');
    expect(rig.sink.marks('acct-1')).toEqual(['live']);
  });

  it('needs a person when the credential is refused, and comes back by itself once it is not', async () => {
    const rig = connectorsRig();
    rig.platform.loginRequired = true;
    await rig.connectors.begin();
    onTestFinished(() => rig.connectors.end());
    await rig.until('account', 'login_required');
    rig.platform.loginRequired = false;
    await rig.until('account', 'live');
  });

  it('drops and counts events of accounts that nobody subscribed', async () => {
    const { sink, metrics, socket, clock } = await live();
    const before = sink.items.length;
    const foreign = { ...predictionRow, accountId: 'acct-9' };
    socket('prediction').deliver(
      JSON.stringify({
        type: 'event',
        payload: { topic: 'prediction', name: 'prediction.order', target: 'account:acct-9', data: foreign },
      }),
    );
    socket('prediction').deliver(
      JSON.stringify({
        type: 'event',
        payload: { topic: 'prediction', name: 'prediction.order', target: 'account:acct-1', data: foreign },
      }),
    );
    await clock.advance(1_000);
    expect(sink.items.length).toBe(before);
    expect((await metrics.frames.get()).values).toContainEqual({
      labels: { source: 'prediction', type: 'foreign' },
      value: 2,
    });
  });

  it('asks once for an order whose frame cannot be read, and keeps the frame', async () => {
    const { platform, sink, clock } = await live();
    platform.rows.set('prediction:acct-1', [{ ...predictionRow, version: '7' }]);
    for (let i = 0; i < 5; i += 1) platform.emit('prediction', 'acct-1', predictionRow, '1.0');
    await clock.advance(100);
    expect(platform.gets).toEqual([predictionRow['orderId']]);
    expect(sink.items.filter(({ kind }) => kind === 'unreadable')).toHaveLength(5);
    expect(sink.observations.map(({ cause, sourceVersion }) => [cause, sourceVersion])).toEqual([['snapshot', 7n]]);
  });
});

describe('a source', () => {
  it('moves to a new token by a second connection, subscribed before the first is closed', async () => {
    const { platform, sink, clock, state } = await live();
    const first = platform.live.find(({ url }) => url === 'ws://account');
    platform.renewToken();
    await clock.advance(2);
    expect(platform.live.filter(({ url }) => url === 'ws://account')).toHaveLength(2);
    platform.emit('account', 'acct-1', accountRow);
    await clock.advance(100);
    const sockets = platform.live.filter(({ url }) => url === 'ws://account');
    expect(sockets.map(({ token }) => token)).toEqual(['t2']);
    expect(first?.state).toBe('ended');
    expect(state('account')).toBe('live');
    expect(sink.marks('acct-1').filter((event) => event !== 'heartbeat')).toEqual(['live', 'live']);
    expect(sink.observations.length).toBeGreaterThan(0);
  });

  it('keeps the old connection when the new one is refused, and tries again', async () => {
    const { platform, clock, state } = await live();
    platform.refuse = { kind: 'refused', status: 503 };
    platform.renewToken();
    await clock.advance(5_000);
    expect(state('account')).toBe('live');
    platform.refuse = undefined;
    await clock.advance(10_000);
    expect(platform.live.map(({ token }) => token)).toEqual(['t2', 't2']);
  });

  it('gets a new token when its connection is closed with 4401', async () => {
    const { platform, socket, clock, until } = await live();
    socket('account').end({ kind: 'closed', code: 4401, reason: 'token expired' });
    await clock.advance(1);
    await until('account', 'live');
    expect(platform.live.map(({ token }) => token)).toEqual(['t2', 't2']);
  });

  it('gives up a connection on which a subscription is not answered', async () => {
    const rig = connectorsRig();
    let asked = 0;
    rig.platform.subscription = (stream) => {
      if (stream === 'account') asked += 1;
      return stream === 'account' && asked === 1 ? 'silent' : 'acknowledge';
    };
    await rig.connectors.begin();
    onTestFinished(() => rig.connectors.end());
    await rig.until('account', 'live');
    expect(asked).toBe(2);
    expect(rig.clock.monotonicMs()).toBeGreaterThan(5_000);
  });

  it('declares a connection dead after 10 s without a byte, and not before', async () => {
    const { platform, socket, clock, state, metrics } = await live();
    await clock.advance(30_000);
    expect(platform.sockets).toHaveLength(2);
    socket('account').answers = false;
    await clock.advance(7_000);
    expect(state('account')).toBe('live');
    await clock.advance(9_000);
    expect((await metrics.reconnects.get()).values).toContainEqual({
      labels: { source: 'account', reason: 'idle' },
      value: 1,
    });
  });

  it('does not hold a silence against the peer that it made itself by pausing', async () => {
    const { platform, sink, socket, clock, state } = await live();
    sink.full = true;
    platform.emit('account', 'acct-1', accountRow);
    expect(socket('account').paused).toBe(true);
    socket('account').answers = false;
    await clock.advance(120_000);
    expect(platform.sockets.filter(({ url }) => url === 'ws://account')).toHaveLength(1);
    socket('account').answers = true;
    sink.makeRoom();
    expect(socket('account').paused).toBe(false);
    await clock.advance(30_000);
    expect(state('account')).toBe('live');
  });

  it('waits longer and longer, with jitter, while the platform refuses it', async () => {
    const rig = await working();
    rig.platform.refuse = { kind: 'refused', status: 200 };
    await rig.clock.advance(600_000);
    const attempts = rig.platform.sockets.filter(({ url }) => url === 'ws://account').length;
    expect(attempts).toBeGreaterThan(20);
    expect(attempts).toBeLessThan(80);
    rig.platform.refuse = undefined;
    await rig.until('account', 'live');
  });
});

describe('the accounts', () => {
  it('are followed as they appear, and when they close, without a restart', async () => {
    const rig = await live();
    rig.platform.accounts.push({ accountId: 'acct-2', isOpen: true, isSim: false });
    await rig.until('account', 'live', 'acct-2');
    expect(rig.registry.get('account', 'acct-2')).toMatchObject({ isSim: false, sourceEpoch: 0 });
    rig.platform.accounts = rig.platform.accounts.map((account) => ({
      ...account,
      isOpen: account.accountId !== 'acct-1',
    }));
    await rig.clock.advance(61_000);
    expect(rig.state('account', 'acct-1')).toBe('live');
    expect(rig.socket('account').subscribed).toEqual(new Set(['account:acct-1', 'account:acct-2']));
  });

  it('are those of the registry while the platform does not list them', async () => {
    const rig = connectorsRig();
    rig.platform.accountsError = { status: 500, message: 'down', retryable: true, sent: 'yes' };
    await rig.registry.save(unreadAccount('acct-7'));
    await rig.connectors.begin();
    onTestFinished(() => rig.connectors.end());
    await rig.until('account', 'live', 'acct-7');
  });

  it('are narrowed by configuration', async () => {
    const rig = connectorsRig({ only: new Set(['acct-2']) });
    rig.platform.accounts.push({ accountId: 'acct-2', isOpen: true, isSim: true });
    await rig.connectors.begin();
    onTestFinished(() => rig.connectors.end());
    await rig.until('account', 'live', 'acct-2');
    expect(rig.state('account', 'acct-1')).toBeUndefined();
  });
});
