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
    const desk = await CommandWorld.start();
    desk.script({ applied: 'no', answer: outcomeUnknown });
    const { commandId } = await desk.send(request);
    const told = new Set<string>();
    for (let i = 0; i < 30; i += 1) {
      told.add(desk.command(commandId).state);
      expect(await desk.declined(request)).toBe('UNRESOLVED_PRIOR_COMMAND');
      await desk.pass(minute);
    }
    expect([...told]).toEqual(['unknown']);
    expect(desk.command(commandId).presumedAbsent).toBe(true);
    expect(desk.writes).toHaveLength(1);

    const second = await desk.send(request, { supersedes: commandId });
    await desk.until(() => desk.command(second.commandId).state === 'applied');
    expect(await desk.declined(request, { supersedes: commandId })).toBe('SUPERSEDED_NOT_ABSENT');
    expect(desk.writes).toHaveLength(2);
  },
);
