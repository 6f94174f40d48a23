// What a user saw: A venue showed orders under another symbol: their places were in conflict for good.

import { describe, expect, it } from 'vitest';
import type { OrderTerms } from '../../../src/sandbox/exchange/exchange-order.ts';
import { acceptOrder, fillOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { fixed, whole } from '../../../src/sandbox/exchange/wire-text.ts';
import { CommandWorld, equity, prediction } from '../../support/commands/command-world.ts';
import { outcomeUnknown } from '../../support/commands/scripted-entry.ts';

type Named = Partial<OrderTerms>;

/** The venue's books have the order under other names than it was placed with. */
function renaming({ exchange }: CommandWorld, over: Named): void {
  const open = exchange.open.bind(exchange);
  exchange.open = (terms, ...rest) => open({ ...terms, ...over }, ...rest);
}

const brk = { ...equity, terms: { ...equity.terms, symbol: 'BRK/B' } } as const;
const occ = 'AAPL261218C00200000';

// `conflict` for good: three of them halted the account, and a cancel-all of the principal sent no
// cancel for three live orders.
describe('an order that carries our reference is ours, whatever it is called', () => {
  it.each<[string, typeof equity | typeof prediction | typeof brk, Named]>([
    ['another spelling of the symbol', brk, { symbol: 'BRK.B' }],
    ['a symbol that was renamed', equity, { symbol: 'META' }],
    [
      'an option under its OCC symbol',
      equity,
      { symbol: occ, legs: [{ symbol: occ, side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' }] },
    ],
    ['another word for the side', equity, { side: 'BUY_TO_COVER' }],
    ['a prediction market that was renamed', prediction, { symbol: 'FED-CUT-2' }],
    ['another outcome', prediction, { outcome: 'NO' }],
  ])('%s', async (_what, request, over) => {
    const desk = await CommandWorld.start();
    renaming(desk, over);
    const answered = await desk.working(request);
    desk.script({ applied: 'yes', answer: outcomeUnknown });
    const lost = await desk.send(request, { idempotencyKey: 'lost' });
    await desk.until(() => desk.command(lost.commandId).state === 'applied');
    for (const { commandId } of [answered.command, lost]) {
      const { orderId } = desk.landed(commandId).terms;
      expect(desk.command(commandId)).toMatchObject({ state: 'applied', orderId });
      expect(desk.stored(desk.landed(commandId))).toMatchObject({ origin: 'tidemark', commandId });
      const landed = desk.world.journal.evidence.get(commandId)?.find(({ code }) => code === 'landed');
      expect(landed?.detail['differs']).toContain(Object.keys(over)[0]);
    }
    expect([...desk.world.journal.halts.values()]).toEqual([]);
  });

  it('of another side, it is not', async () => {
    const desk = await CommandWorld.start();
    renaming(desk, { side: 'SELL' });
    desk.script({ applied: 'yes', answer: outcomeUnknown });
    const { commandId } = await desk.send(equity);
    await desk.until(() => desk.command(commandId).state === 'conflict');
    expect(desk.stored(desk.landed(commandId)).origin).toBe('external');
  });
});

describe('a second order with our reference', () => {
  const successorOf = (desk: CommandWorld, orderId: string) => {
    const elder = desk.exchange.orders.get(orderId);
    if (elder === undefined) throw new Error('no elder');
    const next = desk.exchange.open({ ...elder.terms, orderId: `${orderId.slice(0, -4)}abcd` }, 'amended elsewhere');
    acceptOrder(desk.exchange, next, 'venue-2');
    return { elder, next };
  };

  it('is the successor of an order that ended replaced, and no alarm', async () => {
    const desk = await CommandWorld.start();
    const { command, order } = await desk.working(equity);
    desk.exchange.change(order, 'replaced', (it) => {
      it.state = 'replaced';
    });
    const { next } = successorOf(desk, order.terms.orderId);
    await desk.until(() => desk.isStored(next) && desk.stored(next).status === 'new');
    await desk.pass(10_000);
    expect(desk.stored(next)).toMatchObject({ origin: 'tidemark', commandId: command.commandId });
    expect(desk.command(command.commandId).state).toBe('applied');
    expect(desk.evidenceCodes(command.commandId)).toContain('successor');
    expect(desk.evidenceCodes(command.commandId)).not.toContain('second_order');
  });

  it('is its successor too where it is seen before its elder ends', async () => {
    const desk = await CommandWorld.start();
    const { command, order } = await desk.working(equity);
    const { next } = successorOf(desk, order.terms.orderId);
    desk.exchange.change(order, 'replaced', (it) => {
      it.state = 'replaced';
    });
    await desk.until(() => desk.isStored(next) && desk.stored(order).status === 'replaced');
    await desk.pass(10_000);
    expect(desk.evidenceCodes(command.commandId)).toContain('successor');
    expect(desk.evidenceCodes(command.commandId)).not.toContain('second_order');
  });

  it('calls a person where its elder works on, or was filled', async () => {
    for (const ends of [false, true]) {
      const desk = await CommandWorld.start();
      const { command, order } = await desk.working(equity);
      if (ends) fillOrder(desk.exchange, order, whole(10), fixed('1'));
      successorOf(desk, order.terms.orderId);
      await desk.pass(20_000);
      expect(desk.evidenceCodes(command.commandId)).toContain('second_order');
    }
  });
});
