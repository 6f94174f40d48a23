// What a user saw: Orders stayed missing after the clock of the service had been an hour fast.

import { expect, it, onTestFinished } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';

// Found by the simulator, seed 1023: our clock was an hour fast when the first
// list of an account showed nothing. The mark made of it hid every order that
// the stream lost in the hour that followed.
it('leaves no mark of its own clock where a list showed nothing', async () => {
  const rig = connectorsRig();
  rig.clock.stepWall(3_600_000);
  await rig.connectors.begin();
  onTestFinished(() => rig.connectors.end());
  await rig.until('account', 'live');
  await rig.clock.advance(100_000);

  expect(rig.registry.get('account', 'acct-1')?.readUpTo).toBeUndefined();
  const horizonMs = rig.clock.nowMs() - 6 * 86_400_000;
  const last = rig.platform.lists.findLast(({ stream }) => stream === 'account');
  expect(Date.parse(last?.updatedAfter ?? '')).toBeLessThan(horizonMs);
});
