// What a user saw: Orders were cancelled by a timer that their principal had switched off during a takeover.

import { expect, it } from 'vitest';
import { CommandRig, workingOrder } from '../../../support/commands/command-rig.ts';

// A takeover read the timers, the principal disarmed its own, and the answer of the read armed it
// again: the orders of a principal that was there were cancelled.
it('a timer that is disarmed while a takeover reads the timers stays disarmed', async () => {
  const first = await CommandRig.leading();
  first.commit({ ...workingOrder, orderId: 'order-1' });
  const asked = { principal: 'desk', accountIds: ['acct-1'], requestId: 'request-1' };
  await first.during(first.commands.cancelAfter({ ...asked, afterMs: 30_000 }));
  first.commands.endAll();
  const { journal } = first;
  const { armedCancelTimers } = journal;
  const answer = Promise.withResolvers<void>();
  journal.armedCancelTimers = async (lane) => {
    const timers = await armedCancelTimers.call(journal, lane);
    await answer.promise;
    return timers;
  };
  const second = await CommandRig.leading({}, first);
  expect(await second.during(second.commands.cancelAfter({ ...asked, afterMs: 0 }))).toMatchObject({ kind: 'done' });
  journal.armedCancelTimers = armedCancelTimers;
  answer.resolve();
  await second.clock.advance(120_000);
  expect(second.entry.sent).toEqual([]);
});
