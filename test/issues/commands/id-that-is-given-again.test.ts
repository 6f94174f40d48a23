// What a user saw: A stranger's order got the id of our filled one, and our cancel-all cancelled it.

import { describe, expect, it } from 'vitest';
import type { ExchangeOrder } from '../../../src/sandbox/exchange/exchange-order.ts';
import { acceptOrder, cancelOrder, fillOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { fixed } from '../../../src/sandbox/exchange/wire-text.ts';
import type { CancelAllScope } from '../../../src/service/commands/commands.ts';
import { account, CommandWorld, equity, prediction } from '../../support/commands/command-world.ts';

const word = { by: 'on-call', reason: 'a test', requestId: 'r-1' };
const onlyOf = (principal: string) => ({ kind: 'account', accountId: account, only: { principal } }) as const;

/** Our order has ended, as we know, and its id is given to an order of another application. */
function givenAway({ exchange }: CommandWorld, before: ExchangeOrder): ExchangeOrder {
  exchange.forget(before);
  const { clientOrderRef: _ours, ...terms } = before.terms;
  const reference = terms.stream === 'prediction' ? { clientOrderRef: 'app-77' } : {};
  const next = exchange.open({ ...terms, ...reference, clOrdId: 'app-77', quantity: fixed('500') }, 'placed');
  acceptOrder(exchange, next, 'venue-9');
  return next;
}

async function filled(request: typeof equity | typeof prediction) {
  const world = await CommandWorld.start();
  const { command, order } = await world.working(request);
  fillOrder(world.exchange, order, order.workingQuantity, fixed('0.4'));
  await world.until(() => world.stored(order).status === 'filled');
  // Another reference, and another creation: the platform's clock goes on.
  await world.pass(1_000);
  world.simulated.platform.reused.add(`${request.stream}:${order.terms.orderId}`);
  return { world, command, order };
}

async function cancelAll(world: CommandWorld, scope: CancelAllScope, key: string) {
  const asked = world.service.commands.cancelAll(scope, { ...word, idempotencyKey: key });
  let isOver = false;
  void asked.finally(() => {
    isOver = true;
  });
  await world.until(() => isOver);
  return asked;
}

const cancels = ({ writes }: CommandWorld) => writes.filter(({ kind }) => kind === 'cancel').length;

describe.each([equity, prediction])('the id of an order of ours, given to a stranger: $stream', (request) => {
  it('is another order, which owns nothing of ours, and our command keeps its verdict', async () => {
    const { world, command, order } = await filled(request);
    const settled = world.command(command.commandId);
    const next = givenAway(world, order);
    await world.until(() => world.stored(next).incarnation === 2);
    expect(world.stored(next)).toMatchObject({ origin: 'external', status: 'new', quantity: '500', cumQty: '0' });
    expect(world.stored(next).commandId).toBeUndefined();
    const updates = world.updates(next);
    expect(updates.map(({ revision }) => revision)).toEqual(updates.map((_, at) => at + 1));
    expect(updates.at(-2)).toMatchObject({ order: { status: 'filled', commandId: command.commandId } });
    cancelOrder(world.exchange, next);
    await world.until(() => world.stored(next).status === 'canceled');
    await world.pass(5_000);
    expect(world.command(command.commandId)).toEqual(settled);
    expect(world.simulated.journal.halts).toEqual([]);
  });

  it('meets no cancel of a cancel-all of our principal, before and after it is confirmed', async () => {
    const { world, order } = await filled(request);
    const next = givenAway(world, order);
    await world.pass(300);
    expect(world.stored(next).incarnation).toBeUndefined();
    const early = await cancelAll(world, onlyOf('desk'), 'early');
    expect(early).toMatchObject({ kind: 'done', orders: [], open: true, unread: [{ code: 'UNCERTAIN' }] });
    await world.until(() => world.stored(next).incarnation === 2);
    const late = await cancelAll(world, onlyOf('desk'), 'late');
    expect(late).toMatchObject({ kind: 'done', orders: [], open: false });
    expect(cancels(world)).toBe(0);
  });

  it('is cancelled where the whole account is, and by whoever names it', async () => {
    const { world, order } = await filled(request);
    const next = givenAway(world, order);
    await world.pass(300);
    const scope = { kind: 'account', accountId: account } as const;
    await cancelAll(world, scope, 'all');
    await world.until(() => next.state === 'canceled');
    expect(cancels(world)).toBe(1);
    await world.until(() => world.stored(next).incarnation === 2 && world.stored(next).status === 'canceled');
  });
});

describe.each([equity, prediction])('an id that was used before, given to our place: $stream', (request) => {
  it('is bound to the order of ours, and settles it', async () => {
    const { world, command: first, order } = await filled(request);
    world.exchange.forget(order);
    const open = world.exchange.open.bind(world.exchange);
    world.exchange.open = (terms, ...rest) => open({ ...terms, orderId: order.terms.orderId }, ...rest);
    const { commandId } = await world.send({ ...request }, { idempotencyKey: 'again', principal: 'algo' });
    await world.until(() => world.command(commandId).state === 'applied');
    expect(world.command(commandId).orderId).toBe(order.terms.orderId);
    expect(world.stored(order)).toMatchObject({ commandId, incarnation: 2, status: 'new', origin: 'tidemark' });
    expect(world.command(first.commandId)).toMatchObject({ state: 'applied', orderId: order.terms.orderId });
    await cancelAll(world, onlyOf('desk'), 'desk');
    expect(cancels(world)).toBe(0);
    await cancelAll(world, onlyOf('algo'), 'algo');
    await world.until(() => world.stored(order).status === 'canceled');
    expect(cancels(world)).toBe(1);
  });
});
