// What a user saw: A platform that sends nothing while nothing happens was connected anew every 45 s.

import { expect, it } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';

/** Live on a platform that answers pings, and sends no message of its own. */
async function quiet() {
  const rig = connectorsRig();
  rig.platform.heartbeats = false;
  await rig.begin();
  await rig.until('account', 'live');
  return rig;
}

it('stays connected, since the platform answers a subscription once more', async () => {
  const { clock, socket, state, sink } = await quiet();
  const first = socket('account');
  await clock.advance(600_000);
  expect(socket('account')).toBe(first);
  expect(state('account')).toBe('live');
  expect(sink.items.filter((item) => item.kind === 'continuity' && item.event === 'lost')).toEqual([]);
});

it('is connected anew where that is not answered either', async () => {
  const { clock, socket, platform } = await quiet();
  const first = socket('account');
  platform.subscription = () => 'silent';
  await clock.advance(60_000);
  expect(first.state).toBe('ended');
});
