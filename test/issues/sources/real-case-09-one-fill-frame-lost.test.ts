// What a user saw: The last fill of an order was missing, and the position was wrong until a person looked.

import { expect, it } from 'vitest';
import { fillOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { fixed, whole } from '../../../src/sandbox/exchange/wire-text.ts';
import { noStreamFaults } from '../../simulation/plan/stream-faults.ts';
import { CommandWorld, equity } from '../../support/commands/command-world.ts';
import { fillsOf } from '../../support/platform/fills-of.ts';

// The frame of the last fill was lost on a socket that stayed up and answered its pings; the
// position was wrong until a person looked. What protects: the audit
// (service/sources/account-session.ts).
it.each([equity])(
  'the last fill of an order is booked although its frame was lost on a connection that went on',
  async (request) => {
    const world = await CommandWorld.start({ auditMs: 30_000 });
    const { order, command } = await world.working(request);
    const { stream } = world.simulated.platform;
    stream.faults = { ...noStreamFaults, silentLoss: 1 };
    fillOrder(world.exchange, order, whole(10), fixed('200'));
    stream.faults = noStreamFaults;
    await world.pass(5_000);
    expect(world.stored(order).cumQty, 'nobody told us').toBe('0');
    await world.until(() => world.stored(order).status === 'filled', 120_000);
    expect(fillsOf(world.updates(order))).toBe('10');
    expect(world.updates(order).at(-1)).toMatchObject({ order: { commandId: command.commandId, origin: 'tidemark' } });
  },
);
