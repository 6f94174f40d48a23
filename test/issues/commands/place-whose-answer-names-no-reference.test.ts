// What a user saw: A place whose answer had a null reference was unknown, though it named the order's id.

import { describe, expect, it } from 'vitest';
import type { ExchangeOrder } from '../../../src/sandbox/exchange/exchange-order.ts';
import type { HttpOutcome } from '../../../src/venue/platform/http.ts';
import { noStreamFaults } from '../../simulation/plan/stream-faults.ts';
import { CommandWorld, equity, prediction } from '../../support/commands/command-world.ts';

type Fields = Record<string, unknown>;

/** The answer with these fields; one that is undefined is left out. */
const reworded = (change: (world: CommandWorld) => Fields) => (world: CommandWorld) => (plain: HttpOutcome) => {
  if (plain.kind !== 'answered') throw new Error('the write was not done');
  const body: Fields = JSON.parse(plain.text);
  Object.assign((body['data'] as Fields | undefined) ?? body, change(world));
  return { ...plain, text: JSON.stringify(body) };
};
const newest = ({ exchange }: CommandWorld): ExchangeOrder => {
  const order = [...exchange.orders.values()].at(-1);
  if (order === undefined) throw new Error('there is no order');
  return order;
};
/** No row of it, in lists and on the stream, has a reference. */
function unreferenced({ exchange }: CommandWorld): void {
  const open = exchange.open.bind(exchange);
  exchange.open = (terms, ...rest) => {
    const { clientOrderRef: _none, ...others } = terms;
    return open({ ...others, ...(terms.stream === 'account' && { clOrdId: '' }) }, ...rest);
  };
}

const nothings: readonly unknown[] = [null, '', undefined];
const byId = reworded((world) => ({ clOrdId: null, status: null, ordId: newest(world).terms.orderId }));

describe('an answer to our own write that names the order by its id alone', () => {
  it.each(nothings)('is about our order: reference %j, on both streams', async (none) => {
    for (const request of [equity, prediction]) {
      const world = await CommandWorld.start();
      unreferenced(world);
      const answer = reworded((it) =>
        request === equity
          ? { clOrdId: none, status: none, ordId: newest(it).terms.orderId }
          : { clientOrderRef: none, state: none },
      );
      world.script({ applied: 'yes', answer: answer(world) });
      const { commandId, state } = await world.send(request);
      expect(state).not.toBe('unknown');
      await world.until(() => world.command(commandId).state === 'applied', 1_000);
      const order = newest(world);
      expect(world.command(commandId).orderId).toBe(order.terms.orderId);
      expect(world.stored(order)).toMatchObject({ origin: 'tidemark', commandId });
    }
  });

  it('is about our order where it spells the terms in another way', async () => {
    const world = await CommandWorld.start();
    const { symbol, side, qty } = equity.terms;
    const spelt = { symbol: ` ${symbol.toLowerCase()} `, side: side.toLowerCase(), qty: `${qty}.00` };
    const answer = reworded((it) => ({ clOrdId: null, ordId: newest(it).terms.orderId, ...spelt }));
    world.script({ applied: 'yes', answer: answer(world) });
    expect((await world.send(equity)).state).not.toBe('unknown');
  });

  it('binds nothing to an order whose rows have another reference', async () => {
    const world = await CommandWorld.start();
    const open = world.exchange.open.bind(world.exchange);
    world.exchange.open = (terms, ...rest) => open({ ...terms, clOrdId: 'somebody-1' }, ...rest);
    world.script({ applied: 'yes', answer: byId(world) });
    const { commandId } = await world.send(equity);
    await world.pass(5_000);
    expect(world.command(commandId)).toMatchObject({ state: 'accepted' });
    expect(world.stored(newest(world)).origin).toBe('external');
  });

  it('is about another order where its account or side is another, and then unknown', async () => {
    for (const other of [{ accountId: 'acct-9' }, { side: 'SELL' }]) {
      const world = await CommandWorld.start();
      const answer = reworded((it) => ({ clOrdId: null, ordId: newest(it).terms.orderId, ...other }));
      world.script({ applied: 'yes', answer: answer(world) });
      const { commandId, reason } = await world.send(equity);
      expect(reason).toMatchObject({ code: 'BAD_ANSWER', message: 'the answer is about another order' });
      await world.until(() => world.command(commandId).state === 'applied', 1_000);
    }
  });
});

describe('an answer without our reference that names another order of the account', () => {
  it.each([equity, prediction])('is no word about ours: $stream', async (request) => {
    const world = await CommandWorld.start();
    const id = request === equity ? 'ordId' : 'orderId';
    const other = {
      ...request,
      terms: { ...request.terms, ...(request === equity ? { qty: '7' } : { quantity: '7' }) },
    };
    const { order } = await world.working(other as typeof request);
    const amount = request === equity ? { qty: '7' } : { quantity: '7' };
    const answer = reworded(() => ({ clOrdId: null, clientOrderRef: null, [id]: order.terms.orderId, ...amount }));
    world.script({ applied: 'yes', answer: answer(world) });
    const { commandId, reason } = await world.send(request);
    expect(reason).toMatchObject({ message: 'the answer does not name the order' });
    await world.until(() => world.command(commandId).state === 'applied', 1_000);
    expect(world.command(commandId).orderId).not.toBe(order.terms.orderId);
  });
});

describe('an answer to our own write that names the order in no way', () => {
  const unnamed = reworded(() => ({ clOrdId: null, status: null }));

  it('is no evidence: the order that the stream shows settles the place', async () => {
    const world = await CommandWorld.start();
    world.script({ applied: 'yes', answer: unnamed(world) });
    const { commandId } = await world.send(equity);
    await world.until(() => world.command(commandId).state === 'applied', 100);
  });

  it('is read at once where the stream shows nothing', async () => {
    const world = await CommandWorld.start();
    const { stream } = world.simulated.platform;
    stream.faults = { ...noStreamFaults, silentLoss: 1 };
    world.script({ applied: 'yes', answer: unnamed(world) });
    const { commandId, state, reason } = await world.send(equity);
    expect([state, reason]).toMatchObject(['unknown', { message: 'the answer does not name the order' }]);
    await world.until(() => world.command(commandId).state === 'applied', 1_000);
    stream.faults = noStreamFaults;
  });
});
