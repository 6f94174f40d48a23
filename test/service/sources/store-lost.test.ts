import { describe, expect, it, onTestFinished } from 'vitest';
import type { ListRequest } from '../../../src/venue/order-reads.ts';
import { eventText, predictionRow, type Row } from '../../../src/venue/platform/fixtures/rows.ts';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';

const lost: Row = { ...predictionRow, certainty: 'unknown_store_lost', updatedAt: '2026-01-05T14:29:00Z' };
const restored: Row = { ...lost, orderId: 'restored-1', certainty: 'certain' };

async function live() {
  const rig = connectorsRig();
  rig.platform.rows.set('prediction:acct-1', [{ ...predictionRow, version: '100', updatedAt: '2026-01-05T14:00:00Z' }]);
  await rig.begin();
  await rig.until('prediction', 'live');
  await rig.until('account', 'live');
  return rig;
}

describe('a lost store', () => {
  it('freezes the account, reads the whole list on a new connection, and goes on in the next source epoch', async () => {
    const rig = await live();
    const before = rig.socket('prediction');
    rig.platform.rows.set('prediction:acct-1', [
      { ...lost, version: '1' },
      { ...restored, version: '2' },
    ]);
    const offered = rig.sink.observations.length;
    rig.platform.emit('prediction', 'acct-1', lost, 1n);
    expect(rig.state('prediction')).toBe('frozen');
    expect(rig.sink.observations).toHaveLength(offered);
    await rig.until('prediction', 'live');
    expect(before.state).toBe('ended');
    const after = rig.sink.observations.slice(offered);
    expect(after.map(({ sourceEpoch, sourceVersion, view }) => [sourceEpoch, sourceVersion, view.orderId])).toEqual([
      [1, 1n, predictionRow['orderId']],
      [1, 2n, 'restored-1'],
    ]);
    expect(rig.registry.get('prediction', 'acct-1')?.sourceEpoch).toBe(1);
  });

  it('makes the next epoch durable before a row is given it', async () => {
    const rig = await live();
    rig.platform.emit('prediction', 'acct-1', lost, 1n);
    await rig.clock.advanceUntil(() => rig.sink.observations.some(({ sourceEpoch }) => sourceEpoch === 1), 60_000);
    expect(rig.registry.saves.some(({ sourceEpoch, readUpTo }) => sourceEpoch === 1 && readUpTo === undefined)).toBe(
      true,
    );
  });

  it('has its epoch before the list can be read, so that a process which ends meanwhile leaves it to the next one', async () => {
    const rig = await live();
    rig.platform.listError = () => ({ status: 503, message: 'restoring', retryable: true, sent: 'yes' });
    rig.platform.emit('prediction', 'acct-1', lost, 1n);
    await rig.clock.advance(120_000);
    expect([rig.state('prediction'), rig.registry.get('prediction', 'acct-1')?.sourceEpoch]).toEqual(['frozen', 1]);
    await rig.connectors.end();
    rig.platform.listError = undefined;
    rig.platform.rows.set('prediction:acct-1', [{ ...restored, version: '3' }]);
    await rig.connectors.begin();
    await rig.until('prediction', 'live');
    expect(rig.sink.observations.at(-1)).toMatchObject({ sourceEpoch: 1, sourceVersion: 3n });
  });

  it('lets frames of the new connection wait, and drops those of the old one', async () => {
    const rig = await live();
    const frame = (version: bigint) =>
      rig.platform.emit('prediction', 'acct-1', { ...restored, updatedAt: '2026-01-05T14:29:30Z' }, version);
    const offered = rig.sink.observations.length;
    rig.platform.rows.set('prediction:acct-1', []);
    rig.platform.emit('prediction', 'acct-1', lost, 1n);
    frame(900n);
    let during = false;
    rig.platform.beforeList = async ({ stream }) => {
      if (stream !== 'prediction' || during) return;
      during = true;
      frame(3n);
    };
    await rig.until('prediction', 'live');
    const after = rig.sink.observations.slice(offered);
    expect(after.map(({ sourceEpoch, sourceVersion }) => [sourceEpoch, sourceVersion])).toEqual([[1, 3n]]);
  });

  it('is dealt with once, though orders go on saying so', async () => {
    const rig = await live();
    rig.platform.rows.set('prediction:acct-1', [{ ...lost, version: '1' }]);
    rig.platform.emit('prediction', 'acct-1', lost, 1n);
    await rig.until('prediction', 'live');
    rig.platform.emit('prediction', 'acct-1', lost, 2n);
    await rig.clock.advance(600_000);
    expect(rig.state('prediction')).toBe('live');
    expect(rig.registry.get('prediction', 'acct-1')?.sourceEpoch).toBe(1);
    await rig.connectors.end();
    await rig.connectors.begin();
    await rig.until('prediction', 'live');
    await rig.clock.advance(600_000);
    expect(rig.registry.get('prediction', 'acct-1')?.sourceEpoch).toBe(1);
  });

  it('is dealt with on a first start too: part of the old store may be here already, from before a crash', async () => {
    const rig = connectorsRig();
    rig.platform.rows.set('prediction:acct-1', [{ ...lost, version: '1' }]);
    await rig.connectors.begin();
    onTestFinished(() => rig.connectors.end());
    await rig.until('prediction', 'live');
    expect(rig.registry.get('prediction', 'acct-1')?.sourceEpoch).toBe(1);
    expect(rig.sink.observations.at(-1)?.sourceEpoch).toBe(1);
  });

  it('reads again when more frames came than may wait', async () => {
    const rig = await live();
    rig.platform.emit('prediction', 'acct-1', lost, 1n);
    let flooded = false;
    rig.platform.beforeList = async ({ stream }) => {
      if (stream !== 'prediction' || flooded) return;
      flooded = true;
      for (let i = 1; i <= 1_500; i += 1) rig.platform.emit('prediction', 'acct-1', restored, BigInt(i));
    };
    const lists = rig.platform.lists.length;
    await rig.until('prediction', 'live');
    const reads = rig.platform.lists.slice(lists).filter(({ stream }) => stream === 'prediction');
    // The trial, the complete list, and one more for what was dropped.
    expect(reads).toHaveLength(3);
    expect(
      rig.sink.observations.filter(({ cause, sourceEpoch }) => cause === 'stream' && sourceEpoch === 1),
    ).toHaveLength(1_000);
  });
});

describe('a store that was lost for several accounts', () => {
  it('is met by one new connection, however late each of them notices', async () => {
    const rig = connectorsRig();
    rig.platform.accounts.push({ accountId: 'acct-2', isOpen: true, isSim: true });
    for (const accountId of ['acct-1', 'acct-2']) {
      rig.platform.rows.set(`prediction:${accountId}`, [
        { ...predictionRow, accountId, version: '100', updatedAt: '2026-01-05T14:00:00Z' },
      ]);
    }
    await rig.connectors.begin();
    onTestFinished(() => rig.connectors.end());
    await rig.until('prediction', 'live', 'acct-1');
    await rig.until('prediction', 'live', 'acct-2');
    rig.platform.emit('prediction', 'acct-1', lost, 1n);
    await rig.until('prediction', 'live', 'acct-1');
    rig.platform.emit('prediction', 'acct-2', { ...lost, accountId: 'acct-2' }, 1n);
    expect(rig.state('prediction', 'acct-2')).toBe('frozen');
    await rig.until('prediction', 'live', 'acct-2');
    expect(rig.state('prediction', 'acct-1')).toBe('live');
    expect(rig.platform.sockets.filter(({ url }) => url === 'ws://prediction')).toHaveLength(2);
    expect(rig.registry.get('prediction', 'acct-2')?.sourceEpoch).toBe(1);
  });
});

describe('a gap that the platform reports', () => {
  it('makes the account read again, once for many frames, on the same connection', async () => {
    const rig = await live();
    const lists = rig.platform.lists.length;
    for (let i = 0; i < 20; i += 1) {
      rig.platform.emit('prediction', 'acct-1', { ...predictionRow, certainty: 'unknown_gap' }, BigInt(200 + i));
    }
    expect(rig.state('prediction')).toBe('resyncing');
    await rig.until('prediction', 'live');
    expect(rig.platform.lists.slice(lists).filter(({ stream }) => stream === 'prediction')).toHaveLength(1);
    expect(rig.platform.sockets.filter(({ url }) => url === 'ws://prediction')).toHaveLength(1);
    expect(
      rig.sink
        .marks('acct-1')
        .filter((event) => event !== 'heartbeat')
        .slice(-3),
    ).toEqual(['lost', 'resynchronised', 'live']);
  });
});

describe('issue: An order showed for ever what the platform had said before it lost its store.', () => {
  const early: Row = { ...predictionRow, updatedAt: '2026-01-05T14:00:00Z' };
  const lost: Row = {
    ...predictionRow,
    orderId: 'told-1',
    certainty: 'unknown_store_lost',
    updatedAt: '2026-01-05T14:29:00Z',
  };

  // Found by reading: a single order was being asked for when the platform lost its store. The
  // answer, of the old store and with a version of it, came after the next source epoch had been
  // opened and was offered under it: above everything that the new store would say, for good.
  it('gives no answer that was asked for before the store was lost the source epoch that came after', async () => {
    const rig = connectorsRig();
    rig.platform.rows.set('prediction:acct-1', [{ ...early, version: '100' }]);
    await rig.connectors.begin();
    onTestFinished(() => rig.connectors.end());
    await rig.until('prediction', 'live');
    let answer = () => {};
    rig.platform.beforeGet = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    // A frame that cannot be read: its order is asked for.
    rig.socket('prediction').deliver(eventText('prediction', 'acct-1', early, 'null'));
    await rig.clock.advance(10);
    expect(rig.platform.gets).toEqual([predictionRow['orderId']]);

    rig.platform.rows.set('prediction:acct-1', [
      { ...early, version: '1' },
      { ...lost, version: '2' },
    ]);
    rig.platform.emit('prediction', 'acct-1', lost, 2n);
    await rig.clock.advanceUntil(() => rig.registry.get('prediction', 'acct-1')?.sourceEpoch === 1, 60_000);
    answer();
    await rig.until('prediction', 'live');

    const versions = rig.sink.observations
      .filter(({ sourceEpoch }) => sourceEpoch === 1)
      .map((each) => each.sourceVersion);
    expect(versions).toEqual([1n, 2n]);
  });
});

describe('issue: An account whose store was lost showed not_enrolled, and looks at it said certain.', () => {
  const lost = { ...predictionRow, certainty: 'unknown_store_lost', updatedAt: '2026-01-05T14:29:00Z' };

  describe('an account that is refused while its store is lost', () => {
    it('is certain of nothing, and shows that it is frozen once it is taken again', async () => {
      const rig = connectorsRig({ timings: { notEnrolledMs: 60_000 } });
      await rig.begin();
      await rig.until('prediction', 'live');
      const { platform, connectors, clock } = rig;
      const certain = () => connectors.account('prediction', 'acct-1')?.certain;
      platform.subscription = (stream) => (stream === 'prediction' ? { code: 'FORBIDDEN' } : 'acknowledge');
      platform.emit('prediction', 'acct-1', lost, 1n);
      expect(certain()).toBe(false);
      await rig.until('prediction', 'not_enrolled');
      expect(certain()).toBe(false);
      platform.subscription = () => 'acknowledge';
      const wholeReads: unknown[] = [];
      platform.beforeList = async ({ stream, after }) => {
        if (stream === 'prediction' && after === undefined) wholeReads.push([rig.state('prediction'), certain()]);
      };
      await clock.advance(70_000);
      expect(wholeReads.slice(0, 2)).toEqual([
        ['frozen', false],
        ['frozen', false],
      ]);
      expect([rig.state('prediction'), certain()]).toEqual(['live', true]);
    });
  });
});

describe('issue: After the platform lost its store twice, orders showed old states as if they were live.', () => {
  const key = 'prediction:acct-1';

  /**
   * An account whose platform can lose its store at any moment. `order`
   * is `orderId` as the platform has it now.
   */
  async function platformThatLoses() {
    const rig = connectorsRig();
    const { platform, clock } = rig;
    const row = (version: bigint, certainty: string, orderId = 'order-1'): Row => ({
      ...predictionRow,
      orderId,
      clOrdId: orderId,
      version: String(version),
      certainty,
      updatedAt: new Date(clock.nowMs()).toISOString(),
    });
    /** The platform changes the order: its list shows it, its stream says so. */
    const change = (version: bigint, certainty: string, orderId?: string) => {
      const next = row(version, certainty, orderId);
      const others = (platform.rows.get(key) ?? []).filter((each) => each['orderId'] !== next['orderId']);
      platform.rows.set(key, [...others, next]);
      platform.emit('prediction', 'acct-1', next, version);
    };
    /** Versions begin again at 1, and every order says why. */
    const loseStore = () => {
      for (const each of platform.rows.get(key) ?? []) change(1n, 'unknown_store_lost', String(each['orderId']));
    };
    platform.rows.set(key, [row(100n, 'certain')]);
    await rig.connectors.begin();
    onTestFinished(async () => {
      await rig.connectors.end();
      expect(clock.armed).toBe(0);
    });
    await rig.until('prediction', 'live');
    const newest = (orderId = 'order-1') => {
      const found = rig.sink.observations.findLast(({ view }) => view.orderId === orderId);
      return `${found?.sourceEpoch}/${found?.sourceVersion}`;
    };
    const epoch = () => rig.registry.get('prediction', 'acct-1')?.sourceEpoch;
    return { ...rig, change, loseStore, newest, epoch };
  }

  describe('a second loss of the store', () => {
    it.each([1, 5, 20, 27, 40, 50, 56, 61, 300])('%d s after the first is dealt with, too', async (gapS) => {
      const rig = await platformThatLoses();
      rig.loseStore();
      await rig.until('prediction', 'live');
      rig.change(40n, 'certain');
      await rig.clock.advance(gapS * 1_000);
      rig.loseStore();
      // From here on no version says anything: the account must not look complete.
      expect(rig.state('prediction')).toBe('frozen');
      const offered = rig.sink.items.length;
      await rig.until('prediction', 'live');
      const marks = rig.sink.items
        .slice(offered)
        .flatMap((item) => (item.kind === 'watermarks' && item.stream === 'prediction' ? [item.event] : []));
      expect(marks).toEqual(['resynchronised', 'live']);
      expect([rig.epoch(), rig.newest()]).toEqual([2, '2/1']);
      rig.change(2n, 'certain');
      await rig.clock.advance(600_000);
      expect([rig.epoch(), rig.newest()]).toEqual([2, '2/2']);
    });

    it('is seen at an order that has said so since the first: its version went back', async () => {
      const rig = await platformThatLoses();
      rig.loseStore();
      rig.change(2n, 'unknown_store_lost');
      await rig.until('prediction', 'live');
      await rig.clock.advance(5_000);
      rig.change(9n, 'unknown_store_lost');
      expect(rig.state('prediction')).toBe('live');
      await rig.clock.advance(5_000);
      rig.change(7n, 'unknown_store_lost');
      await rig.clock.advance(120_000);
      expect([rig.state('prediction'), rig.epoch(), rig.newest()]).toEqual(['live', 2, '2/7']);
    });

    it('waits for a minute of rest, in which nothing connects or reads anew', async () => {
      const rig = await platformThatLoses();
      rig.loseStore();
      await rig.until('prediction', 'live');
      const count = () => [rig.platform.sockets.length, rig.platform.lists.length];
      await rig.clock.advance(1_000);
      const before = count();
      rig.loseStore();
      await rig.clock.advance(50_000);
      rig.change(5n, 'unknown_store_lost');
      expect([rig.state('prediction'), count()[0]]).toEqual(['frozen', before[0]]);
      expect(rig.platform.lists.slice(before[1]).filter(({ stream }) => stream === 'prediction')).toEqual([]);
      await rig.until('prediction', 'live');
      expect([rig.epoch(), rig.newest()]).toEqual([2, '2/5']);
    });

    it('that is still waiting for its turn survives the end of the term, though the platform is certain again by then', async () => {
      const rig = await platformThatLoses();
      rig.loseStore();
      await rig.until('prediction', 'live');
      rig.change(40n, 'certain');
      await rig.clock.advance(5_000);
      rig.loseStore();
      await rig.clock.advance(5_000);
      await rig.connectors.end();
      rig.change(2n, 'certain');
      await rig.connectors.begin();
      await rig.until('prediction', 'live');
      expect([rig.epoch(), rig.newest()]).toEqual([2, '2/2']);
    });

    it('ten times in a row, 27 s apart, leaves every order as the platform has it', async () => {
      const rig = await platformThatLoses();
      for (let i = 0; i < 10; i += 1) {
        rig.loseStore();
        await rig.clock.advance(13_500);
        rig.change(30n, 'certain');
        rig.change(20n + BigInt(i), 'certain', `order-of-store-${i}`);
        await rig.clock.advance(13_500);
      }
      await rig.clock.advance(120_000);
      expect(rig.state('prediction')).toBe('live');
      for (const row of rig.platform.rows.get(key) ?? []) {
        expect(rig.newest(String(row['orderId']))).toBe(`${rig.epoch()}/${row['version']}`);
      }
    });
  });

  // Two reads follow a loss: one to see that the list is whole,
  // one through ingest under the next epoch.
  describe('a second loss while the first is being dealt with', () => {
    const stages: readonly [string, (rig: Awaited<ReturnType<typeof platformThatLoses>>, lose: () => void) => void][] =
      [
        ['before the old connection is closed', (_, lose) => lose()],
        ['while the new connection opens', ({ clock }, lose) => void clock.after(1, lose)],
        ['while the first list is read', (rig, lose) => atRead(rig, 1, lose)],
        ['while the list is read into the new epoch', (rig, lose) => atRead(rig, 2, lose)],
        ['at the end of that list', (rig, lose) => afterRead(rig, 2, lose)],
      ];

    it.each(stages)('%s ends in the epoch of the newest store', async (_, arrange) => {
      const rig = await platformThatLoses();
      rig.change(60n, 'certain', 'order-2');
      const lose = () => {
        rig.change(500n, 'certain', 'order-3');
        rig.loseStore();
      };
      rig.loseStore();
      arrange(rig, lose);
      await rig.until('prediction', 'live');
      for (const orderId of ['order-1', 'order-2', 'order-3']) expect(rig.newest(orderId)).toBe(`${rig.epoch()}/1`);
      rig.change(2n, 'certain', 'order-3');
      expect(rig.newest('order-3')).toBe(`${rig.epoch()}/2`);
    });
  });

  type Rig = Awaited<ReturnType<typeof platformThatLoses>>;

  /**
   * The platform has made the n-th list of prediction orders from now, and the
   * loss comes before its answer has been read.
   */
  function atRead({ platform }: Rig, nth: number, work: () => void): void {
    const { listOrders } = platform;
    let count = 0;
    platform.listOrders = (request, onPage, signal) => {
      const isNth = request.stream === 'prediction' && ++count === nth;
      if (!isNth) return listOrders.call(platform, request, onPage, signal);
      const held = platform.rows.get(key) ?? [];
      return listOrders.call(
        platform,
        request,
        async (page) => {
          // The rows of the answer are those of before: the frames of the loss overtake it.
          work();
          await onPage({ ...page, rows: held });
        },
        signal,
      );
    };
  }

  function afterRead({ platform }: Rig, nth: number, work: () => void): void {
    const { listOrders } = platform;
    let count = 0;
    platform.listOrders = async (request: ListRequest, onPage, signal) => {
      const result = await listOrders.call(platform, request, onPage, signal);
      if (request.stream === 'prediction' && ++count === nth) work();
      return result;
    };
  }
});

describe('issue: An order stayed at an old version for ever after the platform had lost its store.', () => {
  const lost = {
    ...predictionRow,
    state: 'unknown',
    certainty: 'unknown_store_lost',
    certaintyReason: 'The order store was lost',
    updatedAt: '2026-01-05T14:30:05.000Z',
  };

  // Found by the simulator, seed 246: the stream brought an order while the first list was still
  // failing, the store was lost, its versions began again at 1, and the order stayed at the old
  // version for good, since nothing was frozen before a first complete read.
  it('opens a new source epoch when the store is lost after the first frames and before the first complete read', async () => {
    const rig = connectorsRig();
    rig.platform.listError = ({ stream }) =>
      stream === 'prediction' ? { status: 503, message: 'busy', retryable: true, sent: 'yes' } : undefined;
    await rig.connectors.begin();
    onTestFinished(() => rig.connectors.end());
    await rig.until('prediction', 'resyncing');
    rig.platform.emit('prediction', 'acct-1', predictionRow, 41n);

    rig.platform.emit('prediction', 'acct-1', lost, 1n);
    rig.platform.rows.set('prediction:acct-1', [{ ...lost, version: '1' }]);
    rig.platform.listError = undefined;
    await rig.until('prediction', 'live');

    expect(rig.registry.get('prediction', 'acct-1')?.sourceEpoch).toBe(1);
    const seen = rig.sink.observations.map(({ sourceEpoch, sourceVersion }) => `${sourceEpoch}/${sourceVersion}`);
    expect(seen.at(0)).toBe('0/41');
    expect(seen.at(-1)).toBe('1/1');
  });
});
