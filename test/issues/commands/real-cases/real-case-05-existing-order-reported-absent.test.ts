// What a user saw: An exchange answered "no such order" about a live order, and callers placed it again.

import { expect, it } from 'vitest';
import { noStreamFaults } from '../../../simulation/plan/stream-faults.ts';
import { CommandWorld, equity, prediction } from '../../../support/commands/command-world.ts';
import { outcomeUnknown } from '../../../support/commands/scripted-entry.ts';

const minute = 60_000;

// What protects: presumed absent is a label: `checkPlace` (domain/command-checks.ts) counts the
// command among the unresolved all the same.
it.each([equity, prediction])(
  'a $stream order that no read shows for 15 minutes is presumed absent at most, frees no second one, and is its own when it appears',
  async (request) => {
    const desk = await CommandWorld.start();
    desk.world.platform.stream.faults = { ...noStreamFaults, silentLoss: 1 };
    desk.script({ applied: { lateMs: 50 }, answer: outcomeUnknown });
    const { commandId } = await desk.send(request);
    await desk.until(() => desk.ordersOf(commandId).length === 1);
    const { orderId } = desk.landed(commandId).terms;
    desk.reads.hidden.add(orderId);

    await desk.pass(5 * minute);
    expect(desk.command(commandId)).toMatchObject({ state: 'unknown', presumedAbsent: false });
    await desk.pass(10 * minute);
    expect(desk.command(commandId)).toMatchObject({ state: 'unknown', presumedAbsent: true });
    expect(await desk.declined(request)).toBe('UNRESOLVED_PRIOR_COMMAND');

    desk.reads.hidden.clear();
    await desk.until(() => desk.command(commandId).state === 'applied', 60 * minute);
    expect(desk.command(commandId)).toMatchObject({ orderId, presumedAbsent: false });
    expect(desk.service.commands.operator.halts.list()).toMatchObject([
      { cause: 'late_landing', scope: { kind: 'account' } },
    ]);
    expect(desk.writes).toHaveLength(1);
  },
);
