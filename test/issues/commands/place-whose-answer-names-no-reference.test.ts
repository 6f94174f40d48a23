// What a user saw: A place whose answer had a null reference was unknown, though it named the order's id.

import { describe, expect, it } from 'vitest';
import type { ExchangeOrder } from '../../../src/sandbox/exchange/exchange-order.ts';
import type { HttpOutcome } from '../../../src/venue/platform/http.ts';
import { noStreamFaults } from '../../simulation/plan/stream-faults.ts';
import { CommandWorld, equity, prediction } from '../../support/commands/command-world.ts';

type Fields = Record<string, unknown>;

/** The answer with these fields; one that is undefined is left out. */
const reworded = (change: (desk: CommandWorld) => Fields) => (desk: CommandWorld) => (plain: HttpOutcome) => {
  if (plain.kind !== 'answered') throw new Error('the write was not done');
  const body: Fields = JSON.parse(plain.text);
  Object.assign((body['data'] as Fields | undefined) ?? body, change(desk));
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
const byId = reworded((desk) => ({ clOrdId: null, status: null, ordId: newest(desk).terms.orderId }));

describe('an answer to our own write that names the order by its id alone', () => {
  it.each(nothings)('is about our order: reference %j, on both streams', async (none) => {
    for (const request of [equity, prediction]) {
      const desk = await CommandWorld.start();
      unreferenced(desk);
      const answer = reworded((it) =>
        request === equity
          ? { clOrdId: none, status: none, ordId: newest(it).terms.orderId }
          : { clientOrderRef: none, state: none },
      );
      desk.script({ applied: 'yes', answer: answer(desk) });
      const { commandId, state } = await desk.send(request);
      expect(state).not.toBe('unknown');
      await desk.until(() => desk.command(commandId).state === 'applied', 1_000);
      const order = newest(desk);
      expect(desk.command(commandId).orderId).toBe(order.terms.orderId);
      expect(desk.stored(order)).toMatchObject({ origin: 'tidemark', commandId });
    }
  });

  it('is about our order where it spells the terms in another way', async () => {
    const desk = await CommandWorld.start();
    const { symbol, side, qty } = equity.terms;
    const spelt = { symbol: ` ${symbol.toLowerCase()} `, side: side.toLowerCase(), qty: `${qty}.00` };
    const answer = reworded((it) => ({ clOrdId: null, ordId: newest(it).terms.orderId, ...spelt }));
    desk.script({ applied: 'yes', answer: answer(desk) });
    expect((await desk.send(equity)).state).not.toBe('unknown');
  });

  it('binds nothing to an order whose rows have another reference', async () => {
    const desk = await CommandWorld.start();
    const open = desk.exchange.open.bind(desk.exchange);
    desk.exchange.open = (terms, ...rest) => open({ ...terms, clOrdId: 'somebody-1' }, ...rest);
    desk.script({ applied: 'yes', answer: byId(desk) });
    const { commandId } = await desk.send(equity);
    await desk.pass(5_000);
    expect(desk.command(commandId)).toMatchObject({ state: 'accepted' });
    expect(desk.stored(newest(desk)).origin).toBe('external');
  });

  it('is about another order where its account or side is another, and then unknown', async () => {
    for (const other of [{ accountId: 'acct-9' }, { side: 'SELL' }]) {
      const desk = await CommandWorld.start();
      const answer = reworded((it) => ({ clOrdId: null, ordId: newest(it).terms.orderId, ...other }));
      desk.script({ applied: 'yes', answer: answer(desk) });
      const { commandId, reason } = await desk.send(equity);
      expect(reason).toMatchObject({ code: 'BAD_ANSWER', message: 'the answer is about another order' });
      await desk.until(() => desk.command(commandId).state === 'applied', 1_000);
    }
  });
});

describe('an answer without our reference that names another order of the account', () => {
  it.each([equity, prediction])('is no word about ours: $stream', async (request) => {
    const desk = await CommandWorld.start();
    const id = request === equity ? 'ordId' : 'orderId';
    const other = {
      ...request,
      terms: { ...request.terms, ...(request === equity ? { qty: '7' } : { quantity: '7' }) },
    };
    const { order } = await desk.working(other as typeof request);
    const amount = request === equity ? { qty: '7' } : { quantity: '7' };
    const answer = reworded(() => ({ clOrdId: null, clientOrderRef: null, [id]: order.terms.orderId, ...amount }));
    desk.script({ applied: 'yes', answer: answer(desk) });
    const { commandId, reason } = await desk.send(request);
    expect(reason).toMatchObject({ message: 'the answer does not name the order' });
    await desk.until(() => desk.command(commandId).state === 'applied', 1_000);
    expect(desk.command(commandId).orderId).not.toBe(order.terms.orderId);
  });
});

describe('an answer to our own write that names the order in no way', () => {
  const unnamed = reworded(() => ({ clOrdId: null, status: null }));

  it('is no evidence: the order that the stream shows settles the place', async () => {
    const desk = await CommandWorld.start();
    desk.script({ applied: 'yes', answer: unnamed(desk) });
    const { commandId } = await desk.send(equity);
    await desk.until(() => desk.command(commandId).state === 'applied', 100);
  });

  it('is read at once where the stream shows nothing', async () => {
    const desk = await CommandWorld.start();
    const { stream } = desk.world.platform;
    stream.faults = { ...noStreamFaults, silentLoss: 1 };
    desk.script({ applied: 'yes', answer: unnamed(desk) });
    const { commandId, state, reason } = await desk.send(equity);
    expect([state, reason]).toMatchObject(['unknown', { message: 'the answer does not name the order' }]);
    await desk.until(() => desk.command(commandId).state === 'applied', 1_000);
    stream.faults = noStreamFaults;
  });
});
