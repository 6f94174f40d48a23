// What a user saw: After a token was renewed, an account stayed without a live connection.

import { expect, it, onTestFinished } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';

// Found by the simulator, seed 1540: the token was renewed while a subscription was still waiting.
// The new connection answered first, the old one last, and the account counted as being on the old
// one, which was then closed: it stayed without a connection, though the new one carried it.
it('stays on the newer connection when the older one answers its subscription later', async () => {
  const rig = connectorsRig();
  rig.platform.accounts = ['acct-1', 'acct-2'].map((accountId) => ({ accountId, isOpen: true, isSim: true }));
  rig.platform.subscription = () => 'silent';
  await rig.connectors.begin();
  onTestFinished(() => rig.connectors.end());
  await rig.clock.advance(500);
  const older = rig.socket('account');
  const answer = (id: string, accountId: string) =>
    `{"type":"subscribed","id":"${id}","payload":{"topic":"account","target":"account:${accountId}"}}`;
  // The second account's answer comes last of all: until then both connections are open.
  rig.platform.subscription = (_, accountId) => (accountId === 'acct-1' ? 'acknowledge' : 'silent');
  rig.platform.renewToken();
  await rig.until('account', 'live');
  older.deliver(answer('sub-1', 'acct-1'));
  await rig.clock.advance(10);
  rig.socket('account').deliver(answer('sub-2', 'acct-2'));

  await rig.until('account', 'live', 'acct-2');
  await rig.clock.advance(1_500);
  expect(older.state).toBe('ended');
  expect(rig.state('account', 'acct-1')).toBe('live');
});

// Found by the simulator, seed 3990: the connection that was to replace the present one ended after
// it had answered for the account, and nobody asked the present one.
it('subscribes again on the present connection when the one that was to replace it ends', async () => {
  const rig = connectorsRig();
  await rig.connectors.begin();
  onTestFinished(() => rig.connectors.end());
  rig.platform.accounts = ['acct-1', 'acct-2'].map((accountId) => ({ accountId, isOpen: true, isSim: true }));
  await rig.until('account', 'live');
  // The second account never gets its answer, so the new connection never takes over.
  rig.platform.subscription = (_, accountId) => (accountId === 'acct-2' ? 'silent' : 'acknowledge');
  rig.platform.renewToken();
  await rig.clock.advance(100);
  rig.socket('account').end({ kind: 'closed', code: 1006, reason: '' });
  rig.platform.subscription = () => 'acknowledge';
  await rig.until('account', 'live', 'acct-1', 5_000);
});

// Found by the simulator, seed 1994: a paused socket handed over the answer and its own end in one
// piece. The account went live on a connection that was gone, and the next one was taken for
// covered by it: nothing was read.
it('does not go live on a connection that ended with its answer', async () => {
  const rig = connectorsRig({ predictionStreamUrl: 'ws://prediction' });
  rig.platform.subscription = () => 'silent';
  await rig.connectors.begin();
  onTestFinished(() => rig.connectors.end());
  await rig.clock.advance(500);
  const socket = rig.socket('account');
  socket.deliver('{"type":"subscribed","id":"sub-1","payload":{"topic":"account","target":"account:acct-1"}}');
  socket.end({ kind: 'closed', code: 1006, reason: '' });
  const lists = () => rig.platform.lists.filter(({ stream }) => stream === 'account').length;
  await rig.clock.advance(10);
  expect(lists()).toBe(0);

  rig.platform.subscription = () => 'acknowledge';
  await rig.until('account', 'live');
  expect(lists()).toBeGreaterThan(0);
});
