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
    const world = await CommandWorld.start();
    const { command, order } = await world.working(request);
    const { stream } = world.simulated.platform;
    stream.faults = { ...noStreamFaults, silentLoss: 1 };
    fillOrder(world.exchange, order, whole(10), fixed('0.4'));
    const { orderId } = order.terms;
    const cancel: CommandRequest = { kind: 'cancel', stream: request.stream, accountId: account, orderId };
    const { commandId } = await world.send(cancel);
    await world.until(() => world.command(commandId).state === 'moot');

    expect(world.command(command.commandId)).toMatchObject({ state: 'applied', orderId });
    expect(world.stored(order)).toMatchObject({ status: 'filled', cumQty: '10' });
    expect(fillsOf(world.updates(order))).toBe('10');
    expect(world.writes.map(({ kind }) => kind)).toEqual(['place', 'cancel']);
  },
);
