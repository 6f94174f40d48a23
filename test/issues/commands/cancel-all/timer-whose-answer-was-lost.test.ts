// What a user saw: A dead man's switch fired a second time, days later, at the orders of others.

import { expect, it } from 'vitest';
import { JournalError } from '../../../../src/store/session/write-once.ts';
import { CommandRig, workingOrder } from '../../../support/commands/command-rig.ts';

const asked = { principal: 'desk', accountIds: ['acct-1'], requestId: 'request-1' };
const arm = (rig: CommandRig) => rig.during(rig.commands.cancelAfter({ ...asked, afterMs: 30_000 }));

/** The next change of timers commits, and its answer is lost. */
function losesTheAnswer(rig: CommandRig): void {
  rig.journal.hook = async (operation, transact) => {
    const result = await transact();
    if (operation !== 'setCancelTimers') return result;
    rig.journal.hook = async (_operation, next) => next();
    throw new JournalError('COMMIT_UNKNOWN', false, new Error('cut'));
  };
}

it('a first arming whose answer was lost fires in its time', async () => {
  const rig = await CommandRig.leading();
  rig.commit(workingOrder);
  losesTheAnswer(rig);
  expect(await arm(rig)).toMatchObject({ kind: 'declined', code: 'STORE_UNAVAILABLE' });
  await rig.clock.advance(45_000);
  expect(rig.entry.sent).toHaveLength(1);
});

it('a renewal whose answer was lost is one all the same, and the switch fires once', async () => {
  const first = await CommandRig.leading();
  first.commit(workingOrder);
  await arm(first);
  await first.clock.advance(15_000);
  losesTheAnswer(first);
  await arm(first);
  await first.clock.advance(20_000);
  expect(first.entry.sent).toEqual([]);
  await first.clock.advance(30_000);
  expect(first.entry.sent).toHaveLength(1);
  first.commands.endAll();
  const second = await CommandRig.leading({}, first);
  second.commit({ ...workingOrder, orderId: 'order-of-another' });
  await second.clock.advance(120_000);
  expect(second.entry.sent).toEqual([]);
});

it('a renewal that commits seconds after its answer was lost keeps the switch from firing', async () => {
  const rig = await CommandRig.leading();
  rig.commit(workingOrder);
  await arm(rig);
  await rig.clock.advance(29_000);
  rig.journal.hook = async (operation, transact) => {
    if (operation !== 'setCancelTimers') return transact();
    void rig.clock.sleep(4_000).then(transact);
    throw new JournalError('COMMIT_UNKNOWN', false, new Error('cut'));
  };
  expect(await arm(rig)).toMatchObject({ kind: 'declined', code: 'STORE_UNAVAILABLE' });
  await rig.clock.advance(30_000);
  expect(rig.entry.sent).toEqual([]);
  await rig.clock.advance(6_000);
  expect(rig.entry.sent).toHaveLength(1);
});
