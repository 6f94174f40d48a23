// What a user saw: An order with an unknown outcome was written down as failed, and a rule placed it again.

import { expect, it } from 'vitest';
import { CommandWorld, equity, prediction } from '../../../support/commands/command-world.ts';
import { outcomeUnknown } from '../../../support/commands/scripted-entry.ts';

const minute = 60_000;

// What protects: `failed` (service/run/order-entry.ts) keeps unknown apart from refused,
// `checkPlace` counts it until a person supersedes it.
it.each([equity, prediction])(
  'an unknown $stream order is never told as failed: a rule that tries again each minute places nothing until a person says so',
  async (request) => {
    const world = await CommandWorld.start();
    world.script({ applied: 'no', answer: outcomeUnknown });
    const { commandId } = await world.send(request);
    const told = new Set<string>();
    for (let i = 0; i < 30; i += 1) {
      told.add(world.command(commandId).state);
      expect(await world.declined(request)).toBe('UNRESOLVED_PRIOR_COMMAND');
      await world.pass(minute);
    }
    expect([...told]).toEqual(['unknown']);
    expect(world.command(commandId).presumedAbsent).toBe(true);
    expect(world.writes).toHaveLength(1);

    const second = await world.send(request, { supersedes: commandId });
    await world.until(() => world.command(second.commandId).state === 'applied');
    expect(await world.declined(request, { supersedes: commandId })).toBe('SUPERSEDED_NOT_ABSENT');
    expect(world.writes).toHaveLength(2);
  },
);
