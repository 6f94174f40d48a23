// What a user saw: A switch was renewed in time, and all orders were cancelled while that commit waited.

import { expect, it } from 'vitest';
import { CommandRig, workingOrder } from '../../../support/commands/command-rig.ts';

const asked = { principal: 'desk', accountIds: ['acct-1'], requestId: 'request-1', afterMs: 30_000 };

async function renewedSlowly(fails: boolean) {
  const rig = await CommandRig.leading();
  rig.commit(workingOrder);
  await rig.during(rig.commands.cancelAfter(asked));
  await rig.clock.advance(29_900);
  rig.journal.hook = async (operation, transact) => {
    if (operation !== 'setCancelTimers') return transact();
    const result = fails ? undefined : transact();
    await rig.clock.sleep(1_000);
    if (result === undefined) throw new Error('refused');
    return result;
  };
  const renewed = rig.commands.cancelAfter(asked);
  await rig.clock.advance(5_000);
  return { rig, answer: await renewed };
}

it('the switch waits for the commit, and does not fire', async () => {
  const { rig, answer } = await renewedSlowly(false);
  expect(answer).toMatchObject({ kind: 'done' });
  expect(rig.entry.sent).toEqual([]);
});

it('the switch fires where the renewal fails, once it can not commit any more', async () => {
  const { rig, answer } = await renewedSlowly(true);
  expect(answer).toMatchObject({ kind: 'declined' });
  expect(rig.entry.sent).toEqual([]);
  await rig.clock.advance(3_500);
  expect(rig.entry.sent).toHaveLength(1);
});
