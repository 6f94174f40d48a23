// What a user saw: A platform's keep-alives were each a row of the quarantine, from every connection.

import { expect, it } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';

const hour = 3_600_000;

it('one keep-alive of an unknown name is kept aside in an hour, and a hundred kinds at most', async () => {
  const rig = connectorsRig();
  await rig.begin();
  await rig.until('account', 'live');
  const odd = (type: string) => rig.socket('account').deliver(JSON.stringify({ type }));
  const kept = () => rig.sink.items.filter((item) => item.kind === 'unreadable').length;
  for (let i = 0; i < 20; i += 1) odd('keep_alive');
  expect(kept()).toBe(1);
  for (let i = 0; i < 500; i += 1) odd(`keep_alive ${i}`);
  expect(kept()).toBe(100);
  await rig.clock.advance(hour);
  odd('keep_alive');
  expect(kept()).toBe(101);
});
