// What a user saw: After a failover one version of a command was published twice, with two outcomes.

import { expect, it } from 'vitest';
import { CommandRig, placeEquity } from '../../support/commands/command-rig.ts';

// The database had lost the last step of a command. The process that had made it met an older
// version, and gave the number of the lost one again, before a renewal noticed the loss.
it('a step that the journal has lost is noticed before its number is given again', async () => {
  const asked: object[] = [];
  const versions: number[] = [];
  const rig = await CommandRig.leading({
    noticeLost: async (seen) => {
      asked.push(seen);
      versions.push(rig.command(commandId).version);
    },
  });
  const { commandId, ...accepted } = await rig.send(placeEquity);
  expect(accepted).toMatchObject({ state: 'accepted', version: 2 });
  rig.loseSteps(commandId);
  rig.land(commandId);
  await rig.clock.advance(1_000);
  expect(asked).toEqual([['step', commandId, 2, accepted.updatedAtMs]]);
  expect(versions, 'before anything is written').toEqual([1]);
});

it('a step that another writer made first is no loss', async () => {
  const asked: object[] = [];
  const rig = await CommandRig.leading({ noticeLost: async (seen) => void asked.push(seen) });
  const command = await rig.send(placeEquity);
  rig.journal.force('update commands set version = 5 where command_id = $1', [command.commandId]);
  rig.land(command.commandId);
  await rig.clock.advance(1_000);
  expect([rig.command(command.commandId).state, asked]).toEqual(['applied', []]);
});
