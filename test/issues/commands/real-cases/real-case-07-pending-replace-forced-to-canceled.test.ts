// What a user saw: A slow replace was given up and a new order sent in its place; the venue had both orders.

import { expect, it } from 'vitest';
import { acceptPending } from '../../../../src/sandbox/exchange/venue-steps.ts';
import { CommandWorld } from '../../../support/commands/command-world.ts';

const minute = 60_000;

// What protects: `settleReplace` (domain/settle-command.ts) takes a pending
// amend for what it is, however long it lasts.
it('a replace that stays pending for an hour is made canceled by no timer, and nothing is sent in its place', async () => {
  const world = await CommandWorld.start();
  const { order } = await world.working();
  const { commandId, replace } = await world.sendPendingReplace(order, { price: '0.45' });
  await world.pass(60 * minute);

  expect(world.stored(order)).toMatchObject({ status: 'new', pendingAction: 'replace', leavesQty: '10' });
  expect(world.command(commandId).settledAtMs).toBeUndefined();
  expect(world.command(commandId).seenPendingAt).toBeDefined();
  expect(await world.declined({ ...replace, terms: { price: '0.46' } })).toBe('ORDER_ACTION_PENDING');
  expect(world.writes.map(({ kind }) => kind)).toEqual(['place', 'replace']);

  acceptPending(world.exchange, order);
  await world.until(() => world.command(commandId).state === 'applied');
  expect(world.stored(order).working.price).toBe('0.45');
  expect(world.writes).toHaveLength(2);
});
