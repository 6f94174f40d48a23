// What a user saw: A cancel was answered with 429 while 200 places of the same account were waiting.

import { expect, it } from 'vitest';
import { CommandRig, cancelWorking, placeEquity, word, workingOrder } from '../../support/commands/command-rig.ts';

// Found in review: cancels stood in the same line as places, and got 429 when 200 of them waited: a
// strategy that runs wild could not be cancelled, nor could cancel-all.
it('a cancel goes out at once, however many places and cancels of the account wait', async () => {
  const rig = await CommandRig.leading({ maxWaitingPerAccount: 3 });
  rig.commit({ ...workingOrder, orderId: 'other' });
  rig.commit(workingOrder);
  rig.journal.hook = async (_operation, transact) => {
    await rig.clock.sleep(20);
    return transact();
  };
  const place = (qty: number) => ({ ...placeEquity, terms: { ...placeEquity.terms, qty: String(qty) } });
  const places = [1, 2, 3, 4, 5].map((qty) => rig.commands.submit(rig.submission(place(qty))));
  const cancels = Array.from({ length: 5 }, () =>
    rig.commands.submit(rig.submission({ ...cancelWorking, orderId: 'other' })),
  );
  const all = rig.commands.cancelAll({ kind: 'account', accountId: 'acct-1' }, { ...word, idempotencyKey: 'all' });
  const [placed, canceled, swept] = await rig.during(Promise.all([Promise.all(places), Promise.all(cancels), all]));
  expect(placed.map((result) => (result.kind === 'declined' ? result.code : result.kind))).toEqual([
    ...['journaled', 'journaled', 'journaled', 'RATE_LIMITED', 'RATE_LIMITED'],
  ]);
  expect(canceled.map(({ kind }) => kind)).toEqual(Array(5).fill('journaled'));
  expect(swept).toMatchObject({ orders: [{ result: { kind: 'journaled' } }, { result: { kind: 'journaled' } }] });
  expect(rig.entry.sent.filter(({ request }) => request.kind === 'cancel')).toHaveLength(7);
});
