// What a user saw: A client id was used twice, and the second order's fills were booked on the first command.

import { expect, it } from 'vitest';
import { acceptOrder, fillOrder } from '../../../../src/sandbox/exchange/venue-steps.ts';
import { fixed, whole } from '../../../../src/sandbox/exchange/wire-text.ts';
import { CommandWorld, equity, prediction } from '../../../support/commands/command-world.ts';

// What protects: the lookup by key (service/commands/submit-command.ts); `settlePlace` and the
// table of transitions (domain/) keep a place that is applied on its order, each by itself.
it.each([equity, prediction])(
  'a key that comes again after its $stream order was filled is that command, and places nothing',
  async (request) => {
    const world = await CommandWorld.start();
    const { command, order } = await world.working(request);
    fillOrder(world.exchange, order, whole(10), fixed('0.4'));
    await world.until(() => world.stored(order).status === 'filled');
    const again = await world.submit(request, { idempotencyKey: command.idempotencyKey });
    expect(again).toMatchObject({
      kind: 'journaled',
      replayed: true,
      command: { commandId: command.commandId, state: 'applied' },
    });
    expect(world.writes).toHaveLength(1);
    // The same terms under another key are another order, with a reference of its own.
    const second = await world.send(request);
    expect(second.attempts[0]?.attemptId).not.toBe(command.attempts[0]?.attemptId);
  },
);

it.each([equity, prediction])(
  'a second $stream order that carries the reference of one that was filled is never taken for it',
  async (request) => {
    const world = await CommandWorld.start();
    const { command, order } = await world.working(request);
    fillOrder(world.exchange, order, whole(10), fixed('0.4'));
    await world.until(() => world.stored(order).status === 'filled');
    const terms = { ...order.terms, orderId: 'somebody-elses-order', version: 1n };
    const second = world.exchange.open(terms, 'placed elsewhere');
    acceptOrder(world.exchange, second, 'venue-2');
    fillOrder(world.exchange, second, whole(4), fixed('0.4'));
    await world.until(() => world.isStored(second) && world.stored(second).cumQty === '4');
    await world.pass(60_000);
    expect(world.command(command.commandId)).toMatchObject({ state: 'applied', orderId: order.terms.orderId });
    expect(world.stored(order).cumQty).toBe('10');
  },
);
