// What a user saw: After a token change, every order event came twice until the token ended.

import { expect, it, onTestFinished } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';

// Found by reading: the platform closed the old connection while the one with the newer token was
// still opening. That one took over during the backoff, then a third was opened over it, and nobody
// closed the second: every event came twice until its token ended.
it('leaves one connection when the old one ends while its replacement is still opening', async () => {
  const rig = connectorsRig();
  await rig.connectors.begin();
  onTestFinished(() => rig.connectors.end());
  await rig.until('account', 'live');
  await rig.until('prediction', 'live');
  for (let i = 0; i < 10; i += 1) {
    const old = rig.socket('account');
    rig.platform.renewToken();
    old.end({ kind: 'closed', code: 4401, reason: 'token replaced' });
    await rig.clock.advance(60_000);
    expect(rig.platform.live.filter(({ url }) => url === 'ws://account')).toHaveLength(1);
    expect(rig.state('account')).toBe('live');
  }
});
