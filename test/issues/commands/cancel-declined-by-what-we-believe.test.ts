// What a user saw: A cancel got ORDER_CLOSED although the platform had taken back the end of the order.

import { expect, it } from 'vitest';
import { expireOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { account, CommandWorld, equity, prediction } from '../../support/commands/command-world.ts';
import { outcomeUnknown } from '../../support/commands/scripted-entry.ts';

it.each([equity, prediction])(
  'a cancel of a $stream order that has ended here is sent, and settled by the platform',
  async (request) => {
    const desk = await CommandWorld.start();
    const { order } = await desk.working(request);
    expireOrder(desk.exchange, order);
    await desk.until(() => desk.stored(order).status === 'expired');
    const cancel = {
      kind: 'cancel',
      stream: request.stream,
      accountId: account,
      orderId: order.terms.orderId,
    } as const;
    const refused = await desk.send(cancel);
    expect(refused.orderStatus ?? refused.baseline?.status).toBe('expired');
    await desk.until(() => desk.command(refused.commandId).state === 'moot');
    expect(desk.writes.filter(({ kind }) => kind === 'cancel')).toHaveLength(1);

    desk.script({ applied: 'no', answer: outcomeUnknown });
    const lost = await desk.send(cancel);
    await desk.pass(5_000);
    expect(desk.command(lost.commandId).state, 'not before a read that began late enough').toBe('unknown');
    await desk.until(() => desk.command(lost.commandId).state === 'moot');
    expect(desk.evidenceCodes(lost.commandId)).toContain('still_ended');
  },
);

it('a cancel of an order whose end the platform took back without a word to us cancels it', async () => {
  const desk = await CommandWorld.start();
  const { order } = await desk.working(equity);
  expireOrder(desk.exchange, order);
  await desk.until(() => desk.stored(order).status === 'expired');
  const { stream } = desk.world.platform;
  const emit = stream.emit.bind(stream);
  stream.emit = () => undefined;
  desk.exchange.change(order, 'taken_back', (it) => {
    it.state = 'new';
  });
  stream.emit = emit;
  expect(desk.stored(order).status).toBe('expired');
  const { commandId } = await desk.send({
    kind: 'cancel',
    stream: 'account',
    accountId: account,
    orderId: order.terms.orderId,
  });
  await desk.until(() => order.state === 'canceled');
  await desk.until(() => desk.command(commandId).state === 'applied');
  expect(desk.stored(order).status).toBe('canceled');
});
