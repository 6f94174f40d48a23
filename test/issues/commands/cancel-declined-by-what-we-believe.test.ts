// What a user saw: A cancel got ORDER_CLOSED although the platform had taken back the end of the order.

import { expect, it } from 'vitest';
import { expireOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { account, CommandWorld, equity, prediction } from '../../support/commands/command-world.ts';
import { outcomeUnknown } from '../../support/commands/scripted-entry.ts';

it.each([equity, prediction])(
  'a cancel of a $stream order that has ended here is sent, and settled by the platform',
  async (request) => {
    const world = await CommandWorld.start();
    const { order } = await world.working(request);
    expireOrder(world.exchange, order);
    await world.until(() => world.stored(order).status === 'expired');
    const cancel = {
      kind: 'cancel',
      stream: request.stream,
      accountId: account,
      orderId: order.terms.orderId,
    } as const;
    const refused = await world.send(cancel);
    expect(refused.orderStatus ?? refused.baseline?.status).toBe('expired');
    await world.until(() => world.command(refused.commandId).state === 'moot');
    expect(world.writes.filter(({ kind }) => kind === 'cancel')).toHaveLength(1);

    world.script({ applied: 'no', answer: outcomeUnknown });
    const lost = await world.send(cancel);
    await world.pass(5_000);
    expect(world.command(lost.commandId).state, 'not before a read that began late enough').toBe('unknown');
    await world.until(() => world.command(lost.commandId).state === 'moot');
    expect(world.evidenceCodes(lost.commandId)).toContain('still_ended');
  },
);

it('a cancel of an order whose end the platform took back without a word to us cancels it', async () => {
  const world = await CommandWorld.start();
  const order = await world.endedAndTakenBack(equity);
  expect(world.stored(order).status).toBe('expired');
  const { commandId } = await world.send({
    kind: 'cancel',
    stream: 'account',
    accountId: account,
    orderId: order.terms.orderId,
  });
  await world.until(() => order.state === 'canceled');
  await world.until(() => world.command(commandId).state === 'applied');
  expect(world.stored(order).status).toBe('canceled');
});
