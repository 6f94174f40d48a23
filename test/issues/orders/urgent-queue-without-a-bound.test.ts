// What a user saw: A backfill put 200,000 rows into memory while Postgres hung, and live events had to wait.

import { expect, it, onTestFinished } from 'vitest';
import { connectorsRig } from '../../support/orders/connectors-rig.ts';
import { ingestRig, orderAt } from '../../support/orders/ingest-rig.ts';
import { observe } from '../../support/orders/observe.ts';
import { accountRow, type Row } from '../../support/platform/platform-rows.ts';

async function live() {
  const rig = connectorsRig();
  await rig.connectors.begin();
  onTestFinished(() => rig.connectors.end());
  await rig.until('account', 'live');
  const account = rig.connectors.account('account', 'acct-1');
  if (account === undefined) throw new Error('not followed');
  return { ...rig, account, signal: new AbortController().signal };
}

const ours: Row = { ...accountRow, ordId: 'ord-ours', clOrdId: 'tm-1' };

// Found by review: every row of a probe went to the queue of what is urgent, which nobody's room
// was asked of. While Postgres hung, a backfill put 200,000 rows into memory, where 100 are
// allowed; afterwards the streams had no place in a batch until the last of them was through.
it('is full when more is urgent than one batch holds and the queue has taken the rest', async () => {
  const rig = await ingestRig(1);
  rig.database.readHeads = () => new Promise(() => undefined);
  rig.ingest.begin(rig.hold);
  await rig.clock.advance(10);
  let offered = 0;
  for (; !rig.ingest.full && offered < 1_000; offered += 1) rig.offer(observe(orderAt(offered, 0), { urgent: true }));
  expect(offered).toBe(110);
});

it('holds for urgent what a command waits for, and no page of a list', async () => {
  const { account, platform, sink, clock, signal } = await live();
  platform.rows.set('account:acct-1', [ours]);
  const urgent = async (work: Promise<unknown>) => {
    sink.items.length = 0;
    await clock.advance(1_000);
    await work;
    return sink.observations.map((observation) => observation.urgent === true);
  };
  expect(await urgent(account.lookAtAll({ atMs: 0 }, signal))).toEqual([false]);
  expect(await urgent(account.lookFor('tm-1', signal))).toEqual([true]);
  expect(await urgent(account.lookAt('ord-ours', signal))).toEqual([true]);
  account.expectReply()(ours);
  expect(sink.observations.at(-1)).toMatchObject({ cause: 'reply', urgent: true });
});

it('asks for no more single orders, and for no further page under a reference, while ingest has no room', async () => {
  const { account, platform, sink, registry, clock, signal } = await live();
  const names = Array.from({ length: 600 }, (_, i) => `ord-${i}`);
  const open = names
    .slice(0, 40)
    .map((orderId) => ({ orderId, status: 'new', updatedAt: '2026-11-21T14:00:00Z' }) as const);
  registry.open.set(
    'account:acct-1',
    open.map((order) => ({ ...order, sourceVersion: undefined })),
  );
  sink.full = true;
  const silent = account.lookAtAll(undefined, signal);
  await clock.advance(10_000);
  expect(platform.gets).toEqual([]);
  sink.makeRoom();
  await clock.advance(10_000);
  expect(await silent).toMatchObject({ complete: true });
  expect(platform.gets).toHaveLength(40);

  platform.rows.set(
    'account:acct-1',
    names.map((ordId) => ({ ...ours, ordId })),
  );
  sink.full = true;
  const look = account.lookFor('tm-1', signal);
  await clock.advance(10_000);
  expect(sink.observations).toHaveLength(500);
  sink.makeRoom();
  await clock.advance(10_000);
  expect(await look).toMatchObject({ complete: true, shown: names });
});
