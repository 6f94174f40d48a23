// What a user saw: An order kept its old price for an hour after the platform's clock was set back.

import { describe, expect, it } from 'vitest';
import type { AccountMemory } from '../../../src/domain/account-memory.ts';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { storeBehind } from '../../support/orders/reducing-sink.ts';
import { accountRow, type Row } from '../../support/platform/platform-rows.ts';

const hourMs = 3_600_000;

async function live() {
  const rig = connectorsRig();
  const store = storeBehind(rig);
  await rig.begin();
  await rig.until('account', 'live');
  /** A row whose change the platform's clock puts so far from now. */
  const row = (over: Row, fromNowMs = 0): Row => ({
    ...accountRow,
    updatedAt: new Date(rig.clock.nowMs() + fromNowMs).toISOString(),
    ...over,
  });
  const shows = (...rows: Row[]) => rig.platform.rows.set('account:acct-1', rows);
  const brings = async (event: Row) => {
    rig.platform.emit('account', 'acct-1', event);
    await rig.clock.advance(1_000);
  };
  const head = () => store.heads.get('account:ord-1');
  const corrections = () => (head()?.join as AccountMemory | undefined)?.correction?.epoch ?? 0;
  return { ...rig, row, shows, brings, head, corrections, order: () => head()?.order };
}

function fills(cumQty: string, over: Row = {}): Row {
  const leaves = 100 - Number(cumQty);
  const ordStatus = leaves === 0 ? 'FILLED' : 'PARTIALLY_FILLED';
  return { ordStatus, cumQty, leavesQty: String(leaves), avgPrice: '191.5', ...over };
}

const leg = (symbol: string) => [{ symbol, side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' }];
const option = { securityType: 'OPT', category: 'option' };

const changes: readonly (readonly [string, Row, Row])[] = [
  ['a price', { price: '0.60' }, { price: '0.55' }],
  ['a quantity', { qty: '90', leavesQty: '90' }, { qty: '80', leavesQty: '80' }],
  ['a symbol', { symbol: 'FB' }, { symbol: 'META' }],
  ['a leg', { ...option, legs: leg('AAPL261218C00200000') }, { ...option, legs: leg('AAPL1261218C00200000') }],
  ['a cancel that was refused', { ordStatus: 'PENDING_CANCEL' }, {}],
  ['a suspension that was lifted', { ordStatus: 'SUSPENDED' }, {}],
  ['an average price', fills('40'), fills('40', { avgPrice: '191.4' })],
  ['a fill that was taken back', fills('40'), fills('10')],
  ['a whole fill that was taken back', fills('100'), fills('40')],
  ['an end that was taken back', { ordStatus: 'EXPIRED', leavesQty: '0' }, {}],
  ['an end in place of another', { ordStatus: 'EXPIRED', leavesQty: '0' }, { ordStatus: 'CANCELED', leavesQty: '0' }],
  ['an end behind a fill', { ordStatus: 'CANCELED', leavesQty: '0' }, fills('40')],
];

describe.each([
  ['was ahead', hourMs, 0],
  ['is behind since', 0, -hourMs],
])('a platform whose clock %s', (_clock, beforeMs, afterMs) => {
  it.each(changes)('shows %s at an earlier instant than the state before: two reads decide', async (_what, a, b) => {
    for (const told of [true, false]) {
      const { row, shows, brings, order, corrections, clock, connectors } = await live();
      const before = row(a, beforeMs);
      shows(before);
      await brings(before);
      await clock.advance(120_000);
      const after = row(b, afterMs);
      shows(after);
      if (told) await brings(after);
      await clock.advance(300_000);
      const alone = await live();
      alone.shows(after);
      await alone.brings(after);
      expect(order(), told ? 'with its event' : 'found by the audit').toEqual(alone.order());
      expect(corrections()).toBeLessThanOrEqual(1);
      await connectors.end();
      await alone.connectors.end();
    }
  });
});

it('goes on from there: later changes are followed, and the event of before is no news', async () => {
  const { row, shows, brings, order, corrections, clock } = await live();
  const before = row({ price: '1' }, hourMs);
  shows(before);
  await brings(before);
  shows(row({ price: '2' }));
  await clock.advance(300_000);
  expect(order()?.price).toBe('2');
  await brings(before);
  expect(order()?.price).toBe('2');
  const next = row({ price: '3' });
  shows(next);
  await brings(next);
  expect(order()?.price).toBe('3');
  const filled = row(fills('40'));
  shows(filled);
  await brings(filled);
  expect([order()?.cumQty, corrections()]).toEqual(['40', 1]);
});

it('is found in lists that show only what changed since the mark of the clock before', async () => {
  const { row, shows, brings, order, clock, platform } = await live();
  platform.shows = (shown, { updatedAfter }) =>
    updatedAfter === undefined || Date.parse(String(shown['updatedAt'])) > Date.parse(updatedAfter);
  const before = row(fills('100'));
  shows(before);
  await brings(before);
  await clock.advance(300_000);
  const after = row(fills('40', { ordStatus: 'CANCELED', leavesQty: '0' }), -hourMs);
  shows(after);
  await brings(after);
  await clock.advance(300_000);
  expect(order()).toMatchObject({ status: 'canceled', cumQty: '40' });
});

describe('a read that only lags', () => {
  it('takes nothing back, and asks for nothing', async () => {
    const { row, shows, brings, order, corrections, clock, platform } = await live();
    let met = 0;
    for (let change = 0; change < 20; change += 1) {
      const [before, after] = [row({ price: '1' }), row({ price: `${change + 2}` }, 500)];
      shows(before);
      await brings(before);
      await brings(after);
      const lists = platform.lists.length;
      await clock.advance(40_000);
      met += platform.lists.length - lists;
      shows(after);
      await clock.advance(30_000);
    }
    expect(met, 'audits that met a state of before').toBeGreaterThan(8);
    expect([order()?.price, corrections(), platform.gets]).toEqual(['21', 0, []]);
  });

  it('does not undo what changed while it was asked', async () => {
    const { row, shows, brings, order, clock, platform } = await live();
    const before = row({ price: '1' }, hourMs);
    shows(before);
    await brings(before);
    shows(row({ price: '2' }));
    let asked = 0;
    const newest = row({ price: '3' }, hourMs + 1);
    // Between the two looks the order changes, and the platform still shows the row of before.
    platform.beforeGet = async () => {
      asked += 1;
      if (asked === 2) platform.emit('account', 'acct-1', newest);
    };
    await clock.advanceUntil(() => asked === 2, 600_000);
    await clock.advance(5_000);
    expect(order()?.price).toBe('3');
  });
});
