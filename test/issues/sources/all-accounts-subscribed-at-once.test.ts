// What a user saw: With a thousand accounts the stream reconnected again and again, and never became live.

import { expect, it, onTestFinished } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';

// Found by reading: every account was subscribed at once, each with 5 s for its answer. A platform
// that takes 6 ms for each, one after the other, was never done with a thousand in time: the
// connection was given up for the last ones, opened again, and all began anew.
it('has at most 50 subscriptions wait for their answer, and so gets a thousand through a platform that takes its time', async () => {
  const rig = connectorsRig({ timings: { auditMs: 3_600_000 } });
  rig.platform.accounts = Array.from({ length: 1000 }, (_, i) => ({
    accountId: `acct-${i}`,
    isOpen: true,
    isSim: true,
  }));
  const { clock } = rig;
  let waiting = 0;
  let most = 0;
  let freeMs = 0;
  rig.platform.subscription = (topic) => {
    if (topic !== 'account') return 'acknowledge';
    freeMs = Math.max(freeMs, clock.monotonicMs()) + 6;
    waiting += 1;
    most = Math.max(most, waiting);
    const afterMs = freeMs - clock.monotonicMs();
    clock.after(afterMs, () => {
      waiting -= 1;
    });
    return { afterMs };
  };
  await rig.connectors.begin();
  onTestFinished(() => rig.connectors.end());
  const subscribed = () => rig.socket('account').subscribed.size;
  await clock.advance(20_000);

  expect(most).toBe(50);
  expect(subscribed()).toBe(1000);
  expect(rig.platform.sockets.filter(({ url }) => url === 'ws://account')).toHaveLength(1);
});
