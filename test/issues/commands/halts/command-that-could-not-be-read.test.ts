// What a user saw: Nothing stopped an account whose stored command, perhaps sent, could not be read.

import { expect, it } from 'vitest';
import { CommandRig, placeEquity, word } from '../../../support/commands/command-rig.ts';
import { accountScope } from '../../../support/commands/journal-fixtures.ts';

/** A process that takes over a shard with a command of acct-1 that can't be read. */
async function takingOver(isFinal: boolean): Promise<CommandRig> {
  const rig = new CommandRig();
  rig.journal.unreadable.push({
    ...{ commandId: 'c-1', accountId: 'acct-1', isFinal, updatedAtMs: 0, fault: 'command.request' },
  });
  await rig.begin(1n);
  return rig;
}

it('halts its account alone, and once: no later takeover undoes a resume', async () => {
  const rig = await takingOver(false);
  expect(await rig.declined(placeEquity)).toBe('PLACING_HALTED');
  expect(rig.journal.halts).toMatchObject([
    { haltId: 'unreadable-c-1', scope: accountScope('acct-1'), cause: 'unreadable', by: 'tidemark' },
  ]);
  await rig.send({ ...placeEquity, accountId: 'acct-2' });

  await rig.during(rig.commands.operator.resume(accountScope('acct-1'), word));
  const next = await CommandRig.leading({}, rig);
  await next.send(placeEquity);
  expect(next.journal.halts).toHaveLength(1);
});

it('halts nothing for a command that is over', async () => {
  const rig = await takingOver(true);
  await rig.send(placeEquity);
  expect(rig.journal.halts).toEqual([]);
});
