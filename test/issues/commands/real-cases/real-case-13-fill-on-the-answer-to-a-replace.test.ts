// What a user saw: A fill that only the answer to a replace showed was never booked.

import { expect, it } from 'vitest';
import { fillOrder } from '../../../../src/sandbox/exchange/venue-steps.ts';
import { fixed, whole } from '../../../../src/sandbox/exchange/wire-text.ts';
import { noStreamFaults } from '../../../simulation/plan/stream-faults.ts';
import { account, CommandWorld } from '../../../support/commands/command-world.ts';
import { fillsOf } from '../../../support/platform/fills-of.ts';

// The acknowledgement of a modify carried a higher filled quantity; it was read for the new terms
// only, and the fill was never booked. What protects: `takeReply` (service/run/order-entry.ts): an
// answer is an observation like any other.
it('a fill that shows first on the answer to a replace is booked, once', async () => {
  const world = await CommandWorld.start();
  const { order } = await world.working();
  const { stream } = world.simulated.platform;
  world.simulated.platform.entered.venue.set({ answerMs: 'manual' });
  stream.faults = { ...noStreamFaults, silentLoss: 1 };
  fillOrder(world.exchange, order, whole(3), fixed('0.4'));
  const { orderId } = order.terms;
  await world.send({ kind: 'replace', stream: 'prediction', accountId: account, orderId, terms: { quantity: '20' } });
  await world.until(() => world.stored(order).cumQty === '3');
  expect(world.updates(order).at(-1)).toMatchObject({
    cause: 'reply',
    fill: { quantity: '3' },
    order: { pendingAction: 'replace' },
  });
  stream.faults = noStreamFaults;
  fillOrder(world.exchange, order, whole(1), fixed('0.4'));
  await world.until(() => world.stored(order).cumQty === '4');
  expect(fillsOf(world.updates(order))).toBe('4');
});
