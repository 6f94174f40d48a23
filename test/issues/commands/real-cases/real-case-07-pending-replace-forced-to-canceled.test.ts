// What a user saw: A slow replace was given up and a new order sent in its place; the venue had both orders.

import { expect, it } from 'vitest';
import { acceptPending } from '../../../../src/sandbox/exchange/venue-steps.ts';
import { CommandWorld } from '../../../support/commands/command-world.ts';

const minute = 60_000;

// What protects: `settleReplace` (domain/settle-command.ts) takes a pending
// amend for what it is, however long it lasts.
it('a replace that stays pending for an hour is made canceled by no timer, and nothing is sent in its place', async () => {
  const desk = await CommandWorld.start();
  const { order } = await desk.working();
  const { commandId, replace } = await desk.sendPendingReplace(order, { price: '0.45' });
  await desk.pass(60 * minute);

  expect(desk.stored(order)).toMatchObject({ status: 'new', pendingAction: 'replace', leavesQty: '10' });
  expect(desk.command(commandId).settledAtMs).toBeUndefined();
  expect(desk.command(commandId).seenPendingAt).toBeDefined();
  expect(await desk.declined({ ...replace, terms: { price: '0.46' } })).toBe('ORDER_ACTION_PENDING');
  expect(desk.writes.map(({ kind }) => kind)).toEqual(['place', 'replace']);

  acceptPending(desk.exchange, order);
  await desk.until(() => desk.command(commandId).state === 'applied');
  expect(desk.stored(order).working.price).toBe('0.45');
  expect(desk.writes).toHaveLength(2);
});
