// What a user saw: A market order of any size passed the sandbox's check of buying power; a limit did not.

import { expect, it } from 'vitest';
import { orderClient } from '../../support/commands/order-entry.ts';

const call = { symbol: 'AAPL280121C00200000', side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' };

it('a market order is worth what the market asks now, and refused above the limit', async () => {
  // AAPL trades at 221.50, the call at some 50.
  const client = await orderClient({ venue: { orderLimit: '1000' } });
  const market = { type: 'MARKET', price: undefined };
  const rejected = { success: false, status: 'REJECTED', ordRejReason: 'INSUFFICIENT_BUYING_POWER' };
  expect((await client.place({ ...market, qty: '5' })).json).toMatchObject(rejected);
  expect((await client.place({ ...market, qty: '4' })).json).toMatchObject({ success: true });
  expect((await client.place({ ...market, qty: '1000', legs: [call] })).json).toMatchObject(rejected);
  expect((await client.place({ ...market, qty: '5', legs: [call] })).json).toMatchObject({ success: true });
});
