import { describe, expect, it } from 'vitest';
import { orderResponse } from '../../../src/venue/platform/wire/order-writes.ts';
import { limitOrder, notEnrolled, orderClient } from '../../support/commands/order-entry.ts';
import { ask, askToken, controlLines, signedIn } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';

const call = { symbol: 'AAPL261218C00200000', side: 'BUY', ratioQty: '1', positionEffect: 'OPEN' };
const put = { symbol: 'AAPL261218P00180000', side: 'SELL', ratioQty: '1', positionEffect: 'OPEN' };

describe('POST /v1/orders', () => {
  it('answers with every field of the order response and works under the reference that was sent', async () => {
    const client = await orderClient();
    const { status, json } = await client.place({ clientId: 'ref-1' });
    expect(status).toBe(200);
    expect(orderResponse.parse(json)).toMatchObject({
      success: true,
      clOrdId: 'ref-1',
      status: 'NEW',
      symbol: 'AAPL',
      side: 'BUY',
      qty: '10',
      cumQty: '0',
      leavesQty: '10',
      avgPrice: '0',
    });
    expect(json).not.toHaveProperty('ordRejReason');
    expect(await client.byReference('ref-1')).toMatchObject([
      { ordStatus: 'NEW', price: '200', accountId: 'SIM-1001' },
    ]);
  });

  it('makes up a uuid where no clientId was sent, and takes the same clientId twice', async () => {
    const client = await orderClient();
    expect((await client.place()).json.clOrdId).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    await client.place({ clientId: 'twice' });
    await client.place({ clientId: 'twice' });
    expect(await client.byReference('twice')).toHaveLength(2);
  });

  it.each([
    ['MARKET', {}],
    ['LIMIT', { price: '200' }],
    ['STOP', { stopPrice: '260' }],
    ['STOP_LIMIT', { stopPrice: '260', price: '261' }],
  ])('accepts %s for every side and time in force', async (type, prices) => {
    const client = await orderClient({ venue: { answerMs: 'manual' } });
    for (const side of ['BUY', 'SELL', 'SELL_SHORT', 'BUY_TO_COVER'])
      for (const timeInForce of ['DAY', 'GTC', 'IOC', 'FOK']) {
        const { price: _, ...terms } = limitOrder;
        const { status, json } = await client.placeRaw({ ...terms, type, side, timeInForce, ...prices });
        expect([status, json.success, json.side]).toEqual([200, true, side]);
      }
  });

  it('takes tradingAccountId in place of accountId, and both when they agree', async () => {
    const client = await orderClient();
    const { accountId, ...rest } = limitOrder;
    expect((await client.placeRaw({ ...rest, tradingAccountId: accountId })).status).toBe(200);
    expect((await client.placeRaw({ ...rest, accountId, tradingAccountId: accountId })).status).toBe(200);
    expect((await client.placeRaw({ ...rest, accountId, tradingAccountId: notEnrolled })).status).toBe(400);
  });

  it('places a single-leg option for one leg and a multi-leg option for two to four', async () => {
    const client = await orderClient({ venue: { answerMs: 'manual' } });
    for (const [reference, legs, securityType] of [
      ['none', [], 'CS'],
      ['one', [call], 'OPT'],
      ['two', [call, put], 'MLEG'],
      ['four', [call, put, call, put], 'MLEG'],
    ] as const) {
      expect((await client.place({ clientId: reference, legs, price: '5' })).status).toBe(200);
      const category = securityType === 'CS' ? 'equity' : 'option';
      expect(await client.byReference(reference)).toMatchObject([{ securityType, category, symbol: 'AAPL' }]);
    }
  });

  it.each([
    ['no accountId', { accountId: undefined }],
    ['an empty accountId', { accountId: '' }],
    ['an accountId of 51 characters', { accountId: 'a'.repeat(51) }],
    ['an empty symbol', { symbol: '' }],
    ['a symbol of 21 characters', { symbol: 'A'.repeat(21) }],
    ['an unknown symbol', { symbol: 'NOPE' }],
    ['a side in the wrong case', { side: 'buy' }],
    ['a side with a line end', { side: 'SELL\n' }],
    ['an unknown type', { type: 'PEGGED' }],
    ['an unknown time in force', { timeInForce: 'GTD' }],
    ['no qty', { qty: undefined }],
    ['qty as a number', { qty: 10 }],
    ['qty of zero', { qty: '0' }],
    ['a negative qty', { qty: '-1' }],
    ['qty with an exponent', { qty: '1e3' }],
    ['qty with a leading zero', { qty: '01' }],
    ['qty of 19 digits', { qty: '1'.repeat(19) }],
    ['a clientId of 51 characters', { clientId: 'x'.repeat(51) }],
    ['a currency of 2 characters', { currency: 'US' }],
    ['a currency of 4 characters', { currency: 'USDT' }],
    ['an exDestination of 11 characters', { exDestination: 'x'.repeat(11) }],
    ['LIMIT without price', { price: undefined }],
    ['STOP without stopPrice', { type: 'STOP' }],
    ['STOP_LIMIT without stopPrice', { type: 'STOP_LIMIT' }],
    ['STOP_LIMIT without price', { type: 'STOP_LIMIT', stopPrice: '210', price: undefined }],
    ['a price of null', { price: null }],
    ['five legs', { legs: [call, put, call, put, call] }],
    ['legs that are no array', { legs: call }],
    ['legs of null', { legs: null }],
    ['a leg that is no object', { legs: ['AAPL261218C00200000'] }],
    ['a leg of another underlying', { legs: [{ ...call, symbol: 'MSFT261218C00400000' }] }],
    ['a leg whose expiry is no monthly one', { legs: [{ ...call, symbol: 'AAPL261217C00200000' }] }],
    ['a leg at a strike of half a dollar', { legs: [{ ...call, symbol: 'AAPL261218C00200500' }] }],
    ['a leg in lower case', { legs: [{ ...call, symbol: 'aapl261218C00200000' }] }],
    ['a leg that expires on a day that does not exist', { legs: [{ ...call, symbol: 'AAPL260230C00200000' }] }],
    ['a leg without ratioQty', { legs: [{ ...call, ratioQty: undefined }] }],
    ['a leg whose side is unknown', { legs: [{ ...call, side: 'HOLD' }] }],
    ['a leg without positionEffect', { legs: [{ ...call, positionEffect: undefined }] }],
    ['a side that is not the side of the first leg', { side: 'SELL', legs: [call] }],
  ])('refuses %s with 400 and changes nothing', async (_what, over) => {
    const client = await orderClient();
    const before = (await ask(`${client.at.control}/state`)).text;
    const { status, json } = await client.place(over);
    expect(status).toBe(400);
    expect(json).toMatchObject({ error: expect.any(String), codes: [{ code: 'INVALID_ORDER' }] });
    expect((await ask(`${client.at.control}/state`)).text).toBe(before);
    expect((await client.decisions()).at(-1)).toMatchObject({ decision: 'refused', status: 400 });
  });

  it('takes each bounded member at its very bound', async () => {
    const client = await orderClient();
    const over = {
      clientId: 'x'.repeat(50),
      currency: 'USD',
      exDestination: 'x'.repeat(10),
      qty: '999999999.5',
      price: '0.000000000001',
    };
    expect((await client.place(over)).json).toMatchObject({ success: true, qty: '999999999.5' });
  });

  it.each([
    ['an empty body', ''],
    ['a body that is not JSON', '{"accountId":'],
    ['an array', '[]'],
    ['null', 'null'],
    ['a byte order mark', `\ufeff${JSON.stringify(limitOrder)}`],
  ])('refuses %s', async (_what, body) => {
    const client = await orderClient();
    expect((await client.placeRaw(body)).status).toBe(400);
  });

  it('refuses a body that does not call itself JSON', async () => {
    const client = await orderClient();
    const answer = await ask(`${client.at.platform}/v1/orders`, {
      method: 'POST',
      headers: { ...client.headers, 'content-type': 'text/plain' },
      body: JSON.stringify(limitOrder),
    });
    expect(answer).toMatchObject({ status: 400, json: { codes: [{ code: 'INVALID_JSON' }] } });
  });

  it('answers 401 without a token, 403 without order:execution and for an account of somebody else', async () => {
    const client = await orderClient();
    const url = `${client.at.platform}/v1/orders`;
    const body = JSON.stringify(limitOrder);
    expect((await ask(url, { method: 'POST', body })).status).toBe(401);
    const reader = await signedIn(client.at, 'order:information');
    expect((await ask(url, { method: 'POST', body, headers: reader })).status).toBe(403);
    for (const accountId of ['SIM-9001', 'nobody']) expect((await client.place({ accountId })).status).toBe(403);
    expect((await askToken(client.at)).status).toBe(200);
    const decisions = await client.decisions();
    expect(decisions.map(({ decision, status }) => [decision, status])).toEqual([
      ['refused', 401],
      ['refused', 403],
      ['refused', 403],
      ['refused', 403],
    ]);
  });

  it('rejects through success, text and ordRejReason what is in order but may not trade', async () => {
    const client = await orderClient({ venue: { orderLimit: '5000' } });
    const rejected = { success: false, status: 'REJECTED', cumQty: '0', leavesQty: '0', text: expect.any(String) };
    expect((await client.place({ qty: '26', clientId: 'dear' })).json).toMatchObject({
      ...rejected,
      ordRejReason: 'INSUFFICIENT_BUYING_POWER',
      clOrdId: 'dear',
    });
    expect(await client.byReference('dear')).toMatchObject([{ ordStatus: 'REJECTED' }]);
    const dead = { ...call, symbol: 'AAPL240119C00200000' };
    expect((await client.place({ legs: [dead] })).json).toMatchObject({
      ...rejected,
      ordRejReason: 'CONTRACT_EXPIRED',
    });
    await client.venue({ session: 'down' });
    expect((await client.place()).json).toMatchObject({ ...rejected, ordRejReason: 'VENUE_UNAVAILABLE' });
    const account = client.sandbox.parts.exchange.accounts.get('SIM-1001');
    if (account !== undefined) account.status = 'CLOSED';
    const answer = await client.place();
    expect([answer.status, answer.json.ordRejReason]).toEqual([200, 'ACCOUNT_NOT_OPEN']);
  });

  it('tells the ledger which order came of which request', async () => {
    const client = await orderClient();
    await client.place({ clientId: 'told' });
    const lines = await controlLines(client.at, '/ledger?kind=request,decision,change');
    const request = lines.find((line) => line.kind === 'request' && line.body.includes('"told"'));
    const decision = lines.find((line) => line.kind === 'decision');
    expect(decision).toMatchObject({ request: request.seq, decision: 'accepted', write: 'place', reference: 'told' });
    const changes = lines.filter((line) => line.kind === 'change' && line.orderId === decision.orderId);
    expect(changes.map(({ step, cause }) => [step, cause])).toEqual([
      ['placed', 'entry'],
      ['accepted', 'entry'],
    ]);
  });
});

describe('the venue, for equities and options', () => {
  it('fills a marketable limit order at the market, never worse than its limit', async () => {
    const client = await orderClient();
    await client.place({ clientId: 'buy', price: '230' });
    const bought = await client.resolved('buy', (order) =>
      expect(order).toMatchObject({ ordStatus: 'FILLED', cumQty: '10' }),
    );
    expect(bought).toMatchObject({ avgPrice: '221.5', leavesQty: '0', price: '230' });
  });

  it('lets a limit order rest until the market comes to it', async () => {
    const client = await orderClient();
    await client.place({ clientId: 'rest' });
    await client.price('AAPL', '200.01');
    expect(await client.byReference('rest')).toMatchObject([{ ordStatus: 'NEW' }]);
    await client.price('AAPL', '199.5');
    await client.resolved('rest', (order) => expect(order).toMatchObject({ ordStatus: 'FILLED', avgPrice: '199.5' }));
  });

  it('keeps a stop limit inactive until its stop is touched, then fills it at its price or better, in part, and lets the rest rest', async () => {
    const client = await orderClient({ venue: { depth: 3 } });
    await client.place({
      clientId: 'stop',
      type: 'STOP_LIMIT',
      side: 'SELL',
      qty: '2000',
      stopPrice: '215',
      price: '214',
      timeInForce: 'GTC',
    });
    await client.price('AAPL', '215.01');
    expect(await client.byReference('stop')).toMatchObject([{ ordStatus: 'NEW', cumQty: '0' }]);
    await client.price('AAPL', '214.6');
    const part = await client.resolved('stop', (order) =>
      expect(order).toMatchObject({ ordStatus: 'PARTIALLY_FILLED' }),
    );
    expect(part).toMatchObject({ type: 'STOP_LIMIT', stopPrice: '215', price: '214', avgPrice: '214.6' });
    await client.price('AAPL', '213.99');
    const [resting] = await client.byReference('stop');
    await client.price('AAPL', '213');
    const [still] = await client.byReference('stop');
    expect(still).toMatchObject({ cumQty: resting.cumQty, ordStatus: 'PARTIALLY_FILLED' });
    await client.venue({ depth: 2000 });
    await client.price('AAPL', '214');
    await client.resolved('stop', (order) => expect(order).toMatchObject({ ordStatus: 'FILLED', cumQty: '2000' }));
  });

  it('fills a stop order at the market once it is touched', async () => {
    const client = await orderClient();
    await client.place({ clientId: 'stop', type: 'STOP', stopPrice: '225', price: undefined });
    await client.price('AAPL', '226');
    await client.resolved('stop', (order) => expect(order).toMatchObject({ ordStatus: 'FILLED', avgPrice: '226' }));
  });

  it('cancels what is left of an immediate-or-cancel order, and all of a fill-or-kill order that cannot be filled at once', async () => {
    const client = await orderClient({ venue: { depth: 3 } });
    await client.place({ clientId: 'ioc', timeInForce: 'IOC', price: '230', qty: '50' });
    const ioc = await client.resolved('ioc', (order) => expect(order).toMatchObject({ ordStatus: 'CANCELED' }));
    expect(Number(ioc.cumQty)).toBeGreaterThan(0);
    await client.place({ clientId: 'fok', timeInForce: 'FOK', price: '230', qty: '50' });
    await client.resolved('fok', (order) => expect(order).toMatchObject({ ordStatus: 'CANCELED', cumQty: '0' }));
  });

  it('serves a market order in parts until it is filled', async () => {
    const client = await orderClient({ venue: { depth: 3 } });
    await client.place({ clientId: 'all', type: 'MARKET', price: undefined, qty: '30' });
    await client.resolved('all', (order) => expect(order).toMatchObject({ ordStatus: 'FILLED', cumQty: '30' }));
  });

  it('prices an option by its contract, not by its underlying', async () => {
    const client = await orderClient();
    await client.place({ clientId: 'option', type: 'MARKET', price: undefined, legs: [call], qty: '2' });
    const order = await client.resolved('option', (it) => expect(it).toMatchObject({ ordStatus: 'FILLED' }));
    expect(Number(order.avgPrice)).toBeGreaterThan(21.5);
    expect(Number(order.avgPrice)).toBeLessThan(60);
  });

  it('expires day orders when the day ends, and leaves the others', async () => {
    const client = await orderClient();
    await client.place({ clientId: 'day' });
    await client.place({ clientId: 'gtc', timeInForce: 'GTC' });
    await eventually(async () => {
      const expired = await ask(`${client.at.control}/day`, { method: 'POST' });
      expect(expired.json.expired).toBe(1);
    });
    expect(await client.byReference('day')).toMatchObject([{ ordStatus: 'EXPIRED' }]);
    expect(await client.byReference('gtc')).toMatchObject([{ ordStatus: 'NEW' }]);
  });
});

describe('DELETE /v1/orders/{ordId}', () => {
  it('asks for a cancel: 202 with the order, pending until the venue agrees', async () => {
    const client = await orderClient();
    await client.place({ clientId: 'c' });
    const [{ ordId }] = await client.byReference('c');
    const { status, json } = await client.cancel(ordId);
    expect(status).toBe(202);
    expect(json).toMatchObject({ ordId, ordStatus: 'PENDING_CANCEL', accountId: 'SIM-1001' });
    await client.resolved('c', (order) => expect(order).toMatchObject({ ordStatus: 'CANCELED' }));
    expect((await client.cancel(ordId)).json.error).toMatchObject({ type: 'conflict', code: 'ORDER_NOT_ACTIONABLE' });
  });

  it('answers 404 for an order that is not on the account, 400 without accountId, 409 while a cancel is pending', async () => {
    const client = await orderClient({ venue: { answerMs: 'manual' } });
    await client.place({ clientId: 'c' });
    const [{ ordId }] = await client.byReference('c');
    expect((await client.cancel('nothing')).status).toBe(404);
    expect((await client.cancel(ordId, notEnrolled)).status).toBe(404);
    expect((await client.cancel(ordId, '')).status).toBe(400);
    expect((await client.cancel(ordId, 'SIM-9001')).status).toBe(403);
    expect((await client.cancel(ordId)).status).toBe(202);
    expect((await client.cancel(ordId)).status).toBe(409);
  });

  it('loses against a fill that comes first', async () => {
    const client = await orderClient();
    await client.place({ clientId: 'race' });
    const [{ ordId }] = await client.byReference('race');
    await client.venue({ answerMs: 'manual' });
    await client.cancel(ordId);
    await client.price('AAPL', '199');
    await client.resolved('race', (order) => expect(order).toMatchObject({ ordStatus: 'FILLED' }));
  });
});
