// What a user saw: With ops:read alone the console said Connecting for ever, and asked without a pause.

import { expect, it } from 'vitest';
import { ConsoleRig } from '../../support/rest/console-rig.ts';

it('a token without orders asks for none, and the list says why it is empty', async () => {
  const rig = new ConsoleRig();
  rig.rights.scopes = ['ops:read'];
  await rig.state.start();
  await rig.state.wantOthers();
  await rig.settle();
  expect(rig.asked.filter(({ path }) => path.startsWith('/v1/orders'))).toEqual([]);
  const why = 'this token may not read orders';
  expect([rig.state.openOrders.value, rig.state.otherOrders.value]).toEqual([{ kind: 'failed', why }, undefined]);
});

it('orders that are over are read again after a pause when they could not be', async () => {
  const rig = new ConsoleRig();
  const path = '/v1/orders?open=false&sort=-updatedAt&limit=500';
  await rig.state.start();
  void rig.state.wantOthers();
  await rig.settle();
  void rig.state.wantOthers();
  await rig.settle();
  const asked = () => rig.asked.filter((each) => each.path === path).length;
  expect([asked(), rig.state.otherOrders.value?.kind]).toEqual([1, 'failed']);
  rig.answers.set(path, { status: 200, body: { items: [] } });
  await rig.pass(5_000);
  expect([asked(), rig.state.otherOrders.value]).toEqual([2, { kind: 'all' }]);
});
