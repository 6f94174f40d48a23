// What a user saw: An account waited 209 s to become live because the lists of other accounts got no answer.

import { expect, it, onTestFinished } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';

const broken = Array.from({ length: 30 }, (_, i) => `broken-${i}`);

/**
 * Invariant: one account in trouble delays no other. Thirty whose lists fail after half a minute
 * held all eight places of the reads that make accounts live.
 */
it('an account becomes live at once, however many others wait for lists that are never answered', async () => {
  const rig = connectorsRig();
  rig.platform.accounts = [...broken, 'healthy'].map((accountId) => ({ accountId, isOpen: true, isSim: true }));
  rig.platform.beforeList = ({ accountId }) => (accountId === 'healthy' ? Promise.resolve() : rig.clock.sleep(30_000));
  rig.platform.listError = ({ accountId }) =>
    accountId === 'healthy' ? undefined : { status: 504, message: 'too late', retryable: true, sent: 'yes' };
  await rig.connectors.begin();
  onTestFinished(() => rig.connectors.end());
  await rig.until('account', 'live', 'healthy', 300_000);
  // Each of them, on both streams, has its first turn among all others.
  await rig.clock.advance(300_000);
  const waits: number[] = [];
  for (let i = 0; i < 5; i += 1) {
    rig.socket('account').end({ kind: 'closed', code: 1001, reason: 'restart' });
    await rig.until('account', 'resyncing', 'healthy');
    const fromMs = rig.clock.monotonicMs();
    await rig.until('account', 'live', 'healthy', 300_000);
    waits.push(rig.clock.monotonicMs() - fromMs);
    await rig.clock.advance(40_000);
  }
  expect(Math.max(...waits)).toBeLessThan(1_000);
});
