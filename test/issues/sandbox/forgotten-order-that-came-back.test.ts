// What a user saw: After a lost store the sandbox traded and listed orders that it had forgotten for good.

import { describe, expect, it } from 'vitest';
import { cancelOrder, fillOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { whole } from '../../../src/sandbox/exchange/wire-text.ts';
import { enrolled, orderClient } from '../../support/commands/order-entry.ts';
import { book } from '../../support/platform/book.ts';
import { control, controlLines, runningSandbox } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';

const storeLost = (forgotten: number) => ({
  now: [{ action: 'unknown_store_lost', accountId: enrolled, forMs: 1, forgotten }],
});
const empty = { openOrders: 0, knownOrders: 0 };

describe('an order that the store lost for good', () => {
  it('is left alone by the market', async () => {
    const sandbox = await runningSandbox({ market: { openOrders: 30, predictionShare: 1 } });
    const at = sandbox.description;
    const before = new Set(sandbox.parts.exchange.orders.keys());
    await control(at, '/faults', storeLost(5));
    const forgotten = [...before].filter((id) => !sandbox.parts.exchange.orders.has(id));
    expect(forgotten).toHaveLength(5);
    await control(at, '/burst', { count: 500 });
    await eventually(() => expect(sandbox.controls.status()).toMatchObject({ changes: 500 }));
    const changed = new Set((await controlLines(at, '/ledger?kind=change')).map(({ orderId }) => orderId));
    expect(forgotten.filter((id) => changed.has(id))).toEqual([]);
  });

  it('gives its place back where it waited for the venue', async () => {
    const client = await orderClient({ market: empty, venue: { answerMs: 'manual', capacity: 1 } });
    expect((await client.placePrediction()).status).toBe(202);
    expect((await client.placePrediction()).status).toBe(429);
    await control(client.at, '/faults', storeLost(1));
    expect((await client.placePrediction()).status).toBe(202);
  });

  it('leaves the book of the venue, and the end of the day', async () => {
    const client = await orderClient({ market: empty });
    const ids = [await client.working(), await client.working({ timeInForce: 'day' })];
    await control(client.at, '/faults', storeLost(2));
    await client.price('FED-CUT-DEC26', '0.30');
    expect((await control(client.at, '/day')).json).toEqual({ expired: 0 });
    const steps = await controlLines(client.at, '/ledger?kind=change');
    expect(steps.filter(({ orderId }) => ids.includes(orderId)).map(({ step }) => step)).toEqual([
      ...['placed', 'accepted'],
      ...['placed', 'accepted'],
    ]);
    expect(await controlLines(client.at, '/state?stream=prediction&accountId=SIM-1001')).toEqual([]);
  });
});

it('an order forgotten in the very change that closes it is in no list', () => {
  const { exchange, open } = book({ maxOrders: 1 });
  const [order] = [open(), open()];
  cancelOrder(exchange, order as never);
  expect(order).toMatchObject({ state: 'canceled', entry: undefined });
});

it('no change reaches a forgotten order', () => {
  const { exchange, open, changes } = book();
  const order = open();
  exchange.forget(order);
  fillOrder(exchange, order, whole(1), whole(1));
  expect([order.cumQty, changes.length]).toEqual([0n, 1]);
});
