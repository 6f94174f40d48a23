// What a user saw: After the platform lost its store twice, orders showed old states as if they were live.

import { describe, expect, it, onTestFinished } from 'vitest';
import type { ListRequest } from '../../../src/venue/platform/order-reads.ts';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { predictionRow, type Row } from '../../support/platform/platform-rows.ts';

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
      .flatMap((item) => (item.kind === 'continuity' && item.stream === 'prediction' ? [item.event] : []));
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
  const stages: readonly [string, (rig: Awaited<ReturnType<typeof platformThatLoses>>, lose: () => void) => void][] = [
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
