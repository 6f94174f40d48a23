// What a user saw: After a restart, all earlier fills of an order were booked a second time.

import { expect, it } from 'vitest';
import { fillOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { fixed, whole } from '../../../src/sandbox/exchange/wire-text.ts';
import { CommandWorld, equity, prediction } from '../../support/commands/command-world.ts';
import { fillsOf } from '../../support/platform/fills-of.ts';

// After a restart the first report of an order was compared with nothing, and all that had been
// filled before was booked again. What protects: `deriveFill` (domain/order-fields.ts) over the
// head that was stored (service/orders/load-known.ts).
it.each([equity, prediction])(
  'a process that comes back books of a $stream order what was filled since, and no fill again',
  async (request) => {
    const world = await CommandWorld.start();
    const { order } = await world.working(request);
    const fill = async (quantity: number, total: string) => {
      fillOrder(world.exchange, order, whole(quantity), fixed('0.4'));
      await world.until(() => world.isStored(order) && world.stored(order).cumQty === total);
    };
    await fill(3, '3');
    await world.restart();
    expect(fillsOf(world.updates(order))).toBe('3');
    await fill(2, '5');
    await world.restart();
    await world.restart();
    await fill(5, '10');
    expect(world.updates(order).flatMap(({ fill: booked }) => booked?.quantity ?? [])).toEqual(['3', '2', '5']);
  },
);
