// What a user saw: A command had to wait ten minutes for its order while its account was being read whole.

import { expect, it, onTestFinished } from 'vitest';
import type { ListRequest } from '../../../src/venue/platform/order-reads.ts';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { accountRow, type Row } from '../../support/platform/platform-rows.ts';

/** A live account on which the next list that `isLong` names takes ten minutes. */
async function duringALongRead(isLong: (request: ListRequest) => boolean) {
  const rig = connectorsRig();
  await rig.connectors.begin();
  onTestFinished(async () => {
    await rig.connectors.end();
  });
  await rig.until('account', 'live');
  let begun = false;
  rig.platform.beforeList = async (request) => {
    if (begun || request.stream !== 'account' || !isLong(request)) return;
    begun = true;
    await rig.clock.sleep(600_000);
  };
  const access = rig.connectors.account('account', 'acct-1');
  if (access === undefined) throw new Error('not followed');
  const waitForIt = () => rig.clock.advanceUntil(() => begun, 120_000);
  const { signal } = new AbortController();
  const secondsUntil = async (done: () => boolean) => {
    const startedMs = rig.clock.monotonicMs();
    await rig.clock.advanceUntil(done, 900_000);
    return (rig.clock.monotonicMs() - startedMs) / 1_000;
  };
  return { ...rig, access, waitForIt, signal, secondsUntil };
}

/** Of a live account that nothing else reads, each list is one of an audit. */
const isAudit = () => true;

it('asks for the order of a frame that cannot be read while the audit of its account goes on', async () => {
  const { platform, waitForIt, secondsUntil } = await duringALongRead(isAudit);
  await waitForIt();
  platform.gets.length = 0;
  platform.emit('account', 'acct-1', { ...accountRow, qty: 'abc' } as Row);
  expect(await secondsUntil(() => platform.gets.length > 0)).toBeLessThan(1);
});

it('answers the looks of commands while the account is read whole for a backfill', async () => {
  const { access, signal, waitForIt, secondsUntil } = await duringALongRead(
    ({ updatedAfter }) => updatedAfter !== undefined,
  );
  let filled = false;
  void access.lookAtAll({ atMs: 0 }, signal).then(() => {
    filled = true;
  });
  await waitForIt();
  let answered = 0;
  for (const look of [
    access.lookFor('tm-1', signal),
    access.lookAt('ord-1', signal),
    access.lookAtAll(undefined, signal),
  ])
    void look.then(() => {
      answered += 1;
    });
  expect(await secondsUntil(() => answered === 3)).toBeLessThan(1);
  expect(filled).toBe(false);
});

it('makes the account live again while a backfill of it goes on', async () => {
  const { access, signal, waitForIt, secondsUntil, socket, state, until } = await duringALongRead(
    ({ updatedAfter }) => updatedAfter !== undefined,
  );
  void access.lookAtAll({ atMs: 0 }, signal);
  await waitForIt();
  socket('account').end({ kind: 'closed', code: 1001, reason: 'restart' });
  await until('account', 'resyncing');
  expect(await secondsUntil(() => state('account') === 'live')).toBeLessThan(1);
});

it('looks at one order once at a time: those who ask meanwhile share the next look', async () => {
  const { access, platform, clock, signal } = await duringALongRead(isAudit);
  platform.rows.set('account:acct-1', [accountRow]);
  const { promise: held, resolve: answer } = Promise.withResolvers<void>();
  platform.beforeGet = () => held;
  const looks = [1, 2, 3].map(() => access.lookAt('ord-1', signal));
  await clock.advance(100);
  platform.emit('account', 'acct-1', { ...accountRow, qty: 'abc' } as Row);
  platform.emit('account', 'acct-1', { ...accountRow, qty: 'abc' } as Row);
  await clock.advance(100);
  answer();
  await clock.advance(5_000);
  expect(await Promise.all(looks)).toMatchObject(looks.map(() => ({ complete: true, shown: ['ord-1'] })));
  expect(platform.gets.length).toBeLessThanOrEqual(3);
});
