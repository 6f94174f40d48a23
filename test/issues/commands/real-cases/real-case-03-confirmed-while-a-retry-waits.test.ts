// What a user saw: A retry timer placed an order again although the stream had already confirmed it.

import { expect, it } from 'vitest';
import { CommandWorld, equity, prediction } from '../../../support/commands/command-world.ts';
import { atCapacity, outcomeUnknown } from '../../../support/commands/scripted-entry.ts';

const hour = 3_600_000;

// What protects: `ProbeWatch.forget` (service/commands/probe-watch.ts) takes
// the timers with it when a command is over.
it('what the stream confirms has no timer left: nothing is written and nothing is looked up for it in the hour after', async () => {
  const world = await CommandWorld.start();
  world.script({ applied: { lateMs: 100 }, answer: outcomeUnknown });
  const { commandId } = await world.send(equity);
  await world.until(() => world.command(commandId).state === 'applied', 5_000);
  expect(world.evidenceCodes(commandId)).toContain('landed');
  const [writes, lookups] = [world.writes.length, world.reads.lookups.length];
  await world.pass(hour);
  expect([world.writes.length, world.reads.lookups.length]).toEqual([writes, lookups]);
  expect(writes).toBe(1);
});

it('the one retry there is, after the documented word that nothing was sent, is a new attempt of the same command and the last', async () => {
  const world = await CommandWorld.start();
  world.script({ applied: 'no', answer: atCapacity });
  const { commandId } = await world.send(prediction);
  await world.until(() => world.command(commandId).state === 'applied');
  await world.pass(hour);
  const { attempts } = world.command(commandId);
  expect(attempts.map(({ state }) => state)).toEqual(['not_sent', 'accepted']);
  expect(world.writes.map(({ attemptId }) => attemptId)).toEqual(attempts.map(({ attemptId }) => attemptId));
  expect(world.ordersOf(commandId)).toHaveLength(1);
});
