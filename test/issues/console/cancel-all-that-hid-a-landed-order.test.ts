// What a user saw: A cancel was refused, and the panel of the cancel-all called its order done.

import { expect, it } from 'vitest';
import { CancelAllRun } from '../../../src/console/state/commands/cancel-all-run.ts';
import { ConsoleRig } from '../../support/rest/console-rig.ts';

const path = 'POST /v1/accounts/ACC-1/cancel-all';
const ids = { accountId: 'ACC-1', stream: 'account' };
const document = (over: object) => ({
  ...{ accountId: 'ACC-1', open: false, inForce: false, orders: [], places: [], unread: [], declined: [] },
  ...over,
});

async function asked(over: object) {
  const rig = new ConsoleRig();
  rig.answers.set(path, { status: 200, body: document(over) });
  await rig.state.start();
  const run = new CancelAllRun(rig.state, { accountId: 'ACC-1', body: { reason: 'why' } });
  await run.ask();
  return { rig, run, states: () => run.lines().map(({ order, state }) => [order.orderId, state]) };
}

it('an order that landed meanwhile has a line, with the end of its cancel', async () => {
  const cancel = { commandId: 'c-2', outcome: 'rejected', state: 'rejected' };
  const place = { ...ids, commandId: 'c-1', outcome: 'applied', state: 'applied', orderId: 'o-1', cancel };
  const { states } = await asked({ places: [place, { ...ids, commandId: 'c-3', outcome: 'unknown' }] });
  expect(states()).toEqual([['o-1', 'not cancelled']]);
});

it('an answer is newer than a step that was followed before', async () => {
  const order = { ...ids, orderId: 'o-1', commandId: 'c-1', outcome: 'pending', state: 'open' };
  const { rig, run, states } = await asked({ orders: [order] });
  const over = new AbortController();
  const followed = run.follow(over.signal);
  rig.state.outcomes.call({ kind: 'cancel', commandId: 'c-1', version: 2, state: 'accepted' } as never);
  expect(states()).toEqual([['o-1', 'under way']]);
  over.abort();
  await followed;
  rig.answers.set(path, { status: 200, body: document({ orders: [{ ...order, state: 'rejected' }] }) });
  await run.ask();
  expect(states()).toEqual([['o-1', 'not cancelled']]);
});
