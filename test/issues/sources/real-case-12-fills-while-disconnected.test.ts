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
    const desk = await CommandWorld.start();
    const { order } = await desk.working(request);
    const { stream } = desk.world.platform;
    stream.down = true;
    stream.end({ kind: 'closed', code: 1006, reason: '' }, true);
    fillOrder(desk.exchange, order, whole(4), fixed('0.4'));
    await desk.pass(10_000);
    fillOrder(desk.exchange, order, whole(6), fixed('0.4'));
    stream.down = false;
    await desk.until(() => desk.stored(order).status === 'filled');
    expect(fillsOf(desk.updates(order))).toBe('10');
  },
);
