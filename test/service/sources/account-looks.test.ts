import { describe, expect, it } from 'vitest';
import type { Stream } from '../../../src/domain/order.ts';
import { accountRow, predictionRow, type Row } from '../../../src/venue/platform/fixtures/rows.ts';
import { liveConnectors } from '../../support/orders/connectors-rig.ts';

async function live() {
  const rig = await liveConnectors();
  rig.platform.lists.length = 0;
  const account = (stream: Stream = 'account') => {
    const found = rig.connectors.account(stream, 'acct-1');
    if (found === undefined) throw new Error('not followed');
    return found;
  };
  const answer = async <T>(work: Promise<T>, limitMs = 60_000): Promise<T> => {
    let done = false;
    void work.finally(() => {
      done = true;
    });
    await rig.clock.advanceUntil(() => done, limitMs);
    return work;
  };
  const signal = new AbortController().signal;
  return { ...rig, connect: rig.connectors, account, answer, signal };
}

const ours: Row = { ...accountRow, ordId: 'ord-ours', clOrdId: 'tm-1' };
const another: Row = { ...accountRow, ordId: 'ord-another', clOrdId: 'tm-2' };
const unreadable: Row = { ...ours, qty: 'many' };
const refusal = { status: 503, message: 'down', retryable: true, sent: 'yes' } as const;

describe('a look for a reference', () => {
  it('asks for all ages and states under it, and offers what it finds as a probe', async () => {
    const { account, answer, platform, sink, signal, clock } = await live();
    platform.rows.set('account:acct-1', [ours]);
    const startedAtMs = clock.nowMs();
    const look = await answer(account().lookFor('tm-1', signal));
    expect(look).toEqual({ complete: true, startedAtMs, certain: true, shown: ['ord-ours'] });
    expect(platform.lists).toEqual([{ stream: 'account', accountId: 'acct-1', state: 'all', reference: 'tm-1' }]);
    expect(sink.observations.map(({ cause, view }) => [cause, view.orderId])).toEqual([['probe', 'ord-ours']]);
  });

  it('shows none of the orders that a platform brings which does not know the filter', async () => {
    const { account, answer, platform, sink, signal } = await live();
    platform.rows.set('account:acct-1', [another, ours]);
    expect(await answer(account().lookFor('tm-1', signal))).toMatchObject({ complete: true, shown: ['ord-ours'] });
    expect(await answer(account().lookFor('tm-9', signal))).toMatchObject({ complete: true, shown: [] });
    expect(sink.observations).toHaveLength(4);
  });

  it('is over only when what it showed is committed', async () => {
    const { account, answer, platform, sink, signal, clock } = await live();
    platform.rows.set('account:acct-1', [ours]);
    let commit = () => {};
    sink.settle = () =>
      new Promise((resolve) => {
        commit = resolve;
      });
    let over = false;
    const look = account().lookFor('tm-1', signal);
    void look.then(() => {
      over = true;
    });
    await clock.advance(1_000);
    expect(over).toBe(false);
    commit();
    expect(await answer(look)).toMatchObject({ complete: true });
  });

  it.each([
    ['the list fails', { listError: () => refusal }],
    ['a row cannot be read', { row: unreadable }],
    ['a row is of another account', { row: { ...ours, accountId: 'acct-9' } }],
    ['the lane ends before the commit', { resolve: () => Promise.reject(new Error('the lane ended')) }],
  ])(
    'shows no absence when %s',
    async (_what, {
      listError,
      row,
      resolve,
    }: { listError?: () => typeof refusal; row?: Row; resolve?: () => Promise<void> }) => {
      const { account, answer, platform, sink, signal } = await live();
      platform.listError = listError;
      if (row !== undefined) platform.rows.set('account:acct-1', [row]);
      if (resolve !== undefined) sink.settle = resolve;
      expect(await answer(account().lookFor('tm-1', signal))).toMatchObject({ complete: false });
      expect(await answer(account().lookAtAll(undefined, signal))).toMatchObject({ complete: false });
    },
  );

  it('is answered at once when it is given up, however long the platform takes', async () => {
    const { account, platform, sink, clock, until } = await live();
    const followed = account();
    const { promise: held, resolve: go } = Promise.withResolvers<void>();
    platform.beforeList = () => held;
    platform.beforeGet = () => held;
    platform.rows.set('account:acct-1', [ours]);
    const first = followed.lookAtAll(undefined, new AbortController().signal);
    const cut = new AbortController();
    const looks = [
      followed.lookFor('tm-1', cut.signal),
      followed.lookAt('ord-1', cut.signal),
      followed.lookAtAll({ atMs: 0 }, cut.signal),
    ];
    await clock.advance(100);
    cut.abort();
    expect(await Promise.all(looks)).toMatchObject([{ complete: false }, { complete: false }, { complete: false }]);
    expect(sink.observations).toEqual([]);
    go();
    await clock.advance(100);
    expect(await first).toMatchObject({ complete: true, shown: ['ord-ours'] });
    await until('account', 'live');
  });

  it('shows no absence when it is given up, or the account is no longer followed', async () => {
    const { account, answer, connect } = await live();
    const followed = account();
    expect(await answer(followed.lookFor('tm-1', AbortSignal.abort()))).toMatchObject({ complete: false });
    await answer(connect.end());
    expect(connect.account('account', 'acct-1')).toBeUndefined();
    for (const look of [
      followed.lookFor('tm-1', new AbortController().signal),
      followed.lookAtAll(undefined, new AbortController().signal),
    ])
      expect(await answer(look)).toMatchObject({ complete: false });
  });
});

describe('a look at one order', () => {
  it('shows it, or that there is none', async () => {
    const { account, answer, platform, sink, signal } = await live();
    platform.rows.set('account:acct-1', [ours]);
    expect(await answer(account().lookAt('ord-ours', signal))).toMatchObject({ complete: true, shown: ['ord-ours'] });
    expect(sink.observations.map(({ cause }) => cause)).toEqual(['probe']);
    expect(await answer(account().lookAt('ord-none', signal))).toMatchObject({ complete: true, shown: [] });
  });
});

describe('a look at all', () => {
  it('reads what changed since the last complete read, as a probe', async () => {
    const { account, answer, platform, sink, signal } = await live();
    platform.rows.set('account:acct-1', [ours, another]);
    expect(await answer(account().lookAtAll(undefined, signal))).toMatchObject({
      complete: true,
      certain: true,
      shown: ['ord-ours', 'ord-another'],
    });
    expect(new Set(sink.observations.map(({ cause }) => cause))).toEqual(new Set(['probe']));
  });

  it('reaches back to before what it is to judge, should the last complete read have shown something later', async () => {
    const { account, answer, platform, signal, clock } = await live();
    platform.rows.set('account:acct-1', [{ ...ours, updatedAt: new Date(clock.nowMs()).toISOString() }]);
    await answer(account().lookAtAll(undefined, signal));
    platform.lists.length = 0;
    const markMs = clock.nowMs();
    const atMs = markMs - 3_600_000;
    await answer(account().lookAtAll({ atMs }, signal));
    await answer(account().lookAtAll({ atMs: markMs + 3_600_000 }, signal));
    // Our clock is an hour ahead of the platform's, which made the mark.
    await answer(account().lookAtAll({ atMs: markMs + 3_600_000, agoMs: 600_000 }, signal));
    const [early, late, ago] = platform.lists.map(({ after }) => Date.parse(after ?? ''));
    expect(early).toBe(atMs - 300_000);
    expect(late).toBeLessThanOrEqual(clock.nowMs() - 300_000);
    expect(ago).toBeLessThanOrEqual(markMs - 600_000 - 300_000);
  });

  it('asks after every order that we hold open and it did not show', async () => {
    const { account, answer, platform, registry, signal } = await live();
    registry.open.set('account:acct-1', [
      { orderId: 'ord-silent', status: 'new', sourceVersion: undefined, updatedAt: '2026-11-21T14:00:00Z' },
    ]);
    await answer(account().lookAtAll(undefined, signal));
    expect(platform.gets).toEqual(['ord-silent']);
  });

  it('does not wait for the end of an audit, only for its page', async () => {
    const { account, answer, platform, sink, signal, clock } = await live();
    platform.rows.set(
      'account:acct-1',
      Array.from({ length: 3_000 }, (_, i) => ({ ...accountRow, ordId: `ord-${i}` })),
    );
    // Each page of the audit takes a second to commit, and rests for two.
    sink.settle = () => clock.sleep(1_000);
    await clock.advanceUntil(() => platform.lists.some(({ pageRows }) => pageRows !== undefined), 120_000);
    const askedMs = clock.monotonicMs();
    await answer(account().lookAt('ord-5', signal));
    expect(clock.monotonicMs() - askedMs).toBeLessThan(2_500);
    sink.settle = async () => undefined;
    await clock.advance(30_000);
    expect(sink.observations.filter(({ cause }) => cause === 'snapshot').length).toBeGreaterThanOrEqual(3_000);
  });
});

describe('what is certain of an account', () => {
  it('is less when a row is not, and nothing is when the platform has a gap, until a complete read without one', async () => {
    const { account, answer, platform, signal, clock } = await live();
    const at = (certainty: string): Row => ({ ...predictionRow, version: '5', certainty });
    platform.rows.set('prediction:acct-1', [at('unknown_unacked')]);
    const look = () => answer(account('prediction').lookAtAll(undefined, signal));
    expect(await look()).toMatchObject({ complete: true, certain: false });
    expect(account('prediction').certain).toBe(true);
    platform.rows.set('prediction:acct-1', [at('unknown_gap')]);
    expect(await look()).toMatchObject({ complete: true, certain: false });
    expect(account('prediction').certain).toBe(false);
    platform.rows.set('prediction:acct-1', [at('certain')]);
    await clock.advance(1);
    expect(await look()).toMatchObject({ complete: true, certain: true });
    expect(account('prediction').certain).toBe(true);
  });

  it('is nothing while its store is lost: every look fails, and answers that are under way are not taken', async () => {
    const { account, answer, platform, sink, signal, state, until } = await live();
    const takeReply = account('prediction').expectReply();
    const lost: Row = { ...predictionRow, certainty: 'unknown_store_lost', updatedAt: '2026-01-05T14:29:00Z' };
    platform.listError = () => refusal;
    platform.emit('prediction', 'acct-1', lost, 1n);
    expect([state('prediction'), account('prediction').certain, account('prediction').live]).toEqual([
      'frozen',
      false,
      false,
    ]);
    const offered = sink.observations.length;
    takeReply({ ...predictionRow, version: '7' });
    for (const look of [
      account('prediction').lookFor('tm-1', signal),
      account('prediction').lookAtAll(undefined, signal),
    ])
      expect(await answer(look)).toMatchObject({ complete: false, error: { code: 'STORE_LOST' } });
    expect(sink.observations).toHaveLength(offered);

    platform.listError = undefined;
    platform.rows.set('prediction:acct-1', [{ ...lost, version: '1' }]);
    await until('prediction', 'live');
    takeReply({ ...predictionRow, version: '7' });
    expect(sink.observations.some(({ cause }) => cause === 'reply')).toBe(false);
    account('prediction').expectReply()({ ...predictionRow, version: '8' });
    expect(sink.observations.at(-1)).toMatchObject({ cause: 'reply', sourceEpoch: 1, sourceVersion: 8n });
  });
});
