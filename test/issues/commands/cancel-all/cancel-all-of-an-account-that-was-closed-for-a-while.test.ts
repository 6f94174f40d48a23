// What a user saw: A cancel-all ended while an account was closed, and an order was open when it reopened.

import { expect, it } from 'vitest';
import { CommandRig, placeEquity, unknown, word } from '../../../support/commands/command-rig.ts';

/**
 * A place landed after a cancel-all had named it, while its account was closed at the
 * platform. "No account of this id is followed" counted as an answer for good, so the
 * cancel-all ended, and the order stayed open when the account was opened again (simulated
 * seed 1214, with shards that are taken more quickly).
 */
it('a cancel-all stays in force while an account is closed, and cancels once it is open again', async () => {
  const rig = await CommandRig.leading();
  rig.entry.scripts.push({ result: unknown });
  const { commandId } = await rig.send(placeEquity);
  const cancelAll = () =>
    rig.during(rig.commands.cancelAll({ kind: 'account', accountId: 'acct-1' }, { ...word, idempotencyKey: 'all' }));
  await cancelAll();
  const canceled = () => rig.entry.sent.filter(({ request }) => request.kind === 'cancel').length;
  const { now } = rig.probes;
  rig.probes.now = { ...now, known: false };
  rig.land(commandId);
  await rig.clock.advance(60_000);
  expect(canceled()).toBe(0);
  rig.probes.now = now;
  expect(await cancelAll()).toMatchObject({ inForce: true, open: true });
  await rig.clock.advance(6_000);
  expect(canceled()).toBe(1);
  expect(await cancelAll()).toMatchObject({ inForce: false, open: false });
});
