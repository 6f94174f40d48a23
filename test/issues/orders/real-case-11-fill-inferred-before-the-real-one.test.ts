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
    const desk = await CommandWorld.start();
    const { order } = await desk.working(request);
    const { stream } = desk.world.platform;
    stream.faults = { ...noStreamFaults, silentLoss: 1 };
    fillOrder(desk.exchange, order, whole(4), fixed('0.4'));
    const late = encodeEvent(order, encodeEventData(order));
    stream.faults = noStreamFaults;
    // A cancel that never arrived makes the reconciler read the order.
    desk.script({ applied: 'no', answer: timeout });
    const { orderId } = order.terms;
    const cancel: CommandRequest = { kind: 'cancel', stream: request.stream, accountId: account, orderId };
    await desk.send(cancel);
    await desk.until(() => desk.stored(order).cumQty === '4');
    expect(desk.updates(order).at(-1)).toMatchObject({ cause: 'probe', fill: { quantity: '4', inferred: true } });

    stream.push(`${request.stream}:${account}`, late);
    await desk.pass(2_000);
    expect(fillsOf(desk.updates(order))).toBe('4');
    fillOrder(desk.exchange, order, whole(6), fixed('0.4'));
    await desk.until(() => desk.stored(order).status === 'filled');
    expect(fillsOf(desk.updates(order))).toBe('10');
  },
);
