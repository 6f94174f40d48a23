// What a user saw: One account without an answer made all accounts of its login reconnect every five seconds.

import { describe, expect, it, onTestFinished } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { accountRow } from '../../support/platform/platform-rows.ts';

const healthy = Array.from({ length: 9 }, (_, i) => `acct-${i + 1}`);
const mute = 'acct-mute';

/** Ten accounts, one of which the platform does not answer until `answers` says so. */
async function tenAccounts() {
  const shard = { isOurs: true };
  const rig = connectorsRig({ isOurs: (accountId) => accountId !== mute || shard.isOurs });
  rig.platform.accounts = [...healthy, mute].map((accountId) => ({ accountId, isOpen: true, isSim: true }));
  const asked: number[] = [];
  const platform = { answers: false, answerMs: undefined as number | undefined };
  rig.platform.subscription = (stream, accountId) => {
    if (stream !== 'account' || accountId !== mute) return 'acknowledge';
    asked.push(rig.clock.monotonicMs());
    if (platform.answerMs !== undefined) return { afterMs: platform.answerMs };
    return platform.answers ? 'acknowledge' : 'silent';
  };
  await rig.begin();
  const sockets = () => rig.platform.sockets.filter(({ url }) => url === 'ws://account').length;
  /** The shard of the mute account goes to another process, or comes back. */
  const hold = (isOurs: boolean) => {
    shard.isOurs = isOurs;
    rig.connectors.review();
  };
  return { ...rig, asked, mutePlatform: platform, sockets, hold };
}

describe('a subscription that is never answered', () => {
  it('is the trouble of its account alone: the others stay live on one connection', async () => {
    const rig = await tenAccounts();
    for (const accountId of healthy) await rig.until('account', 'live', accountId);
    for (let s = 0; s < 600; s += 1) {
      await rig.clock.advance(1_000);
      expect(new Set(healthy.map((accountId) => rig.state('account', accountId)))).toEqual(new Set(['live']));
    }
    expect(rig.sockets()).toBe(1);
    expect(rig.state('account', mute)).toBe('unanswered');
    expect(rig.account('account', mute)?.lastError).toMatch(/does not answer the subscription/);
    const { values } = await rig.metrics.state.get();
    expect(values.find(({ labels }) => labels.source === 'account' && labels.state === 'unanswered')?.value).toBe(1);
  });

  it('is asked again after waits that grow to a minute, and is live once it is answered', async () => {
    const rig = await tenAccounts();
    await rig.clock.advance(400_000);
    const waits = rig.asked.slice(1).map((ms, i) => Math.round((ms - (rig.asked[i] ?? 0)) / 1_000));
    expect(waits).toEqual([5, 10, 20, 40, 60, 60, 60, 60, 60]);
    rig.mutePlatform.answers = true;
    await rig.until('account', 'live', mute);
    expect(rig.sockets()).toBe(1);
  });

  it('counts as answered by a late answer to any of its requests', async () => {
    const rig = await tenAccounts();
    // Each answer comes after the next request has left.
    rig.mutePlatform.answerMs = 7_000;
    await rig.until('account', 'unanswered', mute);
    await rig.until('account', 'live', mute);
    const before = rig.sink.observations.length;
    rig.platform.emit('account', mute, { ...accountRow, accountId: mute });
    expect(rig.sink.observations).toHaveLength(before + 1);
    await rig.clock.advance(120_000);
    expect([rig.state('account', mute), rig.sockets(), rig.asked.length]).toEqual(['live', 1, 2]);
  });

  it('does not let the late answer of a subscription that was given up stand for the next one', async () => {
    const rig = await tenAccounts();
    rig.mutePlatform.answerMs = 30_000;
    await rig.until('account', 'unanswered', mute);
    rig.hold(false);
    expect(await rig.clock.advanceUntil(() => rig.account('account', mute) === undefined, 600_000)).toBe(true);
    rig.mutePlatform.answerMs = undefined;
    rig.hold(true);
    expect(await rig.clock.advanceUntil(() => rig.account('account', mute) !== undefined, 600_000)).toBe(true);
    await rig.clock.advance(122_000);
    expect(rig.state('account', mute)).toBe('unanswered');
  });

  it('does not hold up the change to a newer token', async () => {
    const rig = await tenAccounts();
    for (const accountId of healthy) await rig.until('account', 'live', accountId);
    const marks = rig.sink.marks('acct-1').length;
    rig.platform.renewToken();
    await rig.clock.advance(60_000);
    expect(rig.sockets()).toBe(2);
    expect(rig.platform.live.filter(({ url }) => url === 'ws://account').map(({ token }) => token)).toEqual(['t2']);
    expect(rig.sink.marks('acct-1').slice(marks)).not.toContain('lost');
    expect(rig.state('account', mute)).toBe('unanswered');
  });
});

it('a connection that answers no subscription at all is given up', async () => {
  const rig = connectorsRig();
  rig.platform.subscription = () => 'silent';
  await rig.connectors.begin();
  onTestFinished(() => rig.connectors.end());
  await rig.clock.advance(20_000);
  expect(rig.platform.sockets.filter(({ url }) => url === 'ws://account').length).toBeGreaterThan(2);
  rig.platform.subscription = () => 'acknowledge';
  await rig.until('account', 'live');
});
