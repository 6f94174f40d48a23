// What a user saw: After one replace got lost, every further replace of the order was answered with 409.

import { expect, it } from 'vitest';
import { account, CommandWorld } from '../../support/commands/command-world.ts';
import { outcomeUnknown } from '../../support/commands/scripted-entry.ts';

const tenMinutes = 10 * 60_000;

it.each([
  ['never seen again', false, 'unknown'],
  ['overtaken by another client', true, 'conflict'],
] as const)('a replace that is %s may be superseded after the wait of places', async (_what, overtaken, state) => {
  const world = await CommandWorld.start({ auditMs: 60_000 });
  const { order } = await world.working();
  const { orderId } = order.terms;
  const replace = (price: string) =>
    ({ kind: 'replace', stream: 'prediction', accountId: account, orderId, terms: { price } }) as const;
  world.script({ applied: 'no', answer: outcomeUnknown });
  const { commandId } = await world.send(replace('0.5'));
  if (overtaken)
    world.exchange.change(order, 'amended elsewhere', (it) => {
      it.workingPrice = 600_000_000_000n;
    });
  await world.until(() => world.command(commandId).state === state);
  await world.pass(60_000);
  expect(await world.declined(replace('0.45'))).toBe('ORDER_ACTION_PENDING');
  expect(await world.declined(replace('0.45'), { supersedes: commandId })).toBe('SUPERSEDED_NOT_ABSENT');
  await world.pass(tenMinutes + 120_000);
  expect(await world.declined(replace('0.45')), 'never by itself').toBe('ORDER_ACTION_PENDING');
  const next = await world.send(replace('0.45'), { supersedes: commandId });
  await world.until(() => world.command(next.commandId).state === 'applied');
  await world.pass(60_000);
  expect(world.command(commandId).state, 'the new terms are those of the other one').toBe(state);
  expect(await world.declined(replace('0.44'))).toBe('ORDER_ACTION_PENDING');
  await world.send(replace('0.44'), { supersedes: commandId });
});
