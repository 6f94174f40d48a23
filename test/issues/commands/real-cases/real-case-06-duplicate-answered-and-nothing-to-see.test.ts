// What a user saw: A new order was answered with "duplicate" and was in no list, and it appeared later.

import { expect, it } from 'vitest';
import { noStreamFaults } from '../../../simulation/plan/stream-faults.ts';
import { CommandWorld, equity, prediction } from '../../../support/commands/command-world.ts';
import { answered } from '../../../support/commands/scripted-entry.ts';

const duplicate = answered(409, {
  error: { type: 'conflict', code: 'DUPLICATE_ORDER', message: 'Duplicate client order id' },
});

// What protects: the statuses of `place_order` and `isOtherConflict`
// (venue/platform/order-writes.ts, judge-write.ts).
it.each([equity, prediction])(
  '"duplicate" in answer to the only $stream order is no refusal: it stays unknown until the order shows',
  async (request) => {
    const world = await CommandWorld.start();
    world.simulated.platform.stream.faults = { ...noStreamFaults, silentLoss: 1 };
    world.script({ applied: { lateMs: 30_000 }, answer: duplicate });
    const { commandId, state, reason } = await world.send(request);
    expect([state, reason?.status]).toEqual(['unknown', 409]);
    await world.pass(29_000);
    expect(world.command(commandId).state).toBe('unknown');
    await world.until(() => world.command(commandId).orderId !== undefined, 120_000);
    expect(['accepted', 'applied']).toContain(world.command(commandId).state);
    expect(world.command(commandId).orderId).toBe(world.landed(commandId).terms.orderId);
    expect(world.writes).toHaveLength(1);
  },
);
