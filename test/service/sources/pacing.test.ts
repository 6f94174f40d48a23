import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Observation } from '../../../src/domain/observation.ts';
import { createMetrics } from '../../../src/observability/metrics.ts';
import { ByteBudget } from '../../../src/runtime/byte-budget.ts';
import { SilentLossWatch } from '../../../src/service/sources/audit.ts';
import { RowIntake } from '../../../src/service/sources/row-intake.ts';
import type { ListRequest } from '../../../src/venue/order-reads.ts';
import { accountRow, predictionRow, type Row } from '../../../src/venue/platform/fixtures/rows.ts';
import { platformVenue } from '../../../src/venue/platform/platform-venue.ts';
import { connectorsRig, liveConnectors } from '../../support/orders/connectors-rig.ts';
import { storeBehind } from '../../support/orders/reducing-sink.ts';
import { ScriptedSink } from '../../support/orders/scripted-sink.ts';
import { silentLog } from '../../support/runs/silent-log.ts';
import { VirtualClock } from '../../support/runs/virtual-clock.ts';

describe('issue: A limiter that asked for a minute was asked again at once, and never let go.', () => {
  const error = { status: 429, code: 'RATE_LIMITED', message: 'slow down', retryable: true, sent: 'yes' } as const;

  it.each([
    [45_000, 45_000],
    [86_400_000, 60_000],
  ])(
    'an account that gets live is read again after the %i ms that the platform asks for, at most a minute',
    async (retryAfterMs, restMs) => {
      const rig = connectorsRig();
      rig.platform.listError = ({ stream }) => (stream === 'account' ? { ...error, retryAfterMs } : undefined);
      await rig.begin();
      const reads = () => rig.platform.lists.filter(({ stream }) => stream === 'account').length;
      await rig.clock.advanceUntil(() => reads() > 0, 10_000);
      const first = reads();
      await rig.clock.advance(restMs - 1_000);
      expect(reads()).toBe(first);
      await rig.clock.advance(2_000);
      expect(reads()).toBe(first + 1);
      rig.platform.listError = undefined;
      await rig.until('account', 'live', 'acct-1', 400_000);
    },
  );
});

describe('issue: Accounts and single orders were asked for again long before the platform wanted.', () => {
  const error = { status: 429, code: 'RATE_LIMITED', message: 'slow down', retryable: true, sent: 'yes' } as const;
  const asked = [
    [45_000, 45_000],
    [86_400_000, 60_000],
  ];

  it.each(asked)(
    'the list of accounts is read again after the %i ms that the platform asks for, at most a minute',
    async (retryAfterMs, restMs) => {
      const rig = connectorsRig();
      let lists = 0;
      const listAccounts = rig.platform.listAccounts.bind(rig.platform);
      rig.platform.listAccounts = () => {
        lists += 1;
        return listAccounts();
      };
      rig.platform.accountsError = { ...error, retryAfterMs };
      await rig.begin();
      await rig.clock.advance(restMs - 1_000);
      expect(lists).toBe(1);
      rig.platform.accountsError = undefined;
      await rig.clock.advance(2_000);
      expect(lists).toBe(2);
      await rig.until('account', 'live');
    },
  );

  it.each(asked)(
    'a single order is read again after the %i ms that the platform asks for, at most a minute',
    async (retryAfterMs, restMs) => {
      const rig = connectorsRig();
      storeBehind(rig);
      rig.platform.getError = () => ({ ...error, retryAfterMs });
      await rig.begin();
      await rig.until('account', 'live');
      const updatedAt = new Date(rig.clock.nowMs()).toISOString();
      // They contradict themselves, so each is read by its id.
      for (const ordId of ['ord-1', 'ord-2']) {
        const row = {
          ...accountRow,
          ordId,
          clOrdId: ordId,
          ordStatus: 'FILLED',
          cumQty: '90',
          leavesQty: '0',
          avgPrice: '10',
        };
        rig.platform.emit('account', 'acct-1', { ...row, updatedAt });
      }
      await rig.clock.advanceUntil(() => rig.platform.gets.length > 0, 10_000);
      // Those that were under way.
      await rig.clock.advance(1_000);
      const first = rig.platform.gets.length;
      const look = await rig.connectors.account('account', 'acct-1')?.lookAt('ord-3', new AbortController().signal);
      expect(look, 'a command is answered at once').toMatchObject({ complete: false, error: { status: 429 } });
      await rig.clock.advance(restMs - 4_000);
      expect(rig.platform.gets).toHaveLength(first);
      await rig.clock.advance(15_000);
      expect(rig.platform.gets.length).toBeGreaterThan(first);
    },
  );
});

describe('issue: A command in doubt was not looked up while only the requests kept for it were left.', () => {
  it('a look for a command goes out while the other looks wait for the next minute', async () => {
    const rig = connectorsRig();
    storeBehind(rig);
    await rig.begin();
    await rig.until('account', 'live');
    const message = 'not sent: the last 20 are kept';
    const held = { code: 'REQUESTS_USED_UP', message, retryable: true, retryAfterMs: 45_000, sent: 'no' } as const;
    rig.platform.getError = (orderId) => (orderId === 'ord-1' ? held : undefined);
    const contradictory = { ...accountRow, ordId: 'ord-1', ordStatus: 'FILLED', cumQty: '90', leavesQty: '0' };
    const updatedAt = new Date(rig.clock.nowMs()).toISOString();
    rig.platform.emit('account', 'acct-1', { ...contradictory, avgPrice: '10', updatedAt });
    await rig.clock.advanceUntil(() => rig.platform.gets.length > 0, 10_000);
    await rig.clock.advance(1_000);
    const looks = rig.platform.gets.length;
    const asked = rig.connectors.account('account', 'acct-1')?.lookAt('ord-3', new AbortController().signal);
    await rig.clock.advance(1_000);
    expect(await asked).toMatchObject({ complete: true, shown: [] });
    await rig.clock.advance(30_000);
    expect(rig.platform.gets.slice(looks)).toEqual(['ord-3']);
    await rig.clock.advance(30_000);
    expect(rig.platform.gets.slice(looks)).toContain('ord-1');
  });
});

describe('issue: A command had to wait ten minutes for its order while its account was being read whole.', () => {
  /** A live account on which the next list that `isLong` names takes ten minutes. */
  async function duringALongRead(isLong: (request: ListRequest) => boolean) {
    const rig = connectorsRig();
    await rig.connectors.begin();
    onTestFinished(async () => {
      await rig.connectors.end();
    });
    await rig.until('account', 'live');
    let begun = false;
    rig.platform.beforeList = async (request) => {
      if (begun || request.stream !== 'account' || !isLong(request)) return;
      begun = true;
      await rig.clock.sleep(600_000);
    };
    const access = rig.connectors.account('account', 'acct-1');
    if (access === undefined) throw new Error('not followed');
    const waitForIt = () => rig.clock.advanceUntil(() => begun, 120_000);
    const { signal } = new AbortController();
    const secondsUntil = async (done: () => boolean) => {
      const startedMs = rig.clock.monotonicMs();
      await rig.clock.advanceUntil(done, 900_000);
      return (rig.clock.monotonicMs() - startedMs) / 1_000;
    };
    return { ...rig, access, waitForIt, signal, secondsUntil };
  }

  /** Of a live account that nothing else reads, each list is one of an audit. */
  const isAudit = () => true;

  it('asks for the order of a frame that cannot be read while the audit of its account goes on', async () => {
    const { platform, waitForIt, secondsUntil } = await duringALongRead(isAudit);
    await waitForIt();
    platform.gets.length = 0;
    platform.emit('account', 'acct-1', { ...accountRow, qty: 'abc' } as Row);
    expect(await secondsUntil(() => platform.gets.length > 0)).toBeLessThan(1);
  });

  it('answers the looks of commands while the account is read whole for a backfill', async () => {
    const { access, signal, waitForIt, secondsUntil } = await duringALongRead(({ after }) => after !== undefined);
    let filled = false;
    void access.lookAtAll({ atMs: 0 }, signal).then(() => {
      filled = true;
    });
    await waitForIt();
    let answered = 0;
    for (const look of [
      access.lookFor('tm-1', signal),
      access.lookAt('ord-1', signal),
      access.lookAtAll(undefined, signal),
    ])
      void look.then(() => {
        answered += 1;
      });
    expect(await secondsUntil(() => answered === 3)).toBeLessThan(1);
    expect(filled).toBe(false);
  });

  it('makes the account live again while a backfill of it goes on', async () => {
    const { access, signal, waitForIt, secondsUntil, socket, state, until } = await duringALongRead(
      ({ after }) => after !== undefined,
    );
    void access.lookAtAll({ atMs: 0 }, signal);
    await waitForIt();
    socket('account').end({ kind: 'closed', code: 1001, reason: 'restart' });
    await until('account', 'resyncing');
    expect(await secondsUntil(() => state('account') === 'live')).toBeLessThan(1);
  });

  it('looks at one order once at a time: those who ask meanwhile share the next look', async () => {
    const { access, platform, clock, signal } = await duringALongRead(isAudit);
    platform.rows.set('account:acct-1', [accountRow]);
    const { promise: held, resolve: answer } = Promise.withResolvers<void>();
    platform.beforeGet = () => held;
    const looks = [1, 2, 3].map(() => access.lookAt('ord-1', signal));
    await clock.advance(100);
    platform.emit('account', 'acct-1', { ...accountRow, qty: 'abc' } as Row);
    platform.emit('account', 'acct-1', { ...accountRow, qty: 'abc' } as Row);
    await clock.advance(100);
    answer();
    await clock.advance(5_000);
    expect(await Promise.all(looks)).toMatchObject(looks.map(() => ({ complete: true, shown: ['ord-1'] })));
    expect(platform.gets.length).toBeLessThanOrEqual(3);
  });
});

describe('issue: With many accounts, the memory of the service grew without a limit during audits.', () => {
  /** Room for some 320 orders, of all accounts. */
  const maxBytes = 64 * 1024;

  async function manyAccounts(count: number) {
    let most = 0;
    const budget = new ByteBudget({ maxBytes, onUse: (bytes) => (most = Math.max(most, bytes)) });
    const rig = connectorsRig({}, budget);
    const accounts = Array.from({ length: count }, (_, i) => `acct-${i}`);
    rig.platform.accounts = accounts.map((accountId) => ({ accountId, isOpen: true, isSim: true }));
    const start = async () => {
      await rig.connectors.begin();
      onTestFinished(() => rig.connectors.end());
      for (const accountId of accounts) await rig.until('prediction', 'live', accountId);
      for (const accountId of accounts) await rig.until('account', 'live', accountId);
    };
    return { ...rig, budget, accounts, start, most: () => most };
  }

  it('an audit for whose notes there is no room counts as incomplete, gives its memory back and is made again', async () => {
    const rig = await manyAccounts(6);
    const { platform, clock, accounts, account, budget } = rig;
    await rig.start();
    let held: string | undefined;
    platform.beforeList = async ({ stream, accountId }) => {
      if (stream !== 'prediction' || held !== undefined) return;
      held = accountId;
      await clock.sleep(30_000);
    };
    await clock.advanceUntil(() => held !== undefined, 200_000);
    const audited = held ?? '';
    for (let i = 0; i < 2_000; i += 1)
      for (const accountId of accounts)
        platform.emit(
          'prediction',
          accountId,
          { ...predictionRow, accountId, orderId: `${accountId}-${i}` },
          BigInt(i + 1),
        );
    expect(rig.most()).toBeGreaterThan(maxBytes / 2);
    expect(rig.most()).toBeLessThanOrEqual(maxBytes);
    expect(budget.usedBytes).toBe(0);
    expect(await clock.advanceUntil(() => account('prediction', audited)?.lastError !== undefined, 60_000)).toBe(true);
    expect(account('prediction', audited)).toMatchObject({
      state: 'live',
      lastError: expect.stringContaining('TIDEMARK_NOTES_MAX_BYTES'),
    });
    const beforeMs = clock.nowMs();
    const again = () => accounts.every((accountId) => (account('prediction', accountId)?.lastAuditMs ?? 0) > beforeMs);
    expect(await clock.advanceUntil(again, 300_000)).toBe(true);
    await rig.connectors.end();
    expect(budget.usedBytes).toBe(0);
  });

  it('changes that an audit has found and that wait for the stream share the room, and too many leave the audit incomplete', async () => {
    const rig = await manyAccounts(1);
    const { platform, sink, clock, account, budget } = rig;
    await rig.start();
    const show = (count: number) => {
      const row = { ...predictionRow, accountId: 'acct-0' };
      platform.rows.set(
        'prediction:acct-0',
        Array.from({ length: count }, (_, i) => ({ ...row, orderId: `found-${i}` })),
      );
    };
    const audited = () => account('prediction', 'acct-0')?.lastAuditMs ?? 0;
    show(100);
    const firstMs = clock.nowMs();
    expect(await clock.advanceUntil(() => audited() > firstMs, 120_000)).toBe(true);
    expect(budget.usedBytes).toBeGreaterThan(100 * 100);
    await clock.advance(6_000);
    expect(budget.usedBytes).toBe(0);
    show(1_000);
    const errorOf = () => account('prediction', 'acct-0')?.lastError;
    expect(await clock.advanceUntil(() => errorOf() !== undefined, 120_000)).toBe(true);
    expect(errorOf()).toContain('TIDEMARK_NOTES_MAX_BYTES');
    expect(rig.most()).toBeLessThanOrEqual(maxBytes);
    await clock.advance(6_000);
    expect(budget.usedBytes).toBe(0);
    sink.result = () => 'duplicate';
    const secondMs = clock.nowMs();
    expect(await clock.advanceUntil(() => audited() > secondMs, 120_000)).toBe(true);
  });

  it('orders in doubt for which there is no room are met again by later audits until each is right', async () => {
    const rig = await manyAccounts(3);
    const { platform, clock, accounts, budget } = rig;
    const store = storeBehind(rig);
    platform.shows = (row, { after }) =>
      after === undefined || Date.parse(String(row['updatedAt'])) > Date.parse(after);
    const rows = (accountId: string, cumQty: string, ordStatus: string) =>
      Array.from({ length: 200 }, (_, i) => ({
        ...accountRow,
        accountId,
        ordId: `${accountId}-${i}`,
        ordStatus,
        cumQty,
        leavesQty: '0',
        avgPrice: '10',
        updatedAt: new Date(clock.nowMs()).toISOString(),
      }));
    const put = (cumQty: string, ordStatus: string) => {
      for (const accountId of accounts) platform.rows.set(`account:${accountId}`, rows(accountId, cumQty, ordStatus));
    };
    put('100', 'FILLED');
    await rig.start();
    await clock.advance(600_000);
    put('50', 'CANCELED');
    for (const accountId of accounts)
      for (const row of platform.rows.get(`account:${accountId}`) ?? []) platform.emit('account', accountId, row);
    const right = () => [...store.heads.values()].filter(({ order }) => order.cumQty === '50').length;
    expect(await clock.advanceUntil(() => right() === 600, 1_800_000)).toBe(true);
    expect(rig.most()).toBeLessThanOrEqual(maxBytes);
    await clock.advance(10_000);
    expect(budget.usedBytes).toBe(0);
  });

  it('no account is read past its orders in doubt while another one has all of the room', async () => {
    const rig = await manyAccounts(2);
    const { platform, clock } = rig;
    const store = storeBehind(rig);
    platform.shows = (row, { after }) =>
      after === undefined || Date.parse(String(row['updatedAt'])) > Date.parse(after);
    // One that changes all the time: what each list shows of it is newer than any order in doubt.
    const busy = {
      ...{ ...accountRow, accountId: 'acct-1', ordId: 'busy' },
      get updatedAt() {
        return new Date(clock.nowMs()).toISOString();
      },
    };
    const put = (accountId: string, count: number, filled: object) => {
      const updatedAt = new Date(clock.nowMs()).toISOString();
      const row = { ...accountRow, accountId, leavesQty: '0', avgPrice: '10', updatedAt, ...filled };
      const rows = Array.from({ length: count }, (_, i) => ({ ...row, ordId: `${accountId}-${i}` }));
      platform.rows.set(`account:${accountId}`, accountId === 'acct-1' ? [...rows, busy] : rows);
      return rows;
    };
    const both = (filled: object) => [...put('acct-0', 250, filled), ...put('acct-1', 20, filled)];
    both({ ordStatus: 'FILLED', cumQty: '100' });
    await rig.start();
    await clock.advance(600_000);
    platform.getError = (orderId) =>
      orderId.startsWith('acct-0')
        ? { code: 'UNREACHABLE', message: 'no answer', retryable: true, sent: 'maybe' }
        : undefined;
    for (const row of both({ ordStatus: 'CANCELED', cumQty: '50' })) platform.emit('account', row.accountId, row);
    await clock.advance(1_200_000);
    platform.getError = undefined;
    const right = () => [...store.heads.values()].filter(({ order }) => order.cumQty === '50').length;
    expect(right()).toBe(0);
    expect(await clock.advanceUntil(() => right() === 270, 1_800_000)).toBe(true);
  });

  it('orders that the platform has forgotten are remembered as far as there is room, and every read asks for the others', async () => {
    const rig = await manyAccounts(2);
    const { platform, clock, accounts, account } = rig;
    await rig.start();
    const forgotten = Array.from({ length: 300 }, (_, i) => ({
      orderId: `gone-${i}`,
      status: 'new',
      sourceVersion: undefined,
      updatedAt: '2026-01-01T00:00:00Z',
    }));
    for (const accountId of accounts) rig.registry.open.set(`account:${accountId}`, forgotten);
    await clock.advance(1_800_000);
    const shown = accounts.reduce((sum, accountId) => sum + (account('account', accountId)?.absent[0]?.orders ?? 0), 0);
    // Half of the room is for what is held for long.
    expect(shown).toBeGreaterThan(100);
    expect(shown).toBeLessThan(320 / 2 + 40);
    expect(rig.most()).toBeLessThanOrEqual(maxBytes);
    platform.gets.length = 0;
    await clock.advance(130_000);
    expect(platform.gets.length).toBeGreaterThanOrEqual(600 - shown);
  });

  it('frames that wait for a lost store share the room, and the account is read again for those that had none', async () => {
    const rig = await manyAccounts(1);
    const { platform, sink, budget } = rig;
    const row = { ...predictionRow, accountId: 'acct-0' };
    platform.rows.set('prediction:acct-0', [{ ...row, version: '100', updatedAt: '2026-01-05T14:00:00Z' }]);
    await rig.start();
    const lost = { ...row, certainty: 'unknown_store_lost', updatedAt: '2026-01-05T14:29:00Z' };
    platform.emit('prediction', 'acct-0', lost, 1n);
    let flooded = false;
    platform.beforeList = async ({ stream }) => {
      if (stream !== 'prediction' || flooded) return;
      flooded = true;
      const restored = { ...lost, orderId: 'restored-1', certainty: 'certain' };
      for (let i = 1; i <= 900; i += 1) platform.emit('prediction', 'acct-0', restored, BigInt(i));
      expect(budget.usedBytes).toBeGreaterThan(maxBytes / 2);
    };
    const lists = platform.lists.length;
    await rig.until('prediction', 'live', 'acct-0');
    expect(rig.most()).toBeLessThanOrEqual(maxBytes);
    // The trial, the complete list, and one more for what was dropped.
    expect(platform.lists.slice(lists).filter(({ stream }) => stream === 'prediction')).toHaveLength(3);
    const taken = sink.observations.filter(({ cause, sourceEpoch }) => cause === 'stream' && sourceEpoch === 1).length;
    expect(taken).toBeGreaterThan(10);
    expect(taken).toBeLessThan(900);
  });

  it('orders that say that the store is lost share the room of what is held for long', async () => {
    const rig = await manyAccounts(1);
    await rig.start();
    const lost = { ...predictionRow, accountId: 'acct-0', certainty: 'unknown_store_lost' };
    const rows = Array.from({ length: 900 }, (_, i) => ({
      ...{ ...lost, orderId: `lost-${i}` },
      updatedAt: new Date(rig.clock.nowMs()).toISOString(),
      version: String(i + 1),
    }));
    rig.platform.rows.set('prediction:acct-0', rows);
    rig.platform.emit('prediction', 'acct-0', rows[0] ?? lost, 1n);
    await rig.until('prediction', 'live', 'acct-0');
    await rig.clock.advance(10_000);
    expect(rig.budget.usedBytes).toBeGreaterThan(maxBytes / 4);
    expect(rig.most()).toBeLessThanOrEqual(maxBytes / 2);
  });
});

describe('issue: The memory grew by up to 64 MB for each account while the platform sent unreadable rows.', () => {
  it('an account that waits for its audit notes nothing of its stream', async () => {
    const rig = connectorsRig();
    const accounts = ['A', 'B', 'C', 'D'];
    rig.platform.accounts = accounts.map((accountId) => ({ accountId, isOpen: true, isSim: true }));
    await rig.connectors.begin();
    onTestFinished(() => rig.connectors.end());
    for (const accountId of accounts) await rig.until('prediction', 'live', accountId);
    let audited: string | undefined;
    rig.platform.beforeList = async ({ stream, accountId }) => {
      if (stream !== 'prediction' || audited !== undefined) return;
      audited = accountId;
      await rig.clock.sleep(600_000);
    };
    await rig.clock.advance(140_000);

    const watches = new Map<SilentLossWatch, Set<string>>();
    const delivered = SilentLossWatch.prototype.delivered;
    const spy = vi.spyOn(SilentLossWatch.prototype, 'delivered').mockImplementation(function (
      this: SilentLossWatch,
      item: Observation,
    ) {
      watches.set(this, (watches.get(this) ?? new Set()).add(item.view.accountId));
      delivered.call(this, item);
    });
    onTestFinished(() => spy.mockRestore());
    for (let i = 0; i < 400; i += 1) {
      const accountId = accounts[i % accounts.length] ?? '';
      rig.platform.emit('prediction', accountId, { ...predictionRow, accountId, orderId: `o-${i}` }, BigInt(i + 1));
    }
    expect(watches.size).toBe(4);
    const noting = [...watches].filter(([watch]) => watch.notedCount > 0).flatMap(([, seen]) => [...seen]);
    expect(noting).toEqual([audited]);
  });

  it('keeps a few bytes of each unreadable row of a list to know it again, however large it is', () => {
    const clock = new VirtualClock();
    const sink = new ScriptedSink();
    const deps = {
      ...{ venue: platformVenue, sink, clock, metrics: createMetrics().source, log: silentLog },
      ...{ guard: () => false, onDoubt: undefined, onOrder: () => {} },
    };
    const intake = new RowIntake(deps, { stream: 'account', accountId: 'acct-1', sourceEpoch: 0 });
    const take = (ordId: string, note: string) => {
      const row = { ...accountRow, ordId, qty: 'many', note };
      intake.takeRow(row, { cause: 'snapshot', receivedMs: 0, bytes: 70_000, raw: () => JSON.stringify(row) });
    };
    const large = 'x'.repeat(60_000);
    for (let round = 0; round < 3; round += 1) for (let i = 0; i < 500; i += 1) take(`ord-${i}`, large);
    expect(sink.items).toHaveLength(500);
    take('ord-7', `${large}y`);
    expect(sink.items).toHaveLength(501);
    expect(intake.rememberedBytes).toBeLessThan(100_000);
  });
});

describe('issue: A command had to wait five minutes for its order while another account was audited.', () => {
  /** Accounts A and B are live; the audit of A takes five minutes, and that of B waits for it. */
  async function besideAnAuditOfA(stream: 'account' | 'prediction') {
    const rig = connectorsRig();
    rig.platform.accounts = ['A', 'B'].map((accountId) => ({ accountId, isOpen: true, isSim: true }));
    await rig.connectors.begin();
    onTestFinished(async () => {
      await rig.connectors.end();
    });
    for (const accountId of ['A', 'B']) await rig.until(stream, 'live', accountId);
    let begun = false;
    rig.platform.beforeList = async (request) => {
      if (request.accountId !== 'A' || request.stream !== stream) return;
      begun = true;
      await rig.clock.sleep(300_000);
    };
    await rig.clock.advanceUntil(() => begun, 120_000);
    await rig.clock.advance(75_000);
    rig.platform.gets.length = 0;
    return rig;
  }

  async function secondsUntil(rig: Awaited<ReturnType<typeof besideAnAuditOfA>>, done: () => boolean): Promise<number> {
    const startedMs = rig.clock.monotonicMs();
    await rig.clock.advanceUntil(done, 900_000);
    return (rig.clock.monotonicMs() - startedMs) / 1_000;
  }

  it('looks for the order of a command at once', async () => {
    const rig = await besideAnAuditOfA('account');
    const access = rig.connectors.account('account', 'B');
    const { signal } = new AbortController();
    let answered = 0;
    for (const look of [
      access?.lookFor('tm-1', signal),
      access?.lookAt('ord-1', signal),
      access?.lookAtAll(undefined, signal),
    ])
      void look?.then(() => {
        answered += 1;
      });
    expect(await secondsUntil(rig, () => answered === 3)).toBeLessThan(1);
  });

  it('asks at once for the order of a frame that cannot be read', async () => {
    const rig = await besideAnAuditOfA('account');
    rig.platform.emit('account', 'B', { ...accountRow, accountId: 'B', qty: 'abc' } as Row);
    expect(await secondsUntil(rig, () => rig.platform.gets.length > 0)).toBeLessThan(1);
  });

  it('reads an account again at once when the platform reports a gap', async () => {
    const rig = await besideAnAuditOfA('prediction');
    rig.platform.emit('prediction', 'B', { ...predictionRow, accountId: 'B', certainty: 'unknown_gap' }, 5n);
    expect(rig.state('prediction', 'B')).toBe('resyncing');
    expect(await secondsUntil(rig, () => rig.state('prediction', 'B') === 'live')).toBeLessThan(1);
  });
});

describe('issue: A refused account was asked for again at once, and not after an hour.', () => {
  describe('an account that is refused while a newer connection waits for its answer', () => {
    it('rests as long as ever, though that connection ends without one', async () => {
      const rig = connectorsRig({ timings: { notEnrolledMs: 300_000 } });
      await rig.begin();
      await rig.until('prediction', 'live');
      const { platform, clock } = rig;
      platform.subscription = (stream) => (stream === 'prediction' ? 'silent' : 'acknowledge');
      platform.renewToken();
      await clock.advance(100);
      platform.listError = ({ stream }) =>
        stream === 'prediction' ? { status: 403, message: 'no', retryable: false, sent: 'yes' } : undefined;
      platform.emit('prediction', 'acct-1', { ...predictionRow, certainty: 'unknown_gap' }, 200n);
      await rig.until('prediction', 'not_enrolled', 'acct-1', 2_000);
      platform.subscription = () => 'acknowledge';
      platform.listError = undefined;
      await clock.advance(290_000);
      expect(rig.state('prediction')).toBe('not_enrolled');
      await rig.until('prediction', 'live', 'acct-1', 20_000);
    });
  });
});

describe('issue: With 20,000 resting orders, the platform had to send 20,000 rows a minute.', () => {
  const key = 'account:acct-1';
  const minute = 60_000;

  /**
   * An account with orders that rest: its lists show one only where they are asked for all that are
   * open. Every row of an audit is known.
   */
  async function resting(count: number) {
    const rig = await liveConnectors();
    const rows: Row[] = Array.from({ length: count }, (_, i) => ({
      ...accountRow,
      ordId: `rests-${String(i).padStart(5, '0')}`,
    }));
    const stored = () => (rig.platform.rows.get(key) ?? []).map((row) => String(row['ordId']));
    rig.platform.rows.set(key, rows);
    rig.platform.shows = (_, { state }) => state === 'open';
    rig.registry.open.set(
      key,
      stored().map((orderId) => ({
        orderId,
        status: 'new',
        sourceVersion: undefined,
        updatedAt: '2026-01-01T00:00:00Z',
      })),
    );
    rig.sink.result = () => 'duplicate';
    const taken = () => rig.sink.observations.length;
    const audits = () =>
      rig.platform.lists.filter(({ stream, state }) => stream === 'account' && state === 'all').length;
    return { ...rig, rows, taken, audits };
  }

  it('are read by the first audit, and then at growing intervals up to an hour', async () => {
    const { clock, taken, audits } = await resting(200);
    const before = audits();
    await clock.advance(10 * minute);
    expect(audits() - before).toBeGreaterThanOrEqual(8);
    // Read again by each audit they were some 2,000.
    expect(taken()).toBe(600);
    await clock.advance(50 * minute);
    expect(taken()).toBeLessThanOrEqual(1_200);
    const first = taken();
    await clock.advance(3 * 60 * minute);
    expect(taken() - first).toBeGreaterThanOrEqual(400);
    expect(taken() - first).toBeLessThanOrEqual(800);
  });

  it('are not asked for one by one at each audit where they are few', async () => {
    const { clock, platform } = await resting(8);
    await clock.advance(10 * minute);
    expect(platform.gets).toHaveLength(24);
  });

  it('are read by the next audit after a change that the stream has lost', async () => {
    const { clock, taken, platform, sink, audits } = await resting(20);
    await clock.advance(20 * minute);
    const before = audits();
    await clock.advanceUntil(() => audits() > before, 2 * minute);
    await clock.advance(5_000);
    const rested = taken();
    // The one order that the lists of audits show has a change that the stream never brings.
    platform.shows = (row, { state }) => state === 'open' || row['ordId'] === 'rests-00007';
    sink.result = ({ view }) => (view.orderId === 'rests-00007' ? 'applied' : 'duplicate');
    await clock.advanceUntil(() => taken() > rested, 2 * minute);
    expect(taken()).toBe(rested + 1);
    await clock.advance(10_000);
    await clock.advance(80_000);
    expect(taken()).toBeGreaterThanOrEqual(rested + 20);
  });

  it('count as lost changes, and are read again soon, where one of them ended and no list with changes shows it', async () => {
    const { clock, platform, metrics, sink } = await resting(8);
    sink.result = ({ view }) => (view.status === 'canceled' ? 'applied' : 'duplicate');
    const losses = async () => (await metrics.silentLosses.get()).values.reduce((sum, { value }) => sum + value, 0);
    platform.rows.set(
      key,
      (platform.rows.get(key) ?? []).map((row) =>
        row['ordId'] === 'rests-00003' ? { ...row, ordStatus: 'CANCELED' } : row,
      ),
    );
    await clock.advance(80_000);
    expect(platform.gets).toHaveLength(8);
    expect(await losses()).toBe(1);
    await clock.advance(70_000);
    expect(platform.gets).toHaveLength(16);
  });

  it('are read by each audit while a frame of no known order is missing', async () => {
    const { clock, platform, socket } = await resting(8);
    await clock.advance(20 * minute);
    platform.gets.length = 0;
    socket('account').deliver('{"type":"event"');
    await clock.advance(80_000);
    expect(platform.gets.length).toBeGreaterThanOrEqual(8);
  });

  it('are read by the first audit after each reconnect', async () => {
    const { clock, platform, socket, until } = await resting(8);
    await clock.advance(20 * minute);
    socket('account').end({ kind: 'closed', code: 1001, reason: 'restart' });
    await until('account', 'resyncing');
    await until('account', 'live');
    platform.gets.length = 0;
    await clock.advance(80_000);
    expect(platform.gets).toHaveLength(8);
  });
});
