// What a user saw: A command had to wait five minutes for its order while another account was audited.

import { expect, it, onTestFinished } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { accountRow, predictionRow, type Row } from '../../support/platform/platform-rows.ts';

/** Accounts A and B are live; the audit of A takes five minutes, and that of B waits for it. */
async function besideAnAuditOfA(stream: 'account' | 'prediction') {
  const rig = connectorsRig();
  rig.platform.accounts = ['A', 'B'].map((accountId) => ({ accountId, isOpen: true, isSim: true }));
  await rig.connectors.begin();
  onTestFinished(async () => {
    await rig.connectors.end();
  });
  for (const accountId of ['A', 'B']) await rig.until(stream, 'live', accountId);
  let begun = false;
  rig.platform.beforeList = async (request) => {
    if (request.accountId !== 'A' || request.stream !== stream) return;
    begun = true;
    await rig.clock.sleep(300_000);
  };
  await rig.clock.advanceUntil(() => begun, 120_000);
  await rig.clock.advance(75_000);
  rig.platform.gets.length = 0;
  return rig;
}

async function secondsUntil(rig: Awaited<ReturnType<typeof besideAnAuditOfA>>, done: () => boolean): Promise<number> {
  const startedMs = rig.clock.monotonicMs();
  await rig.clock.advanceUntil(done, 900_000);
  return (rig.clock.monotonicMs() - startedMs) / 1_000;
}

it('looks for the order of a command at once', async () => {
  const rig = await besideAnAuditOfA('account');
  const access = rig.connectors.account('account', 'B');
  const { signal } = new AbortController();
  let answered = 0;
  for (const look of [
    access?.lookFor('tm-1', signal),
    access?.lookAt('ord-1', signal),
    access?.lookAtAll(undefined, signal),
  ])
    void look?.then(() => {
      answered += 1;
    });
  expect(await secondsUntil(rig, () => answered === 3)).toBeLessThan(1);
});

it('asks at once for the order of a frame that cannot be read', async () => {
  const rig = await besideAnAuditOfA('account');
  rig.platform.emit('account', 'B', { ...accountRow, accountId: 'B', qty: 'abc' } as Row);
  expect(await secondsUntil(rig, () => rig.platform.gets.length > 0)).toBeLessThan(1);
});

it('reads an account again at once when the platform reports a gap', async () => {
  const rig = await besideAnAuditOfA('prediction');
  rig.platform.emit('prediction', 'B', { ...predictionRow, accountId: 'B', certainty: 'unknown_gap' }, 5n);
  expect(rig.state('prediction', 'B')).toBe('resyncing');
  expect(await secondsUntil(rig, () => rig.state('prediction', 'B') === 'live')).toBeLessThan(1);
});
