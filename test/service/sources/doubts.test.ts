import { describe, expect, it, onTestFinished } from 'vitest';
import { keysOf } from '../../../src/service/orders/entry.ts';
import { HeadCache } from '../../../src/service/orders/head-cache.ts';
import { noneUnproven, prepareBatch } from '../../../src/service/orders/prepare-batch.ts';
import { accountRow, predictionRow, type Row } from '../../../src/venue/platform/fixtures/rows.ts';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { ReducingSink, storeBehind } from '../../support/orders/reducing-sink.ts';

describe('issue: An order that contradicted itself stayed in conflict: the platform was not asked about it.', () => {
  async function live() {
    const rig = connectorsRig();
    const store = new ReducingSink(rig.clock);
    rig.sink.offer = (item) => store.offer(item);
    await rig.begin();
    await rig.until('account', 'live');
    const row = (ordStatus: string, cumQty: string): Row => {
      const updatedAt = new Date(rig.clock.nowMs()).toISOString();
      return { ...accountRow, ordStatus, cumQty, leavesQty: '0', avgPrice: '10', updatedAt };
    };
    /**
     * The stream brings the rows, a second apart; the lists show
     * nothing and a single read the last one.
     */
    const bring = async (...views: readonly [string, string][]) => {
      for (const view of views) {
        const brought = row(...view);
        rig.platform.rows.set('account:acct-1', [brought]);
        rig.platform.shows = () => false;
        rig.platform.emit('account', 'acct-1', brought);
        await rig.clock.advance(1_000);
      }
    };
    const order = () => store.heads.get('account:ord-1')?.order;
    return { ...rig, bring, order };
  }

  // docs/merging.md, account orders: terminal with cumQty below ours, in conflict, or filled with
  // cumQty other than quantity.
  it('an order that is filled with less than the quantity is read from REST once', async () => {
    const { bring, platform, clock, order } = await live();
    await bring(['FILLED', '90']);
    expect(order()?.conflict).toBeDefined();
    await clock.advance(600_000);
    expect(platform.gets).toEqual(['ord-1']);
  });

  it.each([
    ['EXPIRED', 'CANCELED'],
    ['CANCELED', 'EXPIRED'],
  ])('an order that ended as %s and then as %s has the end that two reads show', async (first, second) => {
    const { bring, platform, clock, order } = await live();
    await bring([first, '0'], [second, '0']);
    expect(order()?.conflict).toBeDefined();
    await clock.advance(600_000);
    expect(platform.gets).toEqual(['ord-1', 'ord-1']);
    expect(order()).toMatchObject({ status: second.toLowerCase() });
    expect(order()?.conflict).toBeUndefined();
  });

  it('an order that ended with less than we hold is read, and what two reads agree on is taken', async () => {
    const { bring, platform, clock, order } = await live();
    await bring(['PARTIALLY_FILLED', '60'], ['CANCELED', '40']);
    await clock.advance(10_000);
    expect(platform.gets).toEqual(['ord-1', 'ord-1']);
    expect(order()).toMatchObject({ status: 'canceled', cumQty: '40' });
    expect(order()?.conflict).toBeUndefined();
  });

  it('leaves alone an order that agrees with itself', async () => {
    const { bring, platform, clock } = await live();
    await bring(['PARTIALLY_FILLED', '60'], ['FILLED', '100'], ['FILLED', '100']);
    await clock.advance(60_000);
    expect(platform.gets).toEqual([]);
  });
});

describe('issue: One order that could not be read by its id held back the marks of its account for ever.', () => {
  it.each([
    ['a refusal for good ends the question', false],
    ['one that may pass keeps it open', true],
  ])('%s', async (_what, retryable) => {
    const rig = connectorsRig();
    storeBehind(rig);
    rig.platform.getError = () => ({ status: 405, message: 'no such method', retryable, sent: 'yes' });
    await rig.begin();
    await rig.until('account', 'live');
    const updatedAt = new Date(rig.clock.nowMs()).toISOString();
    // It contradicts itself, so it is read by its id.
    const row = { ...accountRow, ordStatus: 'FILLED', cumQty: '90', leavesQty: '0', avgPrice: '10', updatedAt };
    rig.platform.emit('account', 'acct-1', row);
    await rig.clock.advance(600_000);
    const asked = rig.platform.gets.length;
    expect(asked).toBeGreaterThan(1);
    await rig.clock.advance(60_000);
    expect(rig.platform.gets.length > asked).toBe(retryable);
    await rig.connectors.end();
  });
});

describe('issue: A read that could not replace an unreadable state was confirmed, and asked for again, for ever.', () => {
  /** Rows are reduced as ingest does it, and are stored some milliseconds later. */
  async function damaged(stream: 'account' | 'prediction', of: { accountId: string; sourceVersion?: bigint }) {
    const rig = connectorsRig();
    const id = stream === 'account' ? accountRow['ordId'] : predictionRow['orderId'];
    const unreadable = new Map([[`${stream}:${id}`, { fault: 'it is nowhere', revision: 3, ...of }]]);
    const rest = { generation: 1, lane: 0, number: 1n, unproven: noneUnproven(0n), bindings: new Map(), unreadable };
    const deadLetters: string[] = [];
    rig.sink.settle = () => rig.clock.sleep(10);
    rig.sink.offer = (item) => {
      const prepared = prepareBatch([item], new HeadCache(10), { keys: keysOf([item]), ...rest });
      void rig.clock.sleep(5).then(() => {
        deadLetters.push(...prepared.deadLetters.map(({ reason }) => reason));
        for (const { observation, raised } of prepared.doubts) observation.onDoubt?.(observation, ...raised);
      });
    };
    await rig.begin();
    await rig.until(stream, 'live');
    return { ...rig, deadLetters };
  }

  it.each([
    ['another account holds the id', 'account', { accountId: 'another' }, 'identity_changed'],
    ['its version is below', 'prediction', { accountId: 'acct-1', sourceVersion: 9n }, 'state_unreadable'],
  ] as const)('where %s, few reads are made and few dead letters kept', async (_, stream, of, reason) => {
    const { platform, clock, deadLetters, connectors } = await damaged(stream, of);
    const updatedAt = new Date(clock.nowMs()).toISOString();
    const row: Row = { ...(stream === 'account' ? accountRow : { ...predictionRow, version: '5' }), updatedAt };
    platform.rows.set(`${stream}:acct-1`, [row]);
    platform.shows = () => false;
    platform.emit(stream, 'acct-1', row, stream === 'account' ? undefined : 5n);
    await clock.advance(600_000);
    // At intervals that grow, for as long as it is missing in the log.
    expect(platform.gets.length).toBeLessThan(15);
    expect(deadLetters).toHaveLength(platform.gets.length + 1);
    expect(deadLetters).toContain(reason);
    await connectors.end();
    await clock.advance(10);
  });
});

describe('issue: Orders of the next day came under ids of the day before, and stayed mixed up with those.', () => {
  type Stream = 'account' | 'prediction';
  const idOf = { account: 'ordId', prediction: 'orderId' } as const;
  const referenceOf = { account: 'clOrdId', prediction: 'clientOrderRef' } as const;
  const rows = { account: accountRow, prediction: predictionRow } as const;
  const ends = {
    account: { ordStatus: 'FILLED', cumQty: '100', leavesQty: '0', avgPrice: '190' },
    prediction: { state: 'filled', cumQty: '10', leavesQty: '0', avgPx: '0.40' },
  } as const;

  async function followed(stream: Stream) {
    const rig = connectorsRig();
    const store = storeBehind(rig);
    await rig.begin();
    await rig.until(stream, 'live');
    const now = () => new Date(rig.clock.nowMs()).toISOString();
    const row = (of: Row): Row => ({ ...rows[stream], createdAt: now(), updatedAt: now(), ...of });
    let version = 40n;
    const shows = (...shown: Row[]) => {
      rig.platform.rows.set(
        `${stream}:acct-1`,
        shown.map((each) => (stream === 'prediction' ? { ...each, version: String(version) } : each)),
      );
    };
    const emits = (of: Row) => rig.platform.emit(stream, 'acct-1', of, stream === 'prediction' ? version : undefined);
    const order = (id: string) => store.heads.get(`${stream}:${id}`)?.order;
    return { ...rig, store, row, shows, emits, order, setVersion: (to: bigint) => (version = to) };
  }

  describe.each(['account', 'prediction'] as const)('an id of the %s stream', (stream) => {
    const [id, reference] = [idOf[stream], referenceOf[stream]];

    it('given to another order: two reads decide, whichever saw it first, and later events are of that one', async () => {
      const { clock, row, shows, emits, order, setVersion, store, connectors } = await followed(stream);
      const old = row({ [id]: rows[stream][id], [reference]: 'old', ...ends[stream] });
      shows(old);
      emits(old);
      await clock.advance(60_000);
      setVersion(1n);
      const next = row({ [reference]: 'new' });
      const name = String(next[id]);
      shows(next);
      emits(next);
      await clock.advance(500);
      expect(order(name)).toMatchObject({ status: 'filled', [reference]: 'old' });
      await clock.advance(10_000);
      expect(order(name)).toMatchObject({ status: 'new', [reference]: 'new', cumQty: '0', incarnation: 2 });
      setVersion(2n);
      const later = { ...next, ...ends[stream], updatedAt: new Date(clock.nowMs()).toISOString() };
      shows(later);
      emits(later);
      await clock.advance(1_000);
      expect(order(name)).toMatchObject({ status: 'filled', incarnation: 2 });
      expect(store.conflicts).toEqual([]);
      await connectors.end();
    });

    it('is nobody’s before the acknowledgement, where all orders are shown under one', async () => {
      const { clock, row, emits, order, store, connectors } = await followed(stream);
      const pending = stream === 'account' ? { ordStatus: 'PENDING_NEW' } : { state: 'pending_new' };
      for (const temporary of ['0', '', 'pending', 'PENDING', 'null', '000', '-'])
        for (const name of ['a', 'b']) emits(row({ ...pending, [id]: temporary, [reference]: name }));
      await clock.advance(1_000);
      expect([...store.heads.keys()]).toEqual([]);
      expect(store.unreadable).toEqual([]);
      emits(row({ [id]: 'real-1', [reference]: 'a' }));
      // A platform may count its orders from 0.
      emits(row({ [id]: '0', [reference]: 'b' }));
      await clock.advance(1_000);
      expect(order('real-1')).toMatchObject({ status: 'new', [reference]: 'a' });
      expect(order('0')).toMatchObject({ status: 'new', [reference]: 'b' });
      await connectors.end();
    });
  });

  describe('one id', () => {
    it('on both streams is two orders', async () => {
      const { clock, platform, store, until, row, connectors } = await followed('account');
      await until('prediction', 'live');
      platform.emit('account', 'acct-1', row({ ordId: 'same' }));
      platform.emit('prediction', 'acct-1', { ...predictionRow, orderId: 'same' }, 1n);
      await clock.advance(1_000);
      expect(store.heads.get('account:same')?.order).toMatchObject({ stream: 'account', quantity: '100' });
      expect(store.heads.get('prediction:same')?.order).toMatchObject({ stream: 'prediction', quantity: '10' });
      await connectors.end();
    });
  });
});

describe('issue: An order that was filled while we were away stayed open for ever, and nothing said so.', () => {
  const filled = { state: 'filled', cumQty: '10', leavesQty: '0', avgPrice: '0.40' };

  /** A platform whose rows of REST have no version, and whose stream has brought version 5. */
  async function followed() {
    const rig = connectorsRig();
    const store = storeBehind(rig);
    await rig.begin();
    await rig.until('prediction', 'live');
    const now = () => new Date(rig.clock.nowMs()).toISOString();
    const shows = (row: Row) => rig.platform.rows.set('prediction:acct-1', [row]);
    const first = { ...predictionRow, updatedAt: now() };
    shows(first);
    rig.platform.emit('prediction', 'acct-1', first, 5n);
    await rig.clock.advance(1_000);
    const order = () => store.heads.get(`prediction:${predictionRow['orderId']}`)?.order;
    return { ...rig, store, now, shows, first, order };
  }

  describe('an order whose last event the stream has lost, with rows that have no version', () => {
    it('goes to a person once two reads behind any lag agree, and stays as it is', async () => {
      const { shows, first, now, clock, store, order, connectors } = await followed();
      shows({ ...first, ...filled, updatedAt: now() });
      await clock.advance(400_000);
      expect(store.conflicts).toHaveLength(1);
      expect(store.conflicts[0]).toMatch(/the platform shows .*status "filled".* no version above 5/);
      expect(order()).toMatchObject({ status: 'new', cumQty: '0' });
      await connectors.end();
    });

    it('is no matter for a person where the stream brings the version after all', async () => {
      const { shows, first, now, clock, store, order, platform, connectors } = await followed();
      const last = { ...first, ...filled, updatedAt: now() };
      shows(last);
      await clock.advance(40_000);
      platform.emit('prediction', 'acct-1', last, 6n);
      await clock.advance(400_000);
      expect(store.conflicts).toEqual([]);
      expect(order()).toMatchObject({ status: 'filled', cumQty: '10' });
      await connectors.end();
    });

    it('is none where only the instant is newer', async () => {
      const { shows, first, now, clock, store, platform, connectors } = await followed();
      shows({ ...first, updatedAt: now() });
      await clock.advance(400_000);
      expect(store.conflicts).toEqual([]);
      expect(platform.gets).toEqual([]);
      await connectors.end();
    });
  });
});

describe('issue: The service asked 87,000 times for orders that the platform had lost, and showed none.', () => {
  const gone = (count: number) =>
    Array.from({ length: count }, (_, i) => ({
      orderId: `gone-${String(i).padStart(5, '0')}`,
      status: 'new',
      sourceVersion: undefined,
      updatedAt: '2026-01-01T00:00:00Z',
    }));

  async function holding(count: number) {
    const rig = connectorsRig();
    await rig.begin();
    await rig.until('account', 'live');
    rig.registry.open.set('account:acct-1', gone(count));
    rig.platform.gets.length = 0;
    return rig;
  }

  it('are asked for at growing intervals, and shown after a quarter of an hour', async () => {
    const { platform, clock, account, state } = await holding(3_000);
    await clock.advance(5 * 60_000);
    expect(account('account', 'acct-1')?.absent).toEqual([]);
    await clock.advance(25 * 60_000);
    // At about 1, 2, 4, 8 and 16 minutes: it were 87,000 requests.
    expect(platform.gets.length).toBe(15_000);
    expect(account('account', 'acct-1')?.absent).toMatchObject([{ cause: 'forgotten', orders: 3_000 }]);
    expect(account('account', 'acct-1')?.absent[0]?.orderIds).toHaveLength(20);
    expect(state('account')).toBe('live');
  });

  it('are not asked for again by each reconnect', async () => {
    const { platform, clock, socket, until } = await holding(100);
    await clock.advance(90_000);
    expect(platform.gets.length).toBeGreaterThanOrEqual(100);
    platform.gets.length = 0;
    for (let i = 0; i < 5; i += 1) {
      socket('account').end({ kind: 'closed', code: 1001, reason: 'restart' });
      await until('account', 'resyncing');
      await until('account', 'live');
    }
    expect(platform.gets.length).toBeLessThanOrEqual(100);
  });

  it('are orders like any other as soon as they are seen again', async () => {
    const { platform, clock, account } = await holding(2);
    await clock.advance(1_800_000);
    platform.emit('account', 'acct-1', { ...accountRow, ordId: 'gone-00000' });
    expect(account('account', 'acct-1')?.absent).toEqual([{ cause: 'forgotten', orders: 1, orderIds: ['gone-00001'] }]);
    platform.rows.set('account:acct-1', [{ ...accountRow, ordId: 'gone-00001' }]);
    await clock.advance(80_000);
    expect(account('account', 'acct-1')?.absent).toEqual([]);
  });

  it('are shown at once where the platform lost its store', async () => {
    const rig = connectorsRig();
    await rig.connectors.begin();
    onTestFinished(() => rig.connectors.end());
    await rig.until('prediction', 'live');
    rig.registry.open.set('prediction:acct-1', gone(2));
    const lost = {
      ...predictionRow,
      certainty: 'unknown_store_lost',
      updatedAt: new Date(rig.clock.nowMs()).toISOString(),
    };
    rig.platform.rows.set('prediction:acct-1', [{ ...lost, version: '1' }]);
    rig.platform.emit('prediction', 'acct-1', lost, 1n);
    expect(rig.state('prediction')).toBe('frozen');
    await rig.until('prediction', 'live');
    expect(rig.account('prediction', 'acct-1')?.absent).toEqual([
      { cause: 'store_lost', orders: 2, orderIds: ['gone-00000', 'gone-00001'] },
    ]);
  });
});
