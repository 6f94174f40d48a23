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
    const world = await CommandWorld.start();
    renaming(world, over);
    const answered = await world.working(request);
    world.script({ applied: 'yes', answer: outcomeUnknown });
    const lost = await world.send(request, { idempotencyKey: 'lost' });
    await world.until(() => world.command(lost.commandId).state === 'applied');
    for (const { commandId } of [answered.command, lost]) {
      const { orderId } = world.landed(commandId).terms;
      expect(world.command(commandId)).toMatchObject({ state: 'applied', orderId });
      expect(world.stored(world.landed(commandId))).toMatchObject({ origin: 'tidemark', commandId });
      const landed = world.simulated.journal.evidence.get(commandId)?.find(({ code }) => code === 'landed');
      expect(landed?.detail['differs']).toContain(Object.keys(over)[0]);
    }
    expect([...world.simulated.journal.halts.values()]).toEqual([]);
  });

  it('of another side, it is not', async () => {
    const world = await CommandWorld.start();
    renaming(world, { side: 'SELL' });
    world.script({ applied: 'yes', answer: outcomeUnknown });
    const { commandId } = await world.send(equity);
    await world.until(() => world.command(commandId).state === 'conflict');
    expect(world.stored(world.landed(commandId)).origin).toBe('external');
  });
});

describe('a second order with our reference', () => {
  const successorOf = (world: CommandWorld, orderId: string) => {
    const elder = world.exchange.orders.get(orderId);
    if (elder === undefined) throw new Error('no elder');
    const next = world.exchange.open({ ...elder.terms, orderId: `${orderId.slice(0, -4)}abcd` }, 'amended elsewhere');
    acceptOrder(world.exchange, next, 'venue-2');
    return { elder, next };
  };

  it('is the successor of an order that ended replaced, and no alarm', async () => {
    const world = await CommandWorld.start();
    const { command, order } = await world.working(equity);
    world.exchange.change(order, 'replaced', (it) => {
      it.state = 'replaced';
    });
    const { next } = successorOf(world, order.terms.orderId);
    await world.until(() => world.isStored(next) && world.stored(next).status === 'new');
    await world.pass(10_000);
    expect(world.stored(next)).toMatchObject({ origin: 'tidemark', commandId: command.commandId });
    expect(world.command(command.commandId).state).toBe('applied');
    expect(world.evidenceCodes(command.commandId)).toContain('successor');
    expect(world.evidenceCodes(command.commandId)).not.toContain('second_order');
  });

  it('is its successor too where it is seen before its elder ends', async () => {
    const world = await CommandWorld.start();
    const { command, order } = await world.working(equity);
    const { next } = successorOf(world, order.terms.orderId);
    world.exchange.change(order, 'replaced', (it) => {
      it.state = 'replaced';
    });
    await world.until(() => world.isStored(next) && world.stored(order).status === 'replaced');
    await world.pass(10_000);
    expect(world.evidenceCodes(command.commandId)).toContain('successor');
    expect(world.evidenceCodes(command.commandId)).not.toContain('second_order');
  });

  it('calls a person where its elder works on, or was filled', async () => {
    for (const ends of [false, true]) {
      const world = await CommandWorld.start();
      const { command, order } = await world.working(equity);
      if (ends) fillOrder(world.exchange, order, whole(10), fixed('1'));
      successorOf(world, order.terms.orderId);
      await world.pass(20_000);
      expect(world.evidenceCodes(command.commandId)).toContain('second_order');
    }
  });
});
