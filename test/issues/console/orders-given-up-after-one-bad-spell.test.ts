// What a user saw: After one bad spell open orders were missing for good, under "Trusted".

import { expect, it } from 'vitest';
import { allDoubts } from '../../../src/console/state/doubts.ts';
import { OrderHistory } from '../../../src/console/state/orders/order-history.ts';
import { ConsoleRig, listedOf, updateOf } from '../../support/rest/console-rig.ts';

const list = '/v1/orders?open=true&limit=500';
const down = { status: 503, body: { code: 'STORE_UNAVAILABLE', detail: 'the database does not answer' } };

async function started(prepare: (rig: ConsoleRig) => void) {
  const rig = new ConsoleRig();
  prepare(rig);
  await rig.state.start();
  await rig.settle();
  await rig.streams[0]?.send('id: 1\n\n');
  return rig;
}

const doubtsOf = ({ state: { stream, openOrders, status } }: ConsoleRig) =>
  allDoubts({ stream: stream.state.value, silentMs: 0, openOrders: openOrders.value }, status.state.value).map(
    ({ name }) => name,
  );

it('the open orders are read again, and until then they are a doubt', async () => {
  const rig = await started((each) => each.answers.set(list, down));
  for (let second = 0; second < 6; second += 1) await rig.pass(1_000);
  expect([rig.state.openOrders.value.kind, doubtsOf(rig)]).toEqual(['failed', ['orders_unread']]);
  rig.answers.set(list, { status: 200, body: { items: [listedOf(updateOf())] } });
  await rig.pass(5_000);
  expect([rig.state.openOrders.value.kind, doubtsOf(rig), rig.state.orders.rows.size]).toEqual(['all', [], 1]);
});

it('the page of an order keeps what it shows, says that it is old, and reads it again', async () => {
  const path = '/v1/orders/account/ord-1';
  const answers = new Map([
    [`${path}/updates?limit=500`, { status: 200, body: { items: [updateOf()], recordedAt: ['t'] } }],
    [path, { status: 200, body: listedOf(updateOf()) }],
  ]);
  const rig = await started((each) => each.answers.set(`${path}/updates?limit=500`, down));
  const history = new OrderHistory(rig.state, { stream: 'account', orderId: 'ord-1' });
  const { signal } = new AbortController();
  void history.load(signal);
  await rig.settle();
  expect(history.state.value.kind).toBe('failed');
  for (const [words, answer] of answers) rig.answers.set(words, answer);
  await rig.pass(5_000);
  expect(history.state.value).toMatchObject({ kind: 'shown', cut: false });
  rig.answers.set(path, down);
  void history.load(signal);
  await rig.settle();
  expect(history.state.value).toMatchObject({ kind: 'shown', stale: expect.stringContaining('STORE_UNAVAILABLE') });
  for (const [words, answer] of answers) rig.answers.set(words, answer);
  await rig.pass(5_000);
  expect(history.state.value).not.toHaveProperty('stale');
});
