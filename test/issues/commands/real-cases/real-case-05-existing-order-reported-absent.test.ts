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
    const world = await CommandWorld.start();
    world.simulated.platform.stream.faults = { ...noStreamFaults, silentLoss: 1 };
    world.script({ applied: { lateMs: 50 }, answer: outcomeUnknown });
    const { commandId } = await world.send(request);
    await world.until(() => world.ordersOf(commandId).length === 1);
    const { orderId } = world.landed(commandId).terms;
    world.reads.hidden.add(orderId);

    await world.pass(5 * minute);
    expect(world.command(commandId)).toMatchObject({ state: 'unknown', presumedAbsent: false });
    await world.pass(10 * minute);
    expect(world.command(commandId)).toMatchObject({ state: 'unknown', presumedAbsent: true });
    expect(await world.declined(request)).toBe('UNRESOLVED_PRIOR_COMMAND');

    world.reads.hidden.clear();
    await world.until(() => world.command(commandId).state === 'applied', 60 * minute);
    expect(world.command(commandId)).toMatchObject({ orderId, presumedAbsent: false });
    await world.until(() => world.service.commands.operator.halts.list().length > 0);
    expect(world.service.commands.operator.halts.list()).toMatchObject([
      { cause: 'late_landing', scope: { kind: 'account' } },
    ]);
    expect(world.writes).toHaveLength(1);
  },
);
