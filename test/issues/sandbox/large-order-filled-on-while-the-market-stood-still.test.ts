// What a user saw: The sandbox went on filling a large order after its market had been stopped.

import { expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { orderClient } from '../../support/commands/order-entry.ts';
import { control } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';

/** Rounds in which the venue would have filled more of the order. */
const severalRefillsMs = 300;

it('fills a large order no further once the market was stopped, so that a proof compares what does not change, and goes on with the market', async () => {
  const client = await orderClient({ venue: { depth: 50 } });
  await client.place({ clientId: 'large', qty: '1000000', price: '900' });
  const filled = async () => Number((await client.byReference('large'))[0].cumQty);
  await eventually(async () => expect(await filled()).toBeGreaterThan(0));

  await control(client.at, '/rate', { rate: 0 });
  const atRest = await filled();
  await systemClock.sleep(severalRefillsMs);
  expect(await filled()).toBe(atRest);

  await control(client.at, '/rate', { rate: 1 });
  await eventually(async () => expect(await filled()).toBeGreaterThan(atRest));
});
