// What a user saw: Fills that were made while the socket was down were never booked.

import { expect, it } from 'vitest';
import { fillOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { fixed, whole } from '../../../src/sandbox/exchange/wire-text.ts';
import { CommandWorld, equity, prediction } from '../../support/commands/command-world.ts';
import { fillsOf } from '../../support/platform/fills-of.ts';

// The socket came back, the subscription too, and nobody asked what had been filled in between.
// What protects: the resync of a new connection (service/sources/account-session.ts).
it.each([equity, prediction])(
  'what was filled of a $stream order while the socket was down is asked for when it is up again',
  async (request) => {
    const world = await CommandWorld.start();
    const { order } = await world.working(request);
    const { stream } = world.simulated.platform;
    stream.down = true;
    stream.end({ kind: 'closed', code: 1006, reason: '' }, true);
    fillOrder(world.exchange, order, whole(4), fixed('0.4'));
    await world.pass(10_000);
    fillOrder(world.exchange, order, whole(6), fixed('0.4'));
    stream.down = false;
    await world.until(() => world.stored(order).status === 'filled');
    expect(fillsOf(world.updates(order))).toBe('10');
  },
);
