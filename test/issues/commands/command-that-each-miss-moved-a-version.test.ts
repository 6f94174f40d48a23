// What a user saw: A command that stayed unknown got version 35 and sent events without any news in them.

import { expect, it } from 'vitest';
import { CommandRig, placeEquity, unknown } from '../../support/commands/command-rig.ts';

const minute = 60_000;

// Each read that did not show an unknown command was a step: an event on Kafka for nothing, and
// version 35 of a command of which nothing had become known.
it('an unknown command is told once, and once more when it is presumed absent, however often it is missed', async () => {
  const rig = await CommandRig.leading();
  rig.entry.scripts.push({ result: unknown });
  const { commandId, version } = await rig.send(placeEquity);
  const events = rig.journal.events.length;
  await rig.clock.advance(9.5 * minute);
  expect(rig.command(commandId)).toMatchObject({ version, presumedAbsent: false });
  expect(rig.command(commandId).misses).toBeGreaterThan(10);
  expect(rig.codes(commandId).filter((code) => code === 'missed')).toHaveLength(rig.command(commandId).misses);
  expect(rig.journal.events).toHaveLength(events);
  await rig.clock.advance(60 * minute);
  expect(rig.command(commandId)).toMatchObject({ version: version + 1, presumedAbsent: true });
  expect(rig.journal.events).toHaveLength(events + 1);
});

it('a miss that comes behind the order changes nothing', async () => {
  const rig = await CommandRig.leading();
  rig.entry.scripts.push({ result: unknown });
  const { commandId } = await rig.send(placeEquity);
  rig.journal.hook = async (operation, transact) => {
    if (operation === 'noteMisses') rig.land(commandId);
    if (operation === 'noteMisses') await rig.clock.sleep(50);
    return transact();
  };
  await rig.clock.advance(2_000);
  expect(rig.command(commandId)).toMatchObject({ state: 'applied', misses: 0 });
  expect(rig.codes(commandId)).not.toContain('missed');
});
