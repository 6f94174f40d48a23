// What a user saw: A cancel of a filled order got "no such order"; the bot believed it was never placed.

import { expect, it } from 'vitest';
import type { CommandRequest } from '../../../../src/domain/command.ts';
import { fillOrder } from '../../../../src/sandbox/exchange/venue-steps.ts';
import { fixed, whole } from '../../../../src/sandbox/exchange/wire-text.ts';
import { noStreamFaults } from '../../../simulation/plan/stream-faults.ts';
import { account, CommandWorld, equity, prediction } from '../../../support/commands/command-world.ts';
import { fillsOf } from '../../../support/platform/fills-of.ts';

// What protects: `lookAfterRefusal` (service/commands/look-at-order.ts).
it.each([equity, prediction])(
  'a cancel that a filled $stream order refuses is moot, and the place stays what it is',
  async (request) => {
    const desk = await CommandWorld.start();
    const { command, order } = await desk.working(request);
    const { stream } = desk.world.platform;
    stream.faults = { ...noStreamFaults, silentLoss: 1 };
    fillOrder(desk.exchange, order, whole(10), fixed('0.4'));
    const { orderId } = order.terms;
    const cancel: CommandRequest = { kind: 'cancel', stream: request.stream, accountId: account, orderId };
    const { commandId } = await desk.send(cancel);
    await desk.until(() => desk.command(commandId).state === 'moot');

    expect(desk.command(command.commandId)).toMatchObject({ state: 'applied', orderId });
    expect(desk.stored(order)).toMatchObject({ status: 'filled', cumQty: '10' });
    expect(fillsOf(desk.updates(order))).toBe('10');
    expect(desk.writes.map(({ kind }) => kind)).toEqual(['place', 'cancel']);
  },
);
