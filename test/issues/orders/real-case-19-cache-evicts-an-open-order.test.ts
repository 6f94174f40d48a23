// What a user saw: An open order appeared as a second, new order after it had dropped out of a full cache.

import { expect, it } from 'vitest';
import { acceptPending, fillOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { fixed, whole } from '../../../src/sandbox/exchange/wire-text.ts';
import { CommandWorld, equity } from '../../support/commands/command-world.ts';

// A bounded cache dropped the least recently used order, which was open; its next report
// made a new order out of nothing. What protects: `loadKnown`
// (service/orders/load-known.ts) reads back what the cache has dropped.
it('an open order that many others have driven out of the cache goes on where it was, and its replace is settled', async () => {
  const world = await CommandWorld.start();
  Object.assign(world.simulated.settings.ingest, { headCacheCount: 1 });
  await world.restart();
  const { command, order } = await world.working();
  const { commandId } = await world.sendPendingReplace(order, { quantity: '20' });
  world.simulated.platform.entered.venue.set({ answerMs: 5 });
  for (let i = 1; i <= 20; i += 1) {
    await world.working({ ...equity, terms: { ...equity.terms, qty: String(i) } });
    if (i === 10) await world.restart();
  }
  acceptPending(world.exchange, order);
  fillOrder(world.exchange, order, whole(20), fixed('0.4'));
  await world.until(() => world.stored(order).status === 'filled');

  await world.until(() => world.command(commandId).state === 'applied');
  const updates = world.updates(order);
  expect(updates.map(({ revision }) => revision)).toEqual(updates.map((_, i) => i + 1));
  expect(new Set(updates.map(({ order: state }) => state.commandId))).toEqual(new Set([command.commandId]));
});
