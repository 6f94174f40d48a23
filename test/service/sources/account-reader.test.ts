import { describe, expect, it, onTestFinished } from 'vitest';
import type { ObservationResult } from '../../../src/domain/observation.ts';
import { accountRow, predictionRow, type Row } from '../../../src/venue/platform/fixtures/rows.ts';
import { connectorsRig, liveConnectors } from '../../support/orders/connectors-rig.ts';

async function live() {
  const rig = await liveConnectors();
  rig.platform.lists.length = 0;
  return rig;
}

type Rig = Awaited<ReturnType<typeof live>>;

const silentLosses = async (rig: Rig) => {
  const { values } = await rig.metrics.silentLosses.get();
  return values.find(({ labels }) => labels.source === 'account')?.value ?? 0;
};

/** Silent losses so far, and the findings of the last audit. */
const audit = (rig: Rig) => {
  const [account] = rig.connectors.status().find(({ stream }) => stream === 'account')?.accounts ?? [];
  return [account?.silentLosses.events, account?.lastAuditFound];
};

/** Every observation of an audit is `result`; the stream's own are applied. */
function audited(rig: Rig, result: ObservationResult): void {
  rig.sink.result = ({ cause }) => (cause === 'stream' ? 'applied' : result);
}

const later: Row = { ...accountRow, updatedAt: '2026-11-21T15:00:00Z' };

describe('the audit', () => {
  it('reads each account about once a minute', async () => {
    const rig = await live();
    await rig.clock.advance(601_000);
    const reads = rig.platform.lists.filter(({ stream }) => stream === 'account');
    expect(reads.length).toBeGreaterThanOrEqual(8);
    expect(reads.length).toBeLessThanOrEqual(12);
    for (const { after } of reads) expect(after).toBeDefined();
  });

  it('reads from five minutes before the last audit, however many shorter reads made the account live since', async () => {
    const rig = connectorsRig();
    const show = (updatedAt: string) => rig.platform.rows.set('account:acct-1', [{ ...accountRow, updatedAt }]);
    const marks = () => {
      const { readUpTo, auditedUpTo } = rig.registry.get('account', 'acct-1') ?? {};
      return [readUpTo, auditedUpTo];
    };
    const first = '2026-01-05T14:10:00Z';
    const second = '2026-01-05T14:20:00Z';
    show(first);
    await rig.begin();
    await rig.until('account', 'live');
    expect(marks()).toEqual([first, first]);
    show(second);
    rig.socket('account').end({ kind: 'closed', code: 1006, reason: '' });
    rig.platform.lists.length = 0;
    await rig.until('account', 'live');
    const since = () => rig.platform.lists.filter(({ stream }) => stream === 'account').map(({ after }) => after);
    expect(since()).toEqual(['2026-01-05T14:09:30.000Z']);
    expect(marks()).toEqual([second, first]);
    await rig.clock.advanceUntil(() => since().length === 2, 80_000);
    expect(since()[1]).toBe('2026-01-05T14:05:00.000Z');
    await rig.clock.advance(1_000);
    expect(marks()).toEqual([second, second]);
  });

  it('counts a change as lost when the stream has not delivered it 5 s later', async () => {
    const rig = await live();
    audited(rig, 'applied');
    rig.platform.rows.set('account:acct-1', [later]);
    await rig.clock.advanceUntil(() => rig.sink.observations.length > 0, 80_000);
    await rig.clock.advance(4_900);
    expect(await silentLosses(rig)).toBe(0);
    expect(audit(rig)).toEqual([0, { orders: 1, changes: 1, silentLosses: 0 }]);
    await rig.clock.advance(200);
    expect(await silentLosses(rig)).toBe(1);
    const losses = (['account', 'prediction'] as const).map((stream) => rig.account(stream, 'acct-1')?.silentLosses);
    expect(losses).toEqual([{ events: 1, firstMs: expect.any(Number) }, { events: 0 }]);
    expect(audit(rig)).toEqual([1, { orders: 1, changes: 1, silentLosses: 1 }]);
    audited(rig, 'duplicate');
    await rig.clock.advance(80_000);
    expect(audit(rig), 'the next audit found nothing new').toEqual([1, { orders: 1, changes: 0, silentLosses: 0 }]);
  });

  it('counts nothing when the stream delivers it within 5 s, or delivered it while the audit ran', async () => {
    const after = await live();
    audited(after, 'applied');
    after.platform.rows.set('account:acct-1', [later]);
    await after.clock.advanceUntil(() => after.sink.observations.length > 0, 80_000);
    await after.clock.advance(3_000);
    after.platform.emit('account', 'acct-1', later);
    after.sink.result = () => 'duplicate';
    await after.clock.advance(10_000);
    expect(await silentLosses(after)).toBe(0);

    const during = await live();
    audited(during, 'applied');
    during.platform.rows.set('account:acct-1', [later]);
    during.platform.beforeList = async () => {
      during.platform.emit('account', 'acct-1', later);
      during.sink.result = () => 'duplicate';
      during.platform.beforeList = undefined;
    };
    await during.clock.advance(80_000);
    expect(await silentLosses(during)).toBe(0);
  });

  it('does not count what the resynchronisation finds: that was known to be missing', async () => {
    const rig = connectorsRig();
    rig.platform.rows.set('account:acct-1', [later]);
    await rig.connectors.begin();
    onTestFinished(() => rig.connectors.end());
    await rig.until('account', 'live');
    await rig.clock.advance(10_000);
    expect((await rig.metrics.silentLosses.get()).values.reduce((sum, { value }) => sum + value, 0)).toBe(0);
  });

  it('keeps an unreadable row once, however often it meets it', async () => {
    const rig = await live();
    rig.platform.rows.set('account:acct-1', [{ ...accountRow, qty: 'many' }, accountRow]);
    await rig.clock.advance(600_000);
    expect(rig.sink.items.filter(({ kind }) => kind === 'unreadable')).toHaveLength(1);
    expect(rig.sink.observations.length).toBeGreaterThan(5);
  });

  it('fails without ending anything when the list is incomplete', async () => {
    const rig = await live();
    rig.platform.listError = () => ({ status: 502, message: 'bad gateway', retryable: true, sent: 'yes' });
    await rig.clock.advance(200_000);
    expect(rig.state('account')).toBe('live');
    expect(rig.account('account', 'acct-1')?.lastError).toBe('audit: bad gateway');
  });

  it('never remembers a row from the future further ahead than the shortest read looks back', async () => {
    const rig = await live();
    rig.platform.rows.set('account:acct-1', [{ ...accountRow, updatedAt: '2099-01-01T00:00:00Z' }]);
    await rig.clock.advance(80_000);
    const { readUpTo = '', auditedUpTo } = rig.registry.get('account', 'acct-1') ?? {};
    expect(Date.parse(readUpTo)).toBeLessThanOrEqual(rig.clock.nowMs() + 30_000);
    expect(auditedUpTo).toBe(readUpTo);
  });
});

describe('orders that we hold open and that a read does not show', () => {
  const hold = (rig: Rig, orderIds: readonly string[]) =>
    rig.registry.open.set(
      'account:acct-1',
      orderIds.map((orderId) => ({
        orderId,
        status: 'new',
        sourceVersion: undefined,
        updatedAt: '2026-01-01T00:00:00Z',
      })),
    );

  it('are asked for one by one, so that a lost terminal frame is found', async () => {
    const rig = await live();
    rig.platform.rows.set('account:acct-1', [{ ...accountRow, ordStatus: 'CANCELED' }]);
    rig.platform.shows = () => false;
    hold(rig, ['ord-1', 'ord-gone']);
    await rig.clock.advance(75_000);
    expect(rig.platform.gets.slice(0, 2)).toEqual(['ord-1', 'ord-gone']);
    expect(rig.sink.observations[0]?.view).toMatchObject({ orderId: 'ord-1', status: 'canceled' });
    expect(rig.state('account')).toBe('live');
  });

  it('are looked for in the list of open orders first when they are many', async () => {
    const rig = await live();
    const ids = Array.from({ length: 700 }, (_, i) => `ord-${String(i).padStart(4, '0')}`);
    rig.platform.rows.set(
      'account:acct-1',
      ids.map((ordId) => ({ ...accountRow, ordId })),
    );
    rig.platform.shows = (row, { state }) => state === 'open' && row['ordId'] !== 'ord-0500';
    hold(rig, ids);
    await rig.clock.advance(75_000);
    expect(rig.platform.gets).toEqual(['ord-0500']);
    expect(rig.platform.lists.some(({ stream, state }) => stream === 'account' && state === 'open')).toBe(true);
  });

  it.each([
    [8, 'one by one'],
    [9, 'by a list'],
  ])('are asked for so that the read is short: %i %s', async (count, how) => {
    const rig = await live();
    const ids = Array.from({ length: count }, (_, i) => `ord-${i}`);
    rig.platform.rows.set(
      'account:acct-1',
      ids.map((ordId) => ({ ...accountRow, ordId })),
    );
    rig.platform.shows = (_row, { state }) => state === 'open';
    hold(rig, ids);
    await rig.clock.advance(75_000);
    expect(rig.platform.gets).toEqual(how === 'by a list' ? [] : ids);
  });

  it('do not move the mark of the read when a list of them is newer than its own', async () => {
    const rig = await live();
    const ids = Array.from({ length: 9 }, (_, i) => `ord-${i}`);
    const read = '2026-01-05T14:10:00Z';
    rig.platform.rows.set('account:acct-1', [
      { ...accountRow, ordId: 'ord-read', updatedAt: read },
      ...ids.map((ordId) => ({ ...accountRow, ordId, updatedAt: '2026-01-05T14:20:00Z' })),
    ]);
    rig.platform.shows = ({ ordId }, { state }) => (ordId === 'ord-read') === (state === 'all');
    hold(rig, ids);
    await rig.clock.advance(75_000);
    expect(rig.platform.lists.some(({ stream, state }) => stream === 'account' && state === 'open')).toBe(true);
    expect(rig.registry.get('account', 'acct-1')).toMatchObject({ readUpTo: read, auditedUpTo: read });
  });

  it('are not asked for when the read showed them', async () => {
    const rig = await live();
    rig.platform.rows.set('account:acct-1', [accountRow]);
    hold(rig, ['ord-1']);
    await rig.clock.advance(75_000);
    expect(rig.platform.gets).toEqual([]);
  });
});

describe('a correction', () => {
  const busted: Row = { ...accountRow, ordStatus: 'PARTIALLY_FILLED', cumQty: '40', updatedAt: '2026-11-21T16:00:00Z' };
  const confirmed = (rig: Rig) => rig.sink.observations.filter(({ overrules }) => overrules !== undefined);

  it('is offered when a row that takes fills back is confirmed by two reads that agree', async () => {
    const rig = await live();
    rig.sink.doubt = () => 'contradicted';
    rig.platform.rows.set('account:acct-1', [busted]);
    await rig.clock.advanceUntil(() => confirmed(rig).length > 0, 90_000);
    expect(confirmed(rig).map(({ view }) => view.cumQty)).toEqual(['40']);
    expect(rig.platform.gets).toEqual(['ord-1', 'ord-1']);
  });

  it('is not offered when the two reads differ, and then looked for again', async () => {
    const rig = await live();
    rig.sink.doubt = () => 'contradicted';
    rig.platform.rows.set('account:acct-1', [busted]);
    await rig.clock.advanceUntil(() => rig.platform.gets.length === 1, 90_000);
    await rig.clock.advance(10);
    rig.platform.rows.set('account:acct-1', [{ ...busted, cumQty: '50', updatedAt: '2026-11-21T16:00:01Z' }]);
    await rig.clock.advance(5_000);
    expect(confirmed(rig)).toEqual([]);
    await rig.clock.advance(5_000);
    expect(confirmed(rig).map(({ view }) => view.cumQty)).toEqual(['50']);
  });

  it('is not offered when the first read takes nothing back', async () => {
    const rig = await live();
    rig.sink.doubt = ({ cause }) => (cause === 'stream' ? 'contradicted' : undefined);
    rig.platform.rows.set('account:acct-1', [busted]);
    rig.platform.emit('account', 'acct-1', busted);
    await rig.clock.advance(300_000);
    expect(rig.platform.gets).toEqual(['ord-1']);
    expect(confirmed(rig)).toEqual([]);
  });

  it('is a matter of account orders: prediction orders have versions', async () => {
    const rig = await live();
    audited(rig, 'stale');
    rig.platform.rows.set('prediction:acct-1', [{ ...predictionRow, version: '5' }]);
    await rig.clock.advance(300_000);
    expect(rig.platform.gets).toEqual([]);
  });
});
