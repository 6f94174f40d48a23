// What a user saw: A cancel-all answered that nothing was open, and left an order that worked at the venue.

import { expect, it } from 'vitest';
import type { Answer } from '../../../src/service/commands/answer.ts';
import type { CancelAll } from '../../../src/service/commands/commands.ts';
import { CommandRig, word, workingOrder } from '../../support/commands/command-rig.ts';
import { account, CommandWorld, equity, prediction } from '../../support/commands/command-world.ts';

const all = { kind: 'account', accountId: account } as const;

async function answered(world: CommandWorld, asked: Promise<Answer<CancelAll>>) {
  let over = false;
  void asked.then(() => {
    over = true;
  });
  await world.until(() => over);
  const result = await asked;
  if (result.kind === 'declined') throw new Error(result.code);
  return result;
}

/**
 * A cancel-all asked our own table which orders are open. One that the platform had made work again
 * without a word to us was left alone, and the answer said that nothing was open.
 */
it.each([equity, prediction])('a cancel-all cancels an order of $stream that we believe ended', async (request) => {
  const world = await CommandWorld.start();
  const order = await world.endedAndTakenBack(request);
  const { orders } = await answered(world, world.service.commands.cancelAll(all, { ...word, idempotencyKey: 'all' }));
  expect(orders.map(({ orderId }) => orderId)).toEqual([order.terms.orderId]);
  await world.until(() => order.state === 'canceled');
});

const ended = { ...workingOrder, accountId: 'acct-1', orderId: 'ended', status: 'canceled' } as const;
const underTest = { kind: 'account', accountId: 'acct-1' } as const;

async function cancelAllOf(rig: CommandRig, only = {}) {
  const result = await rig.during(
    rig.commands.cancelAll({ ...underTest, ...only }, { ...word, idempotencyKey: 'all' }),
  );
  if (result.kind === 'declined') throw new Error(result.code);
  return result;
}

it.each([
  ['of the symbol', { only: { symbol: workingOrder.instrument.symbol } }, ['ended']],
  ['of another symbol', { only: { symbol: 'OTHER' } }, []],
  ['of another principal', { only: { principal: 'robot' } }, []],
])('it is selected as every order is: those %s', async (_name, only, cancelled) => {
  const rig = await CommandRig.leading();
  rig.commit(ended);
  rig.probes.answer = ({ kind }) => rig.probes.complete(...(kind === 'open' ? ['ended'] : []));
  const { orders } = await cancelAllOf(rig, only);
  expect(orders.filter(({ stream }) => stream === ended.stream).map(({ orderId }) => orderId)).toEqual(cancelled);
});

it('one that the platform shows and that was never stored is told', async () => {
  const rig = await CommandRig.leading();
  rig.probes.answer = ({ kind }) => rig.probes.complete(...(kind === 'open' ? ['strange'] : []));
  const { open, unread } = await cancelAllOf(rig);
  expect(open).toBe(true);
  expect(unread).toContainEqual(
    expect.objectContaining({ code: 'NOT_READ', message: expect.stringContaining('strange') }),
  );
});

it('a list that can not be read whole is told, and what we hold open is cancelled all the same', async () => {
  const rig = await CommandRig.leading();
  rig.commit({ ...workingOrder, accountId: 'acct-1' });
  rig.probes.answer = () => ({ complete: false, error: { message: 'half of it', retryable: true, sent: 'yes' } });
  const { open, orders, unread } = await cancelAllOf(rig);
  expect(open).toBe(true);
  expect(orders).toHaveLength(1);
  expect(unread.map(({ code }) => code)).toEqual(['NOT_READ', 'NOT_READ']);
});
