import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { ByteBudget } from '../../../src/runtime/byte-budget.ts';
import type { ListRequest, TouchedOrder } from '../../../src/venue/order-reads.ts';
import { accountRow, eventText, type Row } from '../../../src/venue/platform/fixtures/rows.ts';
import { platformVenue } from '../../../src/venue/platform/platform-venue.ts';
import type { Venue } from '../../../src/venue/venue.ts';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { storeBehind } from '../../support/orders/reducing-sink.ts';

const { orders, protocol } = platformVenue.account;
/** The platform's words on a stream whose lists go by creation. */
const venue: Venue = {
  alpaca: {
    orders: {
      ...orders,
      decode: (row, origin) => {
        const { view } = orders.decode(row, origin);
        return { view: { ...view, stream: 'alpaca' } };
      },
    },
    protocol: {
      ...protocol,
      read: (text) => {
        const frame = protocol.read(text);
        return frame.kind === 'event' ? { ...frame, stream: 'alpaca' } : frame;
      },
    },
  },
};

const ended = { ordStatus: 'FILLED', cumQty: '100', leavesQty: '0', avgPrice: '191.5' };
const isEnded = (row: Row) => row['ordStatus'] === 'FILLED';

/** As a venue by creation lists them: a filled order of before the bound is in no list. */
function listed(row: Row, { state, after }: ListRequest): boolean {
  if (state === 'open' && isEnded(row)) return false;
  return after === undefined || Date.parse(String(row['createdAt'])) > Date.parse(after);
}

async function live(rows: readonly Row[], budget?: ByteBudget) {
  const warnings: string[] = [];
  const write = (line: string) => void warnings.push(JSON.parse(line).msg);
  const log = pino({ level: 'warn', base: null }, { write });
  const rig = connectorsRig({ streamUrls: { alpaca: 'ws://account' } }, budget, log, venue);
  const store = storeBehind(rig);
  const shows = (...shown: readonly Row[]) => rig.platform.rows.set('alpaca:acct-1', [...shown]);
  rig.platform.shows = listed;
  shows(...rows);
  await rig.begin();
  await rig.until('alpaca', 'live');
  const status = (orderId: string) => store.heads.get(`alpaca:${orderId}`)?.order.status;
  /** The stream is down while the venue comes to these rows. */
  const outage = async (...shown: readonly Row[]) => {
    rig.platform.gets.length = rig.platform.lists.length = 0;
    rig.socket('account').end({ kind: 'closed', code: 1006, reason: '' });
    shows(...shown);
    await rig.until('alpaca', 'live');
  };
  return { ...rig, store, warnings, shows, status, outage };
}

const at = (minutes: number) => new Date(Date.UTC(2026, 0, 5, 13, minutes)).toISOString();
const row = (orderId: string, createdMinute: number, over: Row = {}): Row => ({
  ...{ ...accountRow, ordId: orderId, clOrdId: orderId, createdAt: at(createdMinute), updatedAt: at(50) },
  ...over,
});

describe('issue: An order that ended unseen stayed open for as long as our clock had been set back.', () => {
  it('asks for it with the next audit', async () => {
    const { clock, shows, status } = await live([row('o-1', 10), row('o-2', 40)]);
    clock.stepWall(-3_600_000);
    shows(row('o-1', 10, { ...ended, updatedAt: at(59) }), row('o-2', 40));
    expect(await clock.advanceUntil(() => status('o-1') === 'filled', 120_000)).toBe(true);
  });
});

/** The venue's time as it says so. */
const upTo = at(59);

/** Two orders of before the mark: one ended here, and the account goes on. */
async function withEnded(over: Row = {}, budget?: ByteBudget) {
  const canceled = {
    ordStatus: 'CANCELED',
    cumQty: '40',
    leavesQty: '0',
    avgPrice: '191.5',
    updatedAt: at(50),
    ...over,
  };
  const rows = (changed: Row = {}) => [row('o-1', 10, { ...canceled, ...changed }), row('o-2', 40)];
  const rig = await live(rows(), budget);
  const { clock, platform, store } = rig;
  platform.shows = (each, request) => each['ordId'] === 'o-2' && listed(each, request);
  platform.lists.length = platform.gets.length = 0;
  const filled = () => store.heads.get('alpaca:o-1')?.order.cumQty;
  const audits = async (count = 1) => {
    const wanted = platform.lists.length + 2 * count;
    expect(await clock.advanceUntil(() => platform.lists.length >= wanted, 120_000 * count)).toBe(true);
    await clock.advance(10_000);
  };
  const touches = (...orders: TouchedOrder[]) => {
    platform.touched = () => ({ kind: 'read', orders, upTo });
  };
  return { ...rig, filled, audits, touches, changes: (changed: Row) => rig.shows(...rows(changed)) };
}

describe('issue: A fill that was taken back from an ended order stayed for ever where its event was lost.', () => {
  it('asks, with each audit, for the orders that something happened to since its mark', async () => {
    const { platform, filled, audits, changes } = await withEnded();
    const asked: string[] = [];
    platform.touched = (after) => {
      asked.push(after);
      return { kind: 'read', orders: [{ orderId: 'o-1', at: at(58), cumQty: '30' }], upTo };
    };
    changes({ cumQty: '30', updatedAt: at(58) });
    await audits();
    expect([filled(), asked]).toEqual(['30', [new Date(Date.parse(at(40)) - 300_000).toISOString()]]);
  });

  it('counts a late fill among the changes that the stream lost', async () => {
    const { account, filled, audits, touches, changes } = await withEnded();
    touches({ orderId: 'o-1', at: at(49), cumQty: '60' });
    changes({ cumQty: '60', updatedAt: at(58) });
    await audits();
    expect([filled(), account('alpaca', 'acct-1')?.silentLosses.events]).toEqual(['60', 1]);
  });

  it.each<[string, TouchedOrder, boolean]>([
    ['older than what happened', { orderId: 'o-1', at: at(51) }, true],
    ['as new as what happened', { orderId: 'o-1', at: at(50) }, false],
    ['newer, with as much filled', { orderId: 'o-1', at: at(45), cumQty: '40' }, false],
    ['newer, without a late fill', { orderId: 'o-1', at: at(45), cumQty: '60' }, true],
    ['not known', { orderId: 'o-7', at: at(1) }, true],
    ['open, and in the list', { orderId: 'o-2', at: at(50) }, false],
  ])('asks for an order alone if it is: %s', async (_what, order, isAsked) => {
    const { platform, audits, touches } = await withEnded();
    touches(order);
    await audits();
    expect(platform.gets).toEqual(isAsked ? [order.orderId] : []);
  });

  it('does not say of one that is unknown here and there that it is held open', async () => {
    const { account, audits, platform, touches } = await withEnded();
    touches({ orderId: 'o-7', at: at(58) });
    await audits(20);
    expect(platform.gets.length).toBeGreaterThan(10);
    expect(account('alpaca', 'acct-1')).toMatchObject({ state: 'live', absent: [] });
  });

  it('asks for many of them by one list since their creation', async () => {
    const many = Array.from({ length: 30 }, (_, index) =>
      row(`o-${index + 10}`, index, { ...ended, updatedAt: at(50) }),
    );
    const { platform, clock, status, shows } = await live([...many, row('o-9', 40)]);
    platform.touched = () => ({
      kind: 'read',
      orders: many.map(({ ordId }) => ({ orderId: String(ordId), at: at(58) })),
      upTo,
    });
    shows(...many.map((each) => ({ ...each, cumQty: '100', updatedAt: at(58) })), row('o-9', 40));
    platform.gets.length = platform.lists.length = 0;
    expect(await clock.advanceUntil(() => platform.lists.length === 3, 120_000)).toBe(true);
    await clock.advance(5_000);
    expect(platform.lists[2]).toMatchObject({ state: 'all', after: new Date(Date.parse(at(8)) - 1_000).toISOString() });
    expect(platform.gets.toSorted()).toEqual(many.slice(0, 8).map(({ ordId }) => ordId));
    expect(status('o-10')).toBe('filled');
  });

  it('keeps its mark where the venue does not say which they are, and says that it has no such read', async () => {
    const { platform, registry, audits, shows, warnings } = await withEnded();
    shows(row('o-1', 10), row('o-2', 40), row('o-3', 50));
    platform.shows = listed;
    platform.touched = () => ({
      kind: 'failed',
      error: { code: 'X', message: 'down', retryable: true, sent: 'yes' },
    });
    await audits();
    expect(registry.get('alpaca', 'acct-1')?.auditedUpTo).toBe(at(40));
    platform.touched = () => ({ kind: 'absent' });
    await audits(2);
    expect(registry.get('alpaca', 'acct-1')?.auditedUpTo).toBe(at(50));
    expect(warnings.filter((warning) => warning.includes('no activities'))).toHaveLength(1);
  });
});

describe('issue: Each audit of an account without new orders read its activities since the last one.', () => {
  it('begins where the last audit ended, and not at the mark', async () => {
    const { platform, audits } = await withEnded();
    const asked: string[] = [];
    platform.touched = (after) => {
      asked.push(after);
      return { kind: 'read', orders: [], upTo };
    };
    await audits(2);
    expect(asked.slice(0, 2)).toEqual([at(35), at(54)]);
  });

  it('begins a little before our own time where the clock of the venue is a year ahead', async () => {
    const { platform, audits, clock } = await withEnded();
    const asked: string[] = [];
    platform.touched = (after) => {
      asked.push(after);
      return { kind: 'read', orders: [], upTo: new Date(clock.nowMs() + 365 * 86_400_000).toISOString() };
    };
    await audits(2);
    expect(Date.parse(asked[1] ?? '')).toBeLessThan(clock.nowMs() - 240_000);
  });
});

describe('issue: A bust stayed unseen for ever where the activities answered 404 for a minute.', () => {
  it('asks again from before the time without an answer', async () => {
    const { platform, audits, shows, registry } = await withEnded();
    const asked: string[] = [];
    let isDown = true;
    platform.touched = (after) => {
      asked.push(after);
      return isDown ? { kind: 'absent' } : { kind: 'read', orders: [], upTo };
    };
    // The next audits go by a newer mark.
    shows(row('o-1', 10), row('o-2', 40), row('o-3', 50));
    platform.shows = listed;
    await audits(2);
    expect(registry.get('alpaca', 'acct-1')?.auditedUpTo).toBe(at(50));
    isDown = false;
    await audits();
    expect(new Set(asked)).toEqual(new Set([at(35)]));
  });
});

describe('issue: An account was live, and a late fill from before was unseen until its first audit.', () => {
  it('asks for the touched orders before it is live, and counts none as lost by the stream', async () => {
    const { account, filled, platform, socket, until, changes, clock } = await withEnded();
    await clock.advance(70_000);
    const asked: string[] = [];
    platform.touched = (after) => {
      asked.push(after);
      return { kind: 'read', orders: [{ orderId: 'o-1', at: at(58), cumQty: '60' }], upTo };
    };
    socket('account').end({ kind: 'closed', code: 1006, reason: '' });
    changes({ cumQty: '60', updatedAt: at(58) });
    await until('alpaca', 'resyncing');
    await until('alpaca', 'live');
    expect([filled(), asked]).toEqual(['60', [at(35)]]);
    await clock.advance(130_000);
    expect(account('alpaca', 'acct-1')?.silentLosses.events).toBe(0);
  });

  it('asks in audits of an account without an order too', async () => {
    const { platform, clock, status } = await live([]);
    platform.touched = () => ({ kind: 'read', orders: [{ orderId: 'o-1', at: at(58) }], upTo });
    platform.shows = () => false;
    platform.rows.set('alpaca:acct-1', [row('o-1', 10, ended)]);
    expect(await clock.advanceUntil(() => status('o-1') === 'filled', 120_000)).toBe(true);
  });

  it('is live all the same where the venue can not name them', async () => {
    const { platform, socket, until } = await withEnded();
    platform.touched = () => ({ kind: 'failed', error: { code: 'X', message: 'down', retryable: true, sent: 'yes' } });
    socket('account').end({ kind: 'closed', code: 1006, reason: '' });
    await until('alpaca', 'resyncing');
    await until('alpaca', 'live');
  });
});

describe('issue: A lost frame of an ended order counted as recovered by a read that shows no such order.', () => {
  const failed = { kind: 'failed', error: { code: 'X', message: 'down', retryable: true, sent: 'yes' } } as const;

  it.each<[string, (rig: Awaited<ReturnType<typeof withEnded>>) => Promise<unknown>]>([
    [
      'that makes the account live, without the touched orders',
      async ({ socket, until }) => {
        socket('account').end({ kind: 'closed', code: 1006, reason: '' });
        await until('alpaca', 'resyncing');
        await until('alpaca', 'live');
      },
    ],
    [
      'for a command',
      async ({ connectors, clock }) => {
        const look = connectors.account('alpaca', 'acct-1')?.lookAtAll(undefined, new AbortController().signal);
        await clock.advance(1_000);
        expect(await look).toMatchObject({ complete: true });
      },
    ],
  ])('it stays open behind a read %s, until an audit', async (_what, read) => {
    const rig = await withEnded();
    rig.platform.touched = () => failed;
    for (const live of rig.platform.live) live.deliver('{');
    await read(rig);
    expect(rig.account('alpaca', 'acct-1')?.unrecovered).toBe(1);
    rig.platform.touched = () => ({ kind: 'read', orders: [], upTo });
    await rig.audits();
    expect(rig.account('alpaca', 'acct-1')?.unrecovered).toBe(0);
  });
});

describe('issue: A bust stayed unseen for ever where there was no room for another order in doubt.', () => {
  it('asks for the order with each audit until there is room', async () => {
    const budget = new ByteBudget({ maxBytes: 1_000_000 });
    const full = budget.share({ signal: new AbortController().signal });
    const { platform, clock, filled, audits, changes } = await withEnded({}, budget);
    await audits();
    full.take(600_000);
    const happenedAt = new Date(clock.nowMs()).toISOString();
    const busted = { ordStatus: 'CANCELED', cumQty: '30', leavesQty: '0', updatedAt: happenedAt };
    changes(busted);
    platform.emit('account', 'acct-1', row('o-1', 10, { avgPrice: '191.5', ...busted }));
    platform.touched = (after) => ({
      kind: 'read',
      orders: after <= happenedAt ? [{ orderId: 'o-1', at: happenedAt, cumQty: '30' }] : [],
      upTo: new Date(clock.nowMs()).toISOString(),
    });
    await audits(10);
    expect(filled()).toBe('40');
    full.giveBackAll();
    await audits(2);
    expect(filled()).toBe('30');
  });
});

describe('issue: An order rested as unknown to its venue for minutes, while activities named its fills.', () => {
  it('is asked for with the next audit', async () => {
    const { clock, platform, shows, status } = await live([row('o-1', 10), row('o-2', 40)]);
    shows(row('o-2', 40));
    const answers = () => platform.gets.filter((id) => id === 'o-1').length;
    expect(await clock.advanceUntil(() => answers() === 4, 1_200_000)).toBe(true);
    await clock.advance(5_000);
    platform.touched = () => ({ kind: 'read', orders: [{ orderId: 'o-1', at: at(58), cumQty: '100' }], upTo });
    shows(row('o-1', 10, { ...ended, updatedAt: at(58) }), row('o-2', 40));
    platform.shows = (each, request) => each['ordId'] === 'o-2' && listed(each, request);
    expect(await clock.advanceUntil(() => status('o-1') === 'filled', 80_000)).toBe(true);
  });
});

describe('issue: Thousands of orders that only the activities named used up the requests of an account.', () => {
  it('asks for fifty of them with each audit, and for each before one again', async () => {
    const { platform, account, registry, audits, shows, touches } = await withEnded();
    const ids = Array.from({ length: 130 }, (_, index) => `o-${index + 1_000}`);
    // The next audits would go by a newer mark.
    shows(row('o-1', 10), row('o-2', 40), row('o-3', 50));
    platform.shows = listed;
    touches(...ids.map((orderId) => ({ orderId, at: at(58) })));
    const asked: number[] = [];
    for (let audit = 0; audit < 3; audit += 1) {
      platform.gets.length = 0;
      await audits();
      const gets = platform.gets.filter((id) => id.length > 5);
      asked.push(gets.length);
      expect(registry.get('alpaca', 'acct-1')?.auditedUpTo).toBe(at(audit < 2 ? 40 : 50));
      for (const id of gets) ids.splice(ids.indexOf(id), 1);
    }
    expect([asked, ids]).toEqual([[50, 50, 30], []]);
    expect(account('alpaca', 'acct-1')?.state).toBe('live');
  });

  it('asks for one of them again where something has happened to it since', async () => {
    const { platform, audits, touches } = await withEnded();
    const ids = Array.from({ length: 60 }, (_, index) => `o-${index + 1_000}`);
    touches(...ids.map((orderId) => ({ orderId, at: at(56) })));
    await audits();
    touches(...ids.map((orderId) => ({ orderId, at: at(orderId === 'o-1000' ? 57 : 56) })));
    platform.gets.length = 0;
    await audits();
    expect(platform.gets.toSorted()).toEqual(['o-1000', ...ids.slice(50)]);
  });
});

describe('a stream whose lists go by creation', () => {
  it('follows its own stream alone, and marks the newest creation that was shown', async () => {
    const { registry, platform, connectors } = await live([row('o-1', 10, { updatedAt: at(55) }), row('o-2', 20)]);
    expect(registry.get('alpaca', 'acct-1')).toMatchObject({ readUpTo: at(20), auditedUpTo: at(20) });
    expect(connectors.status().map(({ stream }) => stream)).toEqual(['alpaca']);
    expect(new Set(platform.lists.map(({ stream }) => stream))).toEqual(new Set(['alpaca']));
  });

  it('lists what is open, and what was created since the mark', async () => {
    const first = row('o-1', 10);
    const { platform, outage, status, registry } = await live([first]);
    await outage(first, row('o-2', 20, ended), row('o-3', 30));
    expect(platform.lists.map(({ state, after }) => [state, after])).toEqual([
      ['open', undefined],
      ['all', new Date(Date.parse(at(10)) - 30_000).toISOString()],
    ]);
    expect(['o-1', 'o-2', 'o-3'].map(status)).toEqual(['new', 'filled', 'new']);
    expect(platform.gets).toEqual([]);
    expect(registry.get('alpaca', 'acct-1')?.readUpTo).toBe(at(30));
  });

  it('asks for many such orders by one list since their creation, and for the oldest one by one', async () => {
    const many = Array.from({ length: 40 }, (_, index) => row(`o-${index + 10}`, index - 20));
    const { platform, outage, status } = await live([...many, row('o-9', 30)]);
    const over = many.map((each) => ({ ...each, ...ended, updatedAt: at(58) }));
    await outage(...over, row('o-9', 30));
    expect(platform.gets.toSorted()).toEqual(many.slice(0, 8).map(({ ordId }) => ordId));
    const since = new Date(Date.parse(at(-12)) - 1_000).toISOString();
    expect(platform.lists.map(({ state, after }) => [state, after]).slice(2)).toEqual([['all', since]]);
    expect(new Set(many.map(({ ordId }) => status(String(ordId))))).toEqual(new Set(['filled']));
  });

  it('asks for each order that is open here and in no list', async () => {
    const many = Array.from({ length: 8 }, (_, index) => `o-${index + 10}`);
    const { platform, outage, status } = await live([...many.map((id) => row(id, 5)), row('o-9', 30)]);
    await outage(...many.map((id) => row(id, 5, { ...ended, updatedAt: at(58) })), row('o-9', 30));
    expect(platform.gets.toSorted()).toEqual(many);
    // Its open orders were listed before: to list them once more would show nothing.
    expect(platform.lists.filter(({ state }) => state === 'open')).toHaveLength(1);
    expect(new Set(many.map(status))).toEqual(new Set(['filled']));
  });

  it('finds by its audit that an order ended, without an event', async () => {
    const { clock, shows, status, platform } = await live([row('o-1', 10), row('o-2', 40)]);
    shows(row('o-1', 10, { ...ended, updatedAt: at(59) }), row('o-2', 40));
    platform.lists.length = 0;
    expect(await clock.advanceUntil(() => status('o-1') === 'filled', 120_000)).toBe(true);
    expect(platform.lists.map(({ state }) => state)).toEqual(['open', 'all']);
  });

  it('keeps its mark before the creation of an order in doubt', async () => {
    const filled = row('o-1', 10, { ...ended, updatedAt: at(55) });
    const { platform, registry, outage, clock } = await live([filled, row('o-2', 20)]);
    // The order is shown with less filled, so it is in doubt until two reads agree; they fail.
    platform.getError = () => ({ code: 'X', message: 'down', retryable: true, sent: 'yes' });
    const takenBack = row('o-1', 10, {
      cumQty: '40',
      leavesQty: '60',
      ordStatus: 'PARTIALLY_FILLED',
      updatedAt: at(56),
    });
    platform.emit('account', 'acct-1', takenBack);
    await clock.advance(1_000);
    await outage(takenBack, row('o-2', 20), row('o-3', 30));
    expect(registry.get('alpaca', 'acct-1')?.readUpTo).toBe(at(20));
  });
});

it('an event of the stream reaches its account', async () => {
  const rig = await live([]);
  for (const socket of rig.platform.live) socket.deliver(eventText('account', 'acct-1', row('o-5', 40)));
  await rig.clock.advance(1_000);
  expect(rig.status('o-5')).toBe('new');
});
