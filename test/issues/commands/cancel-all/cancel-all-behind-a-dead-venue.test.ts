// What a user saw: The cancels of a healthy account began 27 s late because another venue was down.

import { expect, it } from 'vitest';
import { CommandRig, type EntryScript, unknown, word, workingOrder } from '../../../support/commands/command-rig.ts';

const service = { kind: 'service', accountIds: ['acct-1', 'acct-2'] } as const;
const noLine: EntryScript = {
  connect: {
    ms: 2_000,
    result: { kind: 'not_sent', reason: { code: 'NO_ANSWER', message: 'no connection' }, mayRepeat: true },
  },
  result: unknown,
};
const healthy: EntryScript = { connect: { ms: 50 }, answerMs: 50, result: { kind: 'accepted', answer: {} } };

function withOrders(rig: CommandRig, accountId: string, count: number): void {
  for (let n = 0; n < count; n += 1)
    rig.commit({ ...workingOrder, accountId, orderId: `${accountId}-${n}` }, { handed: false });
}

// The slots were for all: with one venue down, the cancels of a healthy account began 27 s late.
it('the orders of a healthy account are cancelled within two seconds beside a venue that is down', async () => {
  const rig = await CommandRig.leading({ cancelAllWindow: 4 });
  withOrders(rig, 'acct-2', 25);
  withOrders(rig, 'acct-1', 40);
  rig.entry.route = ({ accountId }) => (accountId === 'acct-2' ? noLine : healthy);
  const beganMs = rig.clock.monotonicMs();
  const result = await rig.during(rig.commands.cancelAll(service, { ...word, idempotencyKey: 'all' }));
  const sent = rig.entry.sent.filter(({ request }) => request.accountId === 'acct-1');
  expect(sent).toHaveLength(40);
  expect(Math.max(...sent.map(({ atMs }) => atMs)) - beganMs).toBeLessThan(2_000);
  expect(
    rig.clock.monotonicMs() - beganMs,
    'the caller is answered while the other venue goes on failing',
  ).toBeLessThan(21_000);
  expect(result).toMatchObject({ open: true, inForce: true });
});

it('every order of an account has its first attempt before any has another', async () => {
  const rig = await CommandRig.leading({ cancelAllWindow: 2, deadlineMs: 60_000 });
  withOrders(rig, 'acct-1', 10);
  const tried: string[] = [];
  rig.entry.route = (request) => {
    if (request.kind === 'cancel') tried.push(request.orderId);
    return tried.length <= 12 ? { ...noLine, connect: { ...noLine.connect, ms: 500 } } : healthy;
  };
  const all = rig.commands.cancelAll({ kind: 'account', accountId: 'acct-1' }, { ...word, idempotencyKey: 'all' });
  const result = await rig.during(all);
  expect(new Set(tried.slice(0, 10)).size).toBe(10);
  expect(result).toMatchObject({ open: false });
  expect(rig.entry.sent).toHaveLength(10);
});
