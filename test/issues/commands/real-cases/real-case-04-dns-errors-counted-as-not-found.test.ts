// What a user saw: Six live orders disappeared from the books after some minutes of DNS errors.

import { expect, it } from 'vitest';
import { noStreamFaults } from '../../../simulation/plan/stream-faults.ts';
import { CommandWorld, equity } from '../../../support/commands/command-world.ts';
import { outcomeUnknown } from '../../../support/commands/scripted-entry.ts';

// The name service failed for some minutes; each failed query counted as "not found", and six live
// orders were dropped from the books. What protects: `resultOf` (service/run/command-parts.ts): a
// read that did not end well is `failed`, which has no shape among misses.
it('six orders that landed while nobody could be asked stay unknown for as long as that lasts, and are all found afterwards', async () => {
  const world = await CommandWorld.start();
  const { platform } = world.simulated;
  world.script(...Array.from({ length: 6 }, () => ({ applied: { lateMs: 3_000 }, answer: outcomeUnknown }) as const));
  const sent: string[] = [];
  for (let i = 1; i <= 6; i += 1) {
    const terms = { ...equity.terms, qty: String(i) };
    sent.push((await world.send({ ...equity, terms })).commandId);
  }
  platform.http.down = true;
  platform.stream.down = true;
  platform.stream.faults = { ...noStreamFaults, silentLoss: 1 };
  await world.pass(20 * 60_000);

  for (const commandId of sent) {
    expect(world.landed(commandId)).toBeDefined();
    expect(world.command(commandId)).toMatchObject({ state: 'unknown', presumedAbsent: false, misses: 0 });
  }
  platform.http.down = false;
  platform.stream.down = false;
  platform.stream.faults = noStreamFaults;
  await world.until(() => sent.every((commandId) => world.command(commandId).state === 'applied'), 40 * 60_000);
  expect(world.writes).toHaveLength(6);
});
