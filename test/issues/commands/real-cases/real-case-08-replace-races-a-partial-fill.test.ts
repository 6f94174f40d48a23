// What a user saw: An order for 1 was replaced while 0.165 of it was filled; in the end 1.165 was filled.

import { expect, it } from 'vitest';
import type { CommandRequest } from '../../../../src/domain/command.ts';
import { acceptPending, fillOrder } from '../../../../src/sandbox/exchange/venue-steps.ts';
import { fixed, whole } from '../../../../src/sandbox/exchange/wire-text.ts';
import { account, CommandWorld, prediction } from '../../../support/commands/command-world.ts';

// An adapter replaced an order for 1 by cancel and new while
// 0.165 of it was filled: 1.165 in the end.
// What protects: `checkReplace` (domain/command-checks.ts), and a
// replace that is one PATCH with the total.
it('a replace while fills come in changes the total of the one order: never more than was meant is filled', async () => {
  const world = await CommandWorld.start();
  const { order } = await world.working({ ...prediction, terms: { ...prediction.terms, quantity: '1' } });
  world.simulated.platform.entered.venue.set({ answerMs: 'manual' });
  const { orderId } = order.terms;
  const replace = (terms: { quantity?: string; price?: string }): CommandRequest => ({
    kind: 'replace',
    stream: 'prediction',
    accountId: account,
    orderId,
    terms,
  });
  const { commandId } = await world.send(replace({ quantity: '1', price: '0.41' }));
  fillOrder(world.exchange, order, fixed('0.165'), fixed('0.4'));
  await world.pass(1_000);
  acceptPending(world.exchange, order);
  await world.until(() => world.command(commandId).state === 'applied');
  // The answer of that commit is on its way to the process.
  await world.pass(100);
  expect(await world.declined(replace({ quantity: '0.1' }))).toBe('QUANTITY_BELOW_FILLED');

  fillOrder(world.exchange, order, whole(1), fixed('0.41'));
  await world.until(() => world.stored(order).status === 'filled');
  expect(world.stored(order)).toMatchObject({ cumQty: '1', leavesQty: '0', quantity: '1' });
  expect(world.writes.map(({ kind, bytes }) => [kind, /"quantity":"([^"]+)"/.exec(bytes)?.[1]])).toEqual([
    ['place', '1'],
    ['replace', '1'],
  ]);
});
