// What a user saw: An order that was filled while we were away stayed open for ever, and nothing said so.

import { describe, expect, it } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { storeBehind } from '../../support/orders/reducing-sink.ts';
import { predictionRow, type Row } from '../../support/platform/platform-rows.ts';

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
