// What a user saw: An order kept a wrong price for ever after two changes within one second.

import { expect, it } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { ReducingSink } from '../../support/orders/reducing-sink.ts';
import { accountRow, type Row } from '../../support/platform/platform-rows.ts';

async function live() {
  const rig = connectorsRig();
  const store = new ReducingSink(rig.clock);
  rig.sink.offer = (item) => store.offer(item);
  await rig.begin();
  await rig.until('account', 'live');
  const brings = (...rows: Row[]) => {
    for (const row of rows) rig.platform.emit('account', 'acct-1', row);
  };
  const shows = (row: Row) => rig.platform.rows.set('account:acct-1', [row]);
  const order = () => store.heads.get('account:ord-1')?.order;
  return { ...rig, brings, shows, order };
}

const at = (over: Row): Row => ({ ...accountRow, updatedAt: '2026-11-21T14:40:00Z', ...over });

function spread(root: string, side = 'BUY'): Row {
  const leg = (strike: string) => ({
    symbol: `${root}261218C00${strike}000`,
    side,
    ratioQty: '1',
    positionEffect: 'OPEN',
  });
  return at({ securityType: 'MLEG', category: 'option', legs: [leg('200'), leg('210')] });
}

function fills(cumQty: string, over: Row = {}): Row {
  const leaves = 100 - Number(cumQty);
  const ordStatus = leaves === 0 ? 'FILLED' : 'PARTIALLY_FILLED';
  return at({ ordStatus, cumQty, leavesQty: String(leaves), avgPrice: '191.5', ...over });
}

// A platform whose clock has whole seconds: the greater content won for ever, and the right price
// was stale without a doubt.
it.each<[string, Row, Row]>([
  ['a price', at({ price: '0.60' }), at({ price: '0.55' })],
  ['a quantity', at({ qty: '90', leavesQty: '90' }), at({ qty: '80', leavesQty: '80' })],
  ['a symbol', at({ symbol: 'META' }), at({ symbol: 'FB' })],
  ['a leg that was adjusted', spread('AAPL1'), spread('AAPL')],
  ['the side of a leg', spread('AAPL', 'SELL'), spread('AAPL', 'BUY')],
  ['a cancel that was refused', at({ ordStatus: 'PENDING_CANCEL' }), at({})],
  ['a suspension that was lifted', at({ ordStatus: 'SUSPENDED' }), at({})],
  ['an end that was taken back', at({ ordStatus: 'EXPIRED', leavesQty: '0' }), at({})],
  ['a fill that was taken back', fills('40'), fills('10')],
  ['a first fill that was taken back', fills('40'), at({})],
  ['an order that was filled, less of it now', fills('100'), fills('40')],
  ['an end with less filled', fills('40'), fills('10', { ordStatus: 'CANCELED', leavesQty: '0' })],
])('%s that changed twice within one instant is what REST shows twice, whichever came first', async (_what, a, b) => {
  for (const truth of [a, b])
    for (const arrival of [
      [a, b],
      [b, a],
    ]) {
      const { brings, shows, clock, order, connectors } = await live();
      shows(truth);
      brings(...arrival);
      await clock.advance(130_000);
      const alone = await live();
      alone.shows(truth);
      alone.brings(truth);
      await alone.clock.advance(10_000);
      expect(order()).toEqual(alone.order());
      await connectors.end();
    }
});

// The join takes nothing more of an instant that a correction has decided about: the fill was not
// seen until another instant came.
it.each([
  ['fills', fills('40'), '40'],
  ['ends', fills('10', { ordStatus: 'CANCELED', leavesQty: '0' }), '10'],
] as const)(
  'an order that %s after its correction, still within the instant of that, is followed',
  async (_how, last, cumQty) => {
    const { brings, shows, clock, order } = await live();
    shows(fills('10'));
    brings(fills('30'));
    await clock.advance(130_000);
    expect(order()).toMatchObject({ cumQty: '10', status: 'partially_filled' });
    shows(last);
    await clock.advance(130_000);
    expect(order()).toMatchObject({ cumQty, status: String(last['ordStatus']).toLowerCase() });
  },
);

it('fills of one instant that come in the wrong order are read once, and nothing is taken back', async () => {
  const { brings, shows, clock, platform, order } = await live();
  shows(fills('40'));
  brings(fills('40'), fills('10'), at({}));
  await clock.advance(60_000);
  expect(order()?.cumQty).toBe('40');
  expect(platform.gets).toEqual(['ord-1']);
});

it('what the platform only writes otherwise is read once at most, and never corrected', async () => {
  const { brings, shows, clock, platform, order } = await live();
  shows(at({ symbol: 'BRK.B' }));
  brings(at({ symbol: 'BRK/B' }));
  for (let second = 1; second < 30; second += 1) {
    const updatedAt = new Date(Date.parse('2026-11-21T14:40:00Z') + second * 1_000).toISOString();
    shows(at({ symbol: 'BRK.B', updatedAt }));
    brings(at({ symbol: 'BRK/B', updatedAt }));
    await clock.advance(5_000);
  }
  expect(platform.gets.length).toBeLessThanOrEqual(2);
  expect(order()?.instrument.symbol).toMatch(/^BRK.B$/);
});

it('an order that goes on within one instant is not looked at', async () => {
  const { brings, shows, clock, platform } = await live();
  const steps = [
    at({ ordStatus: 'PENDING_NEW' }),
    at({}),
    at({ ordStatus: 'PARTIALLY_FILLED', cumQty: '1', leavesQty: '99' }),
  ];
  const last = at({ ordStatus: 'CANCELED', cumQty: '1', leavesQty: '0' });
  shows(last);
  brings(...steps, last);
  await clock.advance(60_000);
  expect(platform.gets).toEqual([]);
});
