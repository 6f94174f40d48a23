import { describe, expect, it } from 'vitest';
import { predictionErrors } from '../../../src/venue/platform/wire/error-bodies.ts';
import { predictionOrderReply } from '../../../src/venue/platform/wire/order-pages.ts';
import { enrolled, notEnrolled, orderClient, predictionOrder } from '../../support/commands/order-entry.ts';
import { ask, control, controlLines, signedIn } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';

type OrderClient = Awaited<ReturnType<typeof orderClient>>;

const manual = { venue: { answerMs: 'manual' } } as const;
const ahead = '2199-01-01T00:00:00Z';

function refusal(code: keyof typeof predictionErrors) {
  const { status, type } = predictionErrors[code];
  return { status, json: { success: false, error: { code, type, message: expect.any(String) } } };
}

async function unchanged(client: OrderClient, work: () => Promise<unknown>): Promise<void> {
  const before = (await ask(`${client.at.control}/state`)).text;
  await work();
  expect((await ask(`${client.at.control}/state`)).text).toBe(before);
}

describe('POST /v1/predictions/orders', () => {
  it('answers 202 with the order, pending_new, absent optionals omitted', async () => {
    const client = await orderClient(manual);
    const { status, json } = await client.placePrediction({ clientOrderRef: 'r-1' });
    expect(status).toBe(202);
    const { data } = predictionOrderReply.parse(
      JSON.parse(JSON.stringify(json).replace(/"version":(\d+)/, '"version":"$1"')),
    );
    expect(data).toMatchObject({
      ...predictionOrder,
      price: '0.4',
      clientOrderRef: 'r-1',
      state: 'pending_new',
      pendingAction: 'none',
      workingQuantity: '10',
      workingPrice: '0.4',
      cumQty: '0',
      leavesQty: '10',
      avgPx: '0',
      certainty: 'certain',
      placedBy: 'sandbox-desk',
    });
    for (const absent of [
      'closedAt',
      'expireTime',
      'firstAckAt',
      'stopPx',
      'rejectReason',
      'rejectText',
      'venueOrderId',
    ])
      expect(json.data).not.toHaveProperty(absent);
    expect(Object.values(json.data)).not.toContain('');
  });

  it('is acknowledged by the venue later, with an id of the venue and a higher version', async () => {
    const client = await orderClient(manual);
    const { data } = (await client.placePrediction()).json;
    const accepted = (await client.verb(data.orderId, { action: 'accept' })).json;
    expect(accepted).toMatchObject({ state: 'new', venueOrderId: expect.any(String), firstAckAt: expect.any(String) });
    expect(accepted.version).toBeGreaterThan(data.version);
  });

  it('is refused by the venue later, with the reason and the text of the venue', async () => {
    const client = await orderClient({ venue: { answerMs: 0, refuseShare: 1 } });
    const { orderId } = (await client.placePrediction()).json.data;
    await eventually(async () => expect((await client.order('prediction', orderId)).state).toBe('rejected'));
    expect(await client.order('prediction', orderId)).toMatchObject({
      rejectReason: 'VENUE_REFUSED',
      rejectText: 'Refused by the venue',
      closedAt: expect.any(String),
    });
  });

  it('accepts every type, side, outcome and time in force with the members that they need', async () => {
    const client = await orderClient(manual);
    const { price: _, ...terms } = predictionOrder;
    const prices = {
      market: {},
      limit: { price: '0.4' },
      stop: { stopPx: '0.7' },
      stop_limit: { stopPx: '0.7', price: '0.71' },
    };
    for (const [orderType, more] of Object.entries(prices))
      for (const side of ['buy', 'sell'])
        for (const outcome of ['YES', 'NO'])
          for (const timeInForce of ['day', 'gtc', 'ioc', 'fok', 'gtd']) {
            const expiry = timeInForce === 'gtd' ? { expireTime: ahead } : {};
            const body = { ...terms, orderType, side, outcome, timeInForce, ...more, ...expiry };
            expect((await client.placePredictionRaw(body)).status).toBe(202);
          }
  });

  it.each([
    ['no accountId', { accountId: undefined }],
    ['an unknown symbol', { symbol: 'NOPE' }],
    ['a lower-case outcome', { outcome: 'yes' }],
    ['an upper-case side', { side: 'BUY' }],
    ['an unknown order type', { orderType: 'pegged' }],
    ['an unknown time in force', { timeInForce: 'opg' }],
    ['no quantity', { quantity: undefined }],
    ['a quantity of zero', { quantity: '0' }],
    ['a quantity as a number', { quantity: 10 }],
    ['a quantity with an exponent', { quantity: '1e2' }],
    ['a price of one', { price: '1' }],
    ['a price of zero', { price: '0.0' }],
    ['a price above one', { price: '1.01' }],
    ['a limit order without price', { price: undefined }],
    ['a market order with price', { orderType: 'market' }],
    ['a stop order without stopPx', { orderType: 'stop', price: undefined }],
    ['a limit order with stopPx', { stopPx: '0.5' }],
    ['gtd without expireTime', { timeInForce: 'gtd' }],
    ['gtc with expireTime', { expireTime: ahead }],
    ['an expireTime that is over', { timeInForce: 'gtd', expireTime: '2020-01-01T00:00:00Z' }],
    ['an expireTime that does not exist', { timeInForce: 'gtd', expireTime: '2199-02-30T00:00:00Z' }],
    ['an empty clientOrderRef', { clientOrderRef: '' }],
    ['a clientOrderRef of 65 characters', { clientOrderRef: 'x'.repeat(65) }],
    ['a clientOrderRef with a blank', { clientOrderRef: 'a b' }],
  ])('refuses %s with INVALID_ORDER and changes nothing', async (_what, over) => {
    const client = await orderClient(manual);
    await unchanged(client, async () =>
      expect(await client.placePrediction(over)).toMatchObject(refusal('INVALID_ORDER')),
    );
  });

  it('takes the same clientOrderRef twice, and echoes it everywhere', async () => {
    const client = await orderClient();
    await client.working({ clientOrderRef: 'same' });
    await client.working({ clientOrderRef: 'same' });
    expect(await client.byReference('same')).toHaveLength(2);
  });

  it('refuses an order beyond the limits of the account with ORDER_NOT_ACTIONABLE', async () => {
    const client = await orderClient({ venue: { orderLimit: '3' } });
    expect(await client.placePrediction()).toMatchObject(refusal('ORDER_NOT_ACTIONABLE'));
  });

  it('names the user who placed it when a user did', async () => {
    const client = await orderClient(manual);
    const { tokens } = client.sandbox.parts;
    const { token } = await tokens.issue({
      clientId: 'sandbox-desk',
      username: 'alice',
      scopes: new Set(['order:execution']),
    });
    const { json } = await ask(`${client.at.staging}/v1/predictions/orders`, {
      method: 'POST',
      headers: { ...client.headers, authorization: `Bearer ${token}` },
      body: JSON.stringify(predictionOrder),
    });
    expect(json.data.placedBy).toBe('alice');
  });
});

describe('the venue, for prediction orders', () => {
  it('fills at the market or better, at one minus the price for NO', async () => {
    const client = await orderClient();
    const yes = await client.working({ price: '0.70' });
    await eventually(async () => expect((await client.order('prediction', yes)).state).toBe('filled'));
    expect(await client.order('prediction', yes)).toMatchObject({
      avgPx: '0.62',
      leavesQty: '0',
      closedAt: expect.any(String),
    });
    const no = await client.working({ outcome: 'NO', price: '0.70' });
    await eventually(async () => expect((await client.order('prediction', no)).state).toBe('filled'));
    expect((await client.order('prediction', no)).avgPx).toBe('0.38');
  });

  it('shows the type that a triggered stop limit works as', async () => {
    const client = await orderClient();
    const id = await client.working({ orderType: 'stop_limit', stopPx: '0.80', price: '0.79' });
    expect((await client.order('prediction', id)).workingOrderType).toBe('stop_limit');
    await client.price('FED-CUT-DEC26', '0.80');
    expect(await client.order('prediction', id)).toMatchObject({
      workingOrderType: 'limit',
      orderType: 'stop_limit',
      cumQty: '0',
    });
    await client.price('FED-CUT-DEC26', '0.78');
    await eventually(async () => expect((await client.order('prediction', id)).state).toBe('filled'));
  });

  it('expires a gtd order at its time', async () => {
    const client = await orderClient();
    const expireTime = new Date(Date.now() + 2_000).toISOString();
    const { orderId } = (await client.placePrediction({ timeInForce: 'gtd', expireTime })).json.data;
    await eventually(async () => expect((await client.order('prediction', orderId)).state).toBe('expired'));
  });

  it('raises the version with every change', async () => {
    const client = await orderClient({ ...manual });
    const { orderId, version } = (await client.placePrediction()).json.data;
    let last = version;
    for (const verb of [
      { action: 'accept' },
      { action: 'fill', quantity: '1' },
      { action: 'ask_cancel' },
      { action: 'refuse' },
    ]) {
      const next = (await client.verb(orderId, verb)).json.version;
      expect(next).toBeGreaterThan(last);
      last = next;
    }
  });
});

describe('PATCH /v1/predictions/orders/{orderId}', () => {
  it('answers 202 with pendingAction replace while the order works on its present terms', async () => {
    const client = await orderClient();
    const id = await client.working();
    await client.venue({ answerMs: 'manual' });
    const { status, json } = await client.replace(id, { quantity: '20', price: '0.45' });
    expect(status).toBe(202);
    expect(json).toMatchObject({
      success: true,
      data: { orderId: id, pendingAction: 'replace', state: 'new', workingQuantity: '10', workingPrice: '0.4' },
    });
  });

  it('records the caller as the user who asked', async () => {
    const client = await orderClient(manual);
    const id = (await client.placePrediction()).json.data.orderId;
    const { tokens } = client.sandbox.parts;
    const { token } = await tokens.issue({
      clientId: 'sandbox-desk',
      username: 'alice',
      scopes: new Set(['order:execution']),
    });
    const headers = { ...client.headers, authorization: `Bearer ${token}` };
    const body = JSON.stringify({ accountId: enrolled, quantity: '20' });
    const { json } = await ask(`${client.at.staging}/v1/predictions/orders/${id}`, { method: 'PATCH', headers, body });
    expect(json.data).toMatchObject({ pendingAction: 'replace', placedBy: 'sandbox-desk' });
    const [, asked] = await client.decisions();
    expect(asked).toMatchObject({ decision: 'accepted', write: 'replace', orderId: id, by: 'alice' });
  });

  it('changes the working terms when the venue accepts, never the submitted ones', async () => {
    const client = await orderClient();
    const id = await client.working();
    await client.replace(id, { quantity: '20', price: '0.45' });
    await eventually(async () => expect((await client.order('prediction', id)).pendingAction).toBe('none'));
    expect(await client.order('prediction', id)).toMatchObject({
      quantity: '10',
      price: '0.4',
      workingQuantity: '20',
      workingPrice: '0.45',
      leavesQty: '20',
    });
  });

  it('keeps the terms and records the reason when the venue refuses', async () => {
    const client = await orderClient();
    const id = await client.working();
    await client.venue({ refuseShare: 1 });
    await client.replace(id, { quantity: '20' });
    await eventually(async () => expect((await client.order('prediction', id)).pendingAction).toBe('none'));
    expect(await client.order('prediction', id)).toMatchObject({
      workingQuantity: '10',
      state: 'new',
      rejectReason: 'VENUE_REFUSED',
    });
  });

  it('keeps what a term left out was working at', async () => {
    const client = await orderClient();
    const id = await client.working();
    for (const body of [{ quantity: '20' }, { price: '0.45' }]) {
      await client.replace(id, body);
      await eventually(async () => expect((await client.order('prediction', id)).pendingAction).toBe('none'));
    }
    expect(await client.order('prediction', id)).toMatchObject({ workingQuantity: '20', workingPrice: '0.45' });
  });

  it('changes stop price, time in force and expiry', async () => {
    const client = await orderClient();
    const id = await client.working({ orderType: 'stop_limit', stopPx: '0.80', price: '0.79' });
    const resolve = () =>
      eventually(async () => expect((await client.order('prediction', id)).pendingAction).toBe('none'));
    for (const body of [{ stopPx: '0.9' }, { timeInForce: 'gtd', expireTime: ahead }, { timeInForce: 'day' }]) {
      expect((await client.replace(id, body)).status).toBe(202);
      await resolve();
    }
    // Now 0.8 touches nothing, 0.9 does.
    await client.price('FED-CUT-DEC26', '0.85');
    expect((await client.order('prediction', id)).workingOrderType).toBe('stop_limit');
    await client.price('FED-CUT-DEC26', '0.90');
    expect((await client.order('prediction', id)).workingOrderType).toBe('limit');
    // The order lives by the day now.
    expect((await control(client.at, '/day')).json).toEqual({ expired: 1 });
  });

  it('lets an amended order trade that reaches the market now', async () => {
    const client = await orderClient();
    const id = await client.working();
    await client.replace(id, { price: '0.65' });
    await eventually(async () => expect((await client.order('prediction', id)).state).toBe('filled'));
  });

  it('fills the order when the new total is what was executed', async () => {
    const client = await orderClient(manual);
    const { orderId } = (await client.placePrediction()).json.data;
    await client.verb(orderId, { action: 'accept' });
    await client.verb(orderId, { action: 'fill', quantity: '4' });
    expect((await client.replace(orderId, { quantity: '4' })).status).toBe(202);
    expect((await client.verb(orderId, { action: 'accept' })).json).toMatchObject({
      state: 'filled',
      leavesQty: '0',
      cumQty: '4',
    });
  });

  it.each([
    ['EMPTY_BODY', 'no bytes', ''],
    ['EMPTY_BODY', 'blanks', ' \n'],
    ['INVALID_JSON', 'half an object', '{"accountId":'],
    ['INVALID_JSON', 'a byte order mark', `\ufeff{"accountId":"${enrolled}"}`],
    ['INVALID_ORDER', 'an array', '[]'],
    ['INVALID_ORDER', 'null', 'null'],
    ['INVALID_ORDER', 'a string', '"x"'],
    ['UNKNOWN_FIELD', 'symbol', `{"accountId":"${enrolled}","symbol":"X"}`],
    ['UNKNOWN_FIELD', 'side', `{"accountId":"${enrolled}","side":"buy"}`],
    ['UNKNOWN_FIELD', '__proto__', `{"accountId":"${enrolled}","__proto__":{}}`],
    ['UNKNOWN_FIELD', 'clientOrderRef', `{"accountId":"${enrolled}","clientOrderRef":"x"}`],
    ['INVALID_ORDER', 'no accountId', '{"quantity":"20"}'],
    ['INVALID_ORDER', 'a quantity of zero', `{"accountId":"${enrolled}","quantity":"0"}`],
    ['INVALID_ORDER', 'a quantity as a number', `{"accountId":"${enrolled}","quantity":20}`],
    ['INVALID_ORDER', 'a price of null', `{"accountId":"${enrolled}","price":null}`],
    ['INVALID_ORDER', 'an unknown time in force', `{"accountId":"${enrolled}","timeInForce":"opg"}`],
    ['INVALID_ORDER', 'no term at all', `{"accountId":"${enrolled}"}`],
    [
      'INVALID_ORDER',
      'terms equal by value',
      `{"accountId":"${enrolled}","quantity":"10.0","price":"0.400","timeInForce":"gtc"}`,
    ],
    ['INVALID_ORDER', 'stopPx on an order without a stop', `{"accountId":"${enrolled}","stopPx":"0.5"}`],
    ['INVALID_ORDER', 'expireTime without gtd', `{"accountId":"${enrolled}","expireTime":"${ahead}"}`],
    ['INVALID_ORDER', 'gtd without expireTime', `{"accountId":"${enrolled}","timeInForce":"gtd"}`],
  ] as const)('answers 400 %s for %s, and changes nothing', async (code, _what, body) => {
    const client = await orderClient();
    const id = await client.working();
    await unchanged(client, async () => expect(await client.replace(id, body)).toMatchObject(refusal(code)));
  });

  it('answers 400 INVALID_ORDER for a quantity below what was executed, and for stopPx once the stop has triggered', async () => {
    const client = await orderClient();
    const id = await client.working({ orderType: 'stop_limit', stopPx: '0.70', price: '0.5' });
    await client.price('FED-CUT-DEC26', '0.70');
    expect(await client.replace(id, { stopPx: '0.9' })).toMatchObject(refusal('INVALID_ORDER'));
    await client.verb(id, { action: 'fill', quantity: '4' });
    expect(await client.replace(id, { quantity: '3.999' })).toMatchObject(refusal('INVALID_ORDER'));
  });
});

describe('a prediction order that cannot be changed', () => {
  const causes: Record<string, (client: OrderClient, id: string) => Promise<unknown>> = {
    'is filled': (client, id) => client.verb(id, { action: 'fill' }),
    'is canceled': (client, id) => client.verb(id, { action: 'cancel' }),
    'is expired': (client, id) => client.verb(id, { action: 'expire' }),
    'is of unknown state': (client) =>
      control(client.at, '/faults', { now: [{ action: 'unknown_gap', accountId: enrolled, forMs: 600_000 }] }),
    'awaits the answer to an earlier amend': (client, id) => client.replace(id, { quantity: '30' }),
    'awaits the answer to a cancel': (client, id) => client.cancelPrediction(id),
  };

  for (const [cause, bring] of Object.entries(causes))
    it(`because it ${cause} answers 409 ORDER_NOT_ACTIONABLE to replace and cancel, and changes nothing`, async () => {
      const client = await orderClient();
      const id = await client.working();
      await client.venue({ answerMs: 'manual' });
      await bring(client, id);
      await unchanged(client, async () => {
        expect(await client.replace(id, { quantity: '20' })).toMatchObject(refusal('ORDER_NOT_ACTIONABLE'));
        expect(await client.cancelPrediction(id)).toMatchObject(refusal('ORDER_NOT_ACTIONABLE'));
      });
    });

  it('because the amend would exceed the limits of the account answers 409 ORDER_NOT_ACTIONABLE, and changes nothing', async () => {
    const client = await orderClient({ venue: { orderLimit: '5' } });
    const id = await client.working();
    await unchanged(client, async () =>
      expect(await client.replace(id, { quantity: '13' })).toMatchObject(refusal('ORDER_NOT_ACTIONABLE')),
    );
  });

  it('because it was rejected answers 409 as well', async () => {
    const client = await orderClient(manual);
    const { orderId } = (await client.placePrediction()).json.data;
    await client.verb(orderId, { action: 'refuse' });
    expect(await client.replace(orderId, { quantity: '20' })).toMatchObject(refusal('ORDER_NOT_ACTIONABLE'));
  });
});

describe('DELETE /v1/predictions/orders/{orderId}', () => {
  it('answers 202 with pendingAction cancel, and is canceled when the venue agrees', async () => {
    const client = await orderClient();
    const id = await client.working();
    const { status, json } = await client.cancelPrediction(id);
    expect(status).toBe(202);
    expect(json).toMatchObject({ success: true, data: { orderId: id, pendingAction: 'cancel', state: 'new' } });
    await eventually(async () => expect((await client.order('prediction', id)).state).toBe('canceled'));
    expect(await client.order('prediction', id)).toMatchObject({
      pendingAction: 'none',
      leavesQty: '0',
      closedAt: expect.any(String),
    });
  });

  it('keeps working when the venue refuses the cancel', async () => {
    const client = await orderClient();
    const id = await client.working();
    await client.venue({ refuseShare: 1 });
    await client.cancelPrediction(id);
    await eventually(async () => expect((await client.order('prediction', id)).pendingAction).toBe('none'));
    expect(await client.order('prediction', id)).toMatchObject({ state: 'new', rejectText: 'Refused by the venue' });
  });

  it('answers 400 INVALID_ORDER without accountId', async () => {
    const client = await orderClient();
    expect(await client.cancelPrediction(await client.working(), '')).toMatchObject(refusal('INVALID_ORDER'));
  });
});

describe('every write of a prediction order', () => {
  const writes: Record<
    string,
    (client: OrderClient, id: string, accountId: string) => ReturnType<OrderClient['send']>
  > = {
    POST: (client, _id, accountId) => client.placePrediction({ accountId }),
    PATCH: (client, id, accountId) => client.replace(id, { accountId, quantity: '20' }),
    DELETE: (client, id, accountId) => client.cancelPrediction(id, `?accountId=${accountId}`),
  };

  for (const [method, write] of Object.entries(writes)) {
    it(`${method} answers 401 without a token and 403 without order:execution, with the nested body`, async () => {
      const client = await orderClient();
      const url = `${client.at.staging}/v1/predictions/orders${method === 'POST' ? '' : '/x'}`;
      const nobody = await ask(url, { method });
      expect([nobody.status, nobody.json]).toEqual([
        401,
        { error: { type: 'authentication', message: expect.any(String) } },
      ]);
      const reader = await signedIn(client.at, 'order:information');
      const answer = await ask(url, { method, headers: reader });
      expect([answer.status, answer.json.error.code]).toEqual([403, 'FORBIDDEN']);
    });

    it(`${method} answers 403 for an account that is not enrolled and for another's`, async () => {
      const client = await orderClient();
      const id = await client.working();
      for (const accountId of [notEnrolled, 'SIM-9001', 'nobody']) {
        const answer = await write(client, id, accountId);
        expect([answer.status, answer.json.error.code]).toEqual([403, 'FORBIDDEN']);
      }
    });

    it(`${method} answers 503 ORDER_ENTRY_UNAVAILABLE while the session with the venue is down, and sends nothing`, async () => {
      const client = await orderClient();
      const id = await client.working();
      await client.venue({ session: 'down' });
      await unchanged(client, async () =>
        expect(await write(client, id, enrolled)).toMatchObject(refusal('ORDER_ENTRY_UNAVAILABLE')),
      );
    });

    it(`${method} answers 429 ORDER_ENTRY_AT_CAPACITY while order entry is at capacity, and sends nothing`, async () => {
      const client = await orderClient();
      const id = await client.working();
      await client.venue({ answerMs: 'manual', capacity: 1 });
      await client.placePrediction();
      await unchanged(client, async () =>
        expect(await write(client, id, enrolled)).toMatchObject(refusal('ORDER_ENTRY_AT_CAPACITY')),
      );
      await client.venue({ capacity: 2 });
      expect((await write(client, id, enrolled)).status).toBe(202);
    });

    it(`${method} is not on production: 404`, async () => {
      const client = await orderClient();
      const url = `${client.at.platform}/v1/predictions/orders${method === 'POST' ? '' : '/x'}`;
      expect((await client.send(method, url, method === 'DELETE' ? undefined : predictionOrder)).status).toBe(404);
    });
  }

  it.each([
    ['an id of no order', 'b6f5a2f6-7a0e-4e0e-9d0e-000000000000'],
    ['an id that is no uuid', 'x'],
    ['an id with a path in it', '..%2F..%2Forders'],
    ['an id with a broken escape', '%zz'],
    ['an id that is not UTF-8', '%ff'],
    ['an id of 5000 characters', 'x'.repeat(5000)],
  ])('answers 404 ORDER_NOT_FOUND for %s', async (_what, id) => {
    const client = await orderClient();
    expect(await client.replace(id, { quantity: '20' })).toMatchObject(refusal('ORDER_NOT_FOUND'));
    expect(await client.cancelPrediction(id)).toMatchObject(refusal('ORDER_NOT_FOUND'));
    const url = `${client.at.staging}/v1/predictions/orders/${id}?accountId=${enrolled}`;
    expect(await client.send('GET', url)).toMatchObject(refusal('ORDER_NOT_FOUND'));
    expect((await ask(url)).status).toBe(401);
    const lines = await controlLines(client.at, '/ledger?kind=request,answer');
    const requests = lines.filter((line) => line.kind === 'request' && line.url.includes(`/orders/${id}`));
    expect(requests.map((line) => line.method)).toEqual(['PATCH', 'DELETE', 'GET', 'GET']);
    for (const { seq } of requests)
      expect(lines.some((line) => line.kind === 'answer' && line.request === seq)).toBe(true);
  });

  it.each([
    ['as text', { 'content-type': 'text/plain' }, 400],
    ['as a form', { 'content-type': 'application/x-www-form-urlencoded' }, 400],
    ['with an empty type', { 'content-type': '' }, 400],
    ['with a type that is none', { 'content-type': 'json' }, 400],
    ['without a type', {}, 400],
    ['as JSON in other letters and with a charset', { 'content-type': 'Application/JSON; charset=utf-8' }, 202],
  ])('takes a body that comes %s by its content type', async (_what, type, status) => {
    const client = await orderClient();
    const id = await client.working();
    const orders = `${client.at.staging}/v1/predictions/orders`;
    const headers = { authorization: client.headers.authorization, ...type };
    // Bytes: fetch gives a text a type of its own.
    const bytes = (value: object) => Buffer.from(JSON.stringify(value));
    const placed = await ask(orders, { method: 'POST', headers, body: bytes(predictionOrder) });
    const body = bytes({ accountId: enrolled, quantity: '20' });
    const replaced = await ask(`${orders}/${id}`, { method: 'PATCH', headers, body });
    const code = status === 202 ? undefined : 'INVALID_JSON';
    for (const answer of [placed, replaced]) expect([answer.status, answer.json.error?.code]).toEqual([status, code]);
  });

  it('answers 404 ORDER_NOT_FOUND for an order of another account, and for an account order', async () => {
    const client = await orderClient();
    await client.place({ clientId: 'equity' });
    const [{ ordId }] = await client.byReference('equity');
    expect(await client.replace(ordId, { quantity: '20' })).toMatchObject(refusal('ORDER_NOT_FOUND'));
    const id = await client.working();
    expect(await client.cancelPrediction(id, '?accountId=SIM-1003')).toMatchObject(refusal('ORDER_NOT_FOUND'));
  });
});
