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
    const desk = await CommandWorld.start();
    desk.world.platform.stream.faults = { ...noStreamFaults, silentLoss: 1 };
    desk.script({ applied: { lateMs: 30_000 }, answer: duplicate });
    const { commandId, state, reason } = await desk.send(request);
    expect([state, reason?.status]).toEqual(['unknown', 409]);
    await desk.pass(29_000);
    expect(desk.command(commandId).state).toBe('unknown');
    await desk.until(() => desk.command(commandId).orderId !== undefined, 120_000);
    expect(['accepted', 'applied']).toContain(desk.command(commandId).state);
    expect(desk.command(commandId).orderId).toBe(desk.landed(commandId).terms.orderId);
    expect(desk.writes).toHaveLength(1);
  },
);
