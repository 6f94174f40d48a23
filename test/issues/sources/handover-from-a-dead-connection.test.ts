// What a user saw: Orders were missing after a token renewal, while the stream was marked complete.

import { expect, it } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { accountRow } from '../../support/platform/platform-rows.ts';

async function live() {
  const rig = connectorsRig();
  await rig.begin();
  await rig.until('account', 'live');
  await rig.clock.advance(6_000);
  return rig;
}

// Found by the simulator, seeds 2297 and 4513: a connection is replaced when the token is
// renewed, and the new one is subscribed before the old one is closed, so nothing is missed
// between the two. Unless the old one had been half open for some seconds: what it lost in
// them was found by the next audit only, and "complete up to" was said all the while. The
// goodbye of the old connection tells the two apart.
it('reads the account again when the connection that was replaced had been dead for a moment', async () => {
  const rig = await live();
  const old = rig.socket('account');
  old.answers = false;
  const deadSinceMs = rig.clock.nowMs();
  await rig.clock.advance(1_000);
  rig.platform.rows.set('account:acct-1', [{ ...accountRow, updatedAt: '2026-11-21T15:00:00Z' }]);
  const marks = rig.sink.items.length;
  rig.platform.renewToken();
  await rig.clock.advance(4_000);

  expect(old.state).toBe('ended');
  expect(rig.sink.observations.map(({ view }) => view.orderId)).toEqual(['ord-1']);
  expect(rig.state('account')).toBe('live');
  const said = rig.sink.items.slice(marks).filter((item) => item.kind === 'continuity' && item.stream === 'account');
  expect(said.map((item) => 'event' in item && item.event)).toEqual(['lost', 'resynchronised', 'live']);
  expect(said[0]).toMatchObject({ event: 'lost', reason: 'replaced_unproven' });
  expect(said[0]?.kind === 'continuity' && (said[0].fromMs ?? Number.NaN) <= deadSinceMs).toBe(true);
});

it('says that nothing is complete beyond the last message of the old connection, until it has said goodbye', async () => {
  const rig = await live();
  // The next heartbeat is due while the connection that was replaced has not ended yet.
  await rig.clock.advance(7_500);
  const old = rig.socket('account');
  old.answers = false;
  const lastSignMs = rig.clock.nowMs();
  rig.platform.renewToken();
  await rig.clock.advance(1_900);
  expect([old.state, rig.state('account')]).toEqual(['open', 'live']);
  const said = rig.sink.items.filter((item) => item.kind === 'continuity' && item.stream === 'account');
  expect(said).toMatchObject([{ event: 'live' }, { event: 'heartbeat' }]);
  for (const item of said) if (item.kind === 'continuity') expect(item.atMs).toBeLessThanOrEqual(lastSignMs);
  await rig.clock.advance(4_000);
  expect([old.state, rig.sink.marks('acct-1').at(-1)]).toEqual(['ended', 'live']);
});

// Found by the simulator, seed 16563: the token is renewed again before the first connection, which
// is dead, has ended. The goodbye of the second was taken for that of both.
it('reads the account again when the connection that replaced the dead one is itself replaced, and says goodbye, before the dead one has ended', async () => {
  const rig = await live();
  const dead = rig.socket('account');
  dead.answers = false;
  const deadSinceMs = rig.clock.nowMs();
  await rig.clock.advance(1_000);
  rig.platform.rows.set('account:acct-1', [{ ...accountRow, updatedAt: '2026-11-21T15:00:00Z' }]);
  const before = rig.sink.marks('acct-1').length;
  rig.platform.renewToken();
  await rig.clock.advance(500);
  const second = rig.socket('account');
  rig.platform.renewToken();
  await rig.clock.advance(500);
  expect([dead.state, second.state]).toEqual(['open', 'ended']);
  expect(rig.sink.marks('acct-1').slice(before)).toEqual([]);

  await rig.clock.advance(4_000);
  expect(dead.state).toBe('ended');
  expect(rig.sink.observations.map(({ view }) => view.orderId)).toEqual(['ord-1']);
  const said = rig.sink.items.filter((item) => item.kind === 'continuity' && item.reason === 'replaced_unproven');
  expect(said).toMatchObject([{ stream: 'account', event: 'lost' }]);
  expect(said[0]?.kind === 'continuity' && (said[0].fromMs ?? Number.NaN) <= deadSinceMs).toBe(true);
  expect(rig.state('account')).toBe('live');
});

it('does not become live by the goodbye of the second of two that were replaced, where the first, dead, has not ended', async () => {
  const rig = await live();
  const { promise: listed, resolve: answer } = Promise.withResolvers<void>();
  rig.platform.beforeList = async ({ stream }) => (stream === 'account' ? listed : undefined);
  rig.socket('account').end({ kind: 'closed', code: 1001, reason: 'restart' });
  await rig.until('account', 'resyncing');
  const dead = rig.socket('account');
  dead.answers = false;
  rig.platform.renewToken();
  await rig.clock.advance(500);
  rig.platform.renewToken();
  await rig.clock.advance(500);
  answer();
  await rig.clock.advance(500);
  expect([dead.state, rig.state('account')]).toEqual(['open', 'resyncing']);

  rig.platform.rows.set('account:acct-1', [{ ...accountRow, updatedAt: '2026-11-21T15:00:00Z' }]);
  await rig.clock.advance(4_000);
  expect([dead.state, rig.state('account')]).toEqual(['ended', 'live']);
  expect(rig.sink.observations.map(({ view }) => view.orderId)).toEqual(['ord-1']);
});

it('stays live when the connection that was replaced says goodbye', async () => {
  const rig = await live();
  rig.platform.lists.length = 0;
  const before = rig.sink.marks('acct-1').length;
  rig.platform.renewToken();
  await rig.clock.advance(4_000);
  expect(rig.sink.marks('acct-1').slice(before)).toEqual([]);
  expect(rig.platform.lists).toEqual([]);
  expect(rig.platform.live.filter(({ url }) => url === 'ws://account')).toHaveLength(1);
});

// Found by the simulator: a platform that restarts, or that ends a slow reader, throws away what it
// still has to send, and says a reason all the same.
it.each([
  ['the platform restarts', 1012],
  ['the platform goes away', 1001],
  ['it was read too slowly', 4429],
  ['its token has ended', 4401],
  ['the platform ends it without a reason, before we do', 1000],
])('reads the account again when the connection that was replaced ends because %s', async (_, code) => {
  const rig = await live();
  const old = rig.socket('account');
  old.answers = false;
  const deadSinceMs = rig.clock.nowMs();
  await rig.clock.advance(1_000);
  rig.platform.rows.set('account:acct-1', [{ ...accountRow, updatedAt: '2026-11-21T15:00:00Z' }]);
  rig.platform.renewToken();
  if (code !== 1000) await rig.clock.advance(500);
  old.end({ kind: 'closed', code, reason: 'it ends' });
  await rig.clock.advance(4_000);

  expect(rig.sink.observations.map(({ view }) => view.orderId)).toEqual(['ord-1']);
  const lost = rig.sink.items.filter((item) => item.kind === 'continuity' && item.event === 'lost');
  expect(lost).toMatchObject([{ stream: 'account' }]);
  expect(lost[0]?.kind === 'continuity' && (lost[0].fromMs ?? Number.NaN) <= deadSinceMs).toBe(true);
  expect(rig.state('account')).toBe('live');
});
