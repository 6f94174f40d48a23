// What a user saw: Nothing stopped an account whose stored command, perhaps sent, could not be read.

import { expect, it } from 'vitest';
import type { WriteResult } from '../../../../src/venue/platform/write-result.ts';
import { CommandRig, placeEquity, refused, unknown, word } from '../../../support/commands/command-rig.ts';
import { accountScope } from '../../../support/commands/journal-fixtures.ts';

/** A process that takes over a shard with a command of acct-1 that can't be read. */
async function takingOver(result: WriteResult): Promise<{ rig: CommandRig; damaged: string }> {
  const before = await CommandRig.leading();
  before.entry.scripts.push({ result });
  const { commandId } = await before.send(placeEquity);
  before.commands.endAll();
  before.journal.force(`update commands set request = '{}'`);
  return { rig: await CommandRig.leading({}, before), damaged: commandId };
}

it('halts its account alone, and once: no later takeover undoes a resume', async () => {
  const { rig, damaged } = await takingOver(unknown);
  expect(await rig.declined(placeEquity)).toBe('PLACING_HALTED');
  expect(rig.journal.halts).toMatchObject([
    { haltId: `unreadable-${damaged}`, scope: accountScope('acct-1'), cause: 'unreadable', by: 'tidemark' },
  ]);
  await rig.send({ ...placeEquity, accountId: 'acct-2' });

  await rig.during(rig.commands.operator.resume(accountScope('acct-1'), word));
  const next = await CommandRig.leading({}, rig);
  await next.send(placeEquity);
  expect(next.journal.halts).toHaveLength(1);
});

it('halts nothing for a command that is over', async () => {
  const { rig } = await takingOver(refused(400));
  await rig.send(placeEquity);
  expect(rig.journal.halts).toEqual([]);
});
