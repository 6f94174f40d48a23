import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { cancelOrder, fillOrder } from '../../../src/sandbox/exchange/venue-steps.ts';
import { fixed, whole } from '../../../src/sandbox/exchange/wire-text.ts';
import { sandboxOptions } from '../../../src/sandbox/sandbox-options.ts';
import { enrolled, orderClient } from '../../support/commands/order-entry.ts';
import { book } from '../../support/platform/book.ts';
import { ask, control, controlLines, runningSandbox, signedIn } from '../../support/platform/sandbox.ts';
import { eventually } from '../../support/runs/poll.ts';
import { PlatformStreamClient } from '../platform-stream-client.ts';

describe('POST /venue of the control port', () => {
  it('changes what it names, keeps the rest, and answers with all of it', async () => {
    const { description: at } = await runningSandbox({ venue: { depth: 7 } });
    expect((await control(at, '/venue', { answerMs: 'manual' })).json).toMatchObject({
      answerMs: 'manual',
      depth: 7,
      session: 'up',
    });
    expect((await control(at, '/venue', { capacity: 3 })).json).toMatchObject({ answerMs: 'manual', capacity: 3 });
  });

  it.each([
    { answerMs: -1 },
    { session: 'asleep' },
    { refuseShare: 2 },
    { orderLimit: '0' },
    { orderLimit: 5 },
    { mood: 'good' },
  ])('refuses %j', async (change) => {
    const { description: at } = await runningSandbox();
    expect((await control(at, '/venue', change)).status).toBe(400);
  });

  it('can be a moment of a scenario', async () => {
    const client = await orderClient({ timeline: [{ atMs: 0, venue: { session: 'down' } }] });
    await eventually(async () => expect((await client.placePrediction()).status).toBe(503));
    expect(sandboxOptions.safeParse({ timeline: [{ atMs: 0, venue: { session: 'asleep' } }] }).success).toBe(false);
  });
});

describe('POST /prices of the control port', () => {
  it('sets the price of an equity or a prediction, and refuses what cannot be one', async () => {
    const { description: at } = await runningSandbox();
    expect((await control(at, '/prices', { symbol: 'AAPL', price: '221.5' })).json).toEqual({
      symbol: 'AAPL',
      ticks: 22_150,
    });
    expect((await control(at, '/prices', { symbol: 'FED-CUT-DEC26', price: '0.5' })).json).toMatchObject({ ticks: 50 });
    expect((await control(at, '/prices', { symbol: 'FED-CUT-DEC26', price: '1' })).status).toBe(409);
    expect((await control(at, '/prices', { symbol: 'NOPE', price: '1' })).status).toBe(404);
    for (const price of [1, '-1', '1e3', '1.234', ''])
      expect((await control(at, '/prices', { symbol: 'AAPL', price })).status).toBe(400);
  });
});

describe('the venue', () => {
  // The ask and what overtakes it happen in one turn of the event
  // loop, so that the venue cannot come first.
  it('answers each ask once, whoever comes first: the control port or its own delay', async () => {
    const client = await orderClient();
    const { order, ask: askFor } = await asking(client);
    askFor('20');
    client.sandbox.controls.moveOrder(order.terms.orderId, { action: 'refuse', reason: 'FIRST', text: 'no' });
    const { version } = order;
    await client.working({ clientOrderRef: 'witness' });
    expect(order).toMatchObject({ version, workingQuantity: whole(10), rejectReason: 'FIRST' });
  });

  it('refuses an amend when more was filled meanwhile than it would leave', async () => {
    const client = await orderClient();
    const { order, ask: askFor } = await asking(client);
    askFor('2');
    fillOrder(client.sandbox.parts.exchange, order, whole(4), whole(1) / 2n);
    await eventually(() => expect(order.pendingAction).toBe('none'));
    expect(order).toMatchObject({ rejectReason: 'TOO_LATE', workingQuantity: whole(10), cumQty: whole(4) });
  });

  it('answers nothing while the order is out of sight, and then does', async () => {
    const client = await orderClient({ market: { openOrders: 0, knownOrders: 0 } });
    const { order, ask: askFor } = await asking(client);
    askFor('20');
    const gap = { action: 'unknown_gap', accountId: 'SIM-1001', forMs: 600_000 } as const;
    client.sandbox.controls.faults({ now: [gap] });
    await client.working({ clientOrderRef: 'witness' });
    expect(order).toMatchObject({ state: 'unknown', pendingAction: 'replace', workingQuantity: whole(10) });
    await control(client.at, '/heal');
    await eventually(() => expect(order.workingQuantity).toBe(whole(20)));
  });

  it('leaves an order alone that a script took over', async () => {
    const client = await orderClient();
    await client.place({ clientId: 'mine' });
    const [{ ordId }] = await client.byReference('mine');
    await client.verb(ordId, { action: 'fill', quantity: '1' });
    await client.price('AAPL', '150');
    expect(await client.byReference('mine')).toMatchObject([{ cumQty: '1', ordStatus: 'PARTIALLY_FILLED' }]);
  });

  it('leaves it alone as well where it was to begin only later', async () => {
    const client = await orderClient({ venue: { answerMs: 1_000 } });
    await client.place({ clientId: 'mine' });
    const [{ ordId }] = await client.byReference('mine');
    await client.verb(ordId, { action: 'fill', quantity: '1' });
    await systemClock.sleep(1_500);
    await client.price('AAPL', '150');
    expect(await client.byReference('mine')).toMatchObject([{ cumQty: '1', ordStatus: 'PARTIALLY_FILLED' }]);
  });

  it('does not let a script agree to an amend below what was filled meanwhile', async () => {
    const client = await orderClient({ venue: { answerMs: 'manual' } });
    const { orderId } = (await client.placePrediction()).json.data;
    await client.verb(orderId, { action: 'accept' });
    await client.replace(orderId, { quantity: '2' });
    await client.verb(orderId, { action: 'fill', quantity: '4' });
    expect((await client.verb(orderId, { action: 'accept' })).status).toBe(409);
    expect((await client.verb(orderId, { action: 'refuse' })).json).toMatchObject({
      cumQty: '4',
      workingQuantity: '10',
    });
  });

  it('trades the orders that people placed when the market does, and leaves the story of the market as it is', async () => {
    const story = async (withOrders: boolean) => {
      const client = await orderClient({ market: { seed: 5, openOrders: 30 } });
      for (let i = 0; i < (withOrders ? 10 : 0); i += 1)
        await client.place({ type: 'STOP', stopPrice: '221.6', price: undefined });
      await control(client.at, '/burst', { count: 300 });
      await eventually(() =>
        expect(JSON.parse(JSON.stringify(client.sandbox.controls.status())).changes).toBeGreaterThanOrEqual(300),
      );
      const orders = [...client.sandbox.parts.exchange.orders.values()].filter((order) =>
        /^(desk-|P)/.test(order.terms.clOrdId),
      );
      return orders.map((order) => [
        order.terms.orderId,
        order.state,
        String(order.cumQty),
        String(order.workingQuantity),
      ]);
    };
    expect(await story(true)).toEqual(await story(false));
  });

  it('tells every follower of the account of each change that an order goes through', async () => {
    const client = await orderClient();
    const stream = await PlatformStreamClient.open(client.at.stagingStream, {
      authorization: client.headers.authorization,
    });
    await stream.ask('subscribe', 'prediction', 'account:SIM-1001');
    const id = await client.working({ price: '0.70', quantity: '1' });
    await eventually(() => {
      const states = stream.events().filter((order) => order.orderId === id);
      expect(states.map(({ state }) => state)).toEqual(['pending_new', 'new', 'filled']);
    });
  });
});

async function asking(client: Awaited<ReturnType<typeof orderClient>>) {
  const { exchange, entry } = client.sandbox.parts;
  const order = exchange.orders.get(await client.working());
  if (order === undefined) throw new Error('the order is gone');
  return { order, ask: (quantity: string) => entry.venue.ask(order, 'replace', { quantity: fixed(quantity) }) };
}

describe('the order lists', () => {
  it('show what order entry did at once, with no event needed', async () => {
    const client = await orderClient();
    await client.placePrediction({ clientOrderRef: 'listed' });
    const headers = await signedIn(client.at);
    const { json } = await ask(`${client.at.staging}/v1/predictions/orders?accountId=SIM-1001&clientOrderRef=listed`, {
      headers,
    });
    expect(json.data.orders).toHaveLength(1);
  });
});

describe('issue: After a lost store the sandbox traded and listed orders that it had forgotten for good.', () => {
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
});

describe('issue: A reference used again and again kept every order in memory and made each place slower.', () => {
  it('a forgotten order is no longer found by its reference, wherever it stood among the others', () => {
    const { exchange, market, account } = book();
    const openAgain = () =>
      exchange.open({ ...market.inventor.invent('prediction', account, 0), clientOrderRef: 'mine' }, 'opened');
    const [first, second, third] = [openAgain(), openAgain(), openAgain()];
    exchange.forget(second);
    expect(exchange.byClientReference('mine')).toEqual([first, third]);
    exchange.forget(first);
    const fourth = openAgain();
    expect(exchange.byClientReference('mine')).toEqual([third, fourth]);
    for (const order of [third, fourth]) exchange.forget(order);
    expect(exchange.byClientReference('mine')).toEqual([]);
  });
});
