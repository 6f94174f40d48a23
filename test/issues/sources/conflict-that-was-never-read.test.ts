// What a user saw: An order that contradicted itself stayed in conflict: the platform was not asked about it.

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
it.each<[string, [string, string][]]>([
  ['filled with less than the quantity', [['FILLED', '90']]],
  [
    'ended in two ways',
    [
      ['EXPIRED', '0'],
      ['CANCELED', '0'],
    ],
  ],
])('an order that is %s is read from REST once', async (_what, views) => {
  const { bring, platform, clock, order } = await live();
  await bring(...views);
  expect(order()?.conflict).toBeDefined();
  await clock.advance(600_000);
  expect(platform.gets).toEqual(['ord-1']);
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
