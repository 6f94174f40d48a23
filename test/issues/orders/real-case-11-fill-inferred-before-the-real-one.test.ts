// What a user saw: One fill was booked twice: first from a read, then from its own late report.

import { expect, it } from 'vitest';
import type { CommandRequest } from '../../../src/domain/command.ts';
import { fillOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { fixed, whole } from '../../../src/sandbox/exchange/wire-text.ts';
import { encodeEvent, encodeEventData } from '../../../src/sandbox/stream/client-message.ts';
import { noStreamFaults } from '../../simulation/plan/stream-faults.ts';
import { account, CommandWorld, equity, prediction } from '../../support/commands/command-world.ts';
import { timeout } from '../../support/commands/scripted-entry.ts';
import { fillsOf } from '../../support/platform/fills-of.ts';

// What protects: `deriveFill` (domain/order-fields.ts), and repetitions that the reducers know.
it.each([equity, prediction])(
  'a fill of a $stream order that a probe showed first is booked once when its own frame comes late',
  async (request) => {
    const world = await CommandWorld.start();
    const { order } = await world.working(request);
    const { stream } = world.simulated.platform;
    stream.faults = { ...noStreamFaults, silentLoss: 1 };
    fillOrder(world.exchange, order, whole(4), fixed('0.4'));
    const late = encodeEvent(order, encodeEventData(order));
    stream.faults = noStreamFaults;
    // A cancel that never arrived makes the reconciler read the order.
    world.script({ applied: 'no', answer: timeout });
    const { orderId } = order.terms;
    const cancel: CommandRequest = { kind: 'cancel', stream: request.stream, accountId: account, orderId };
    await world.send(cancel);
    await world.until(() => world.stored(order).cumQty === '4');
    expect(world.updates(order).at(-1)).toMatchObject({ cause: 'probe', fill: { quantity: '4', inferred: true } });

    stream.push(`${request.stream}:${account}`, late);
    await world.pass(2_000);
    expect(fillsOf(world.updates(order))).toBe('4');
    fillOrder(world.exchange, order, whole(6), fixed('0.4'));
    await world.until(() => world.stored(order).status === 'filled');
    expect(fillsOf(world.updates(order))).toBe('10');
  },
);
