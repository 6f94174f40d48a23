// Alpaca's own SDK for Node, as it is, against an address that the environment names. Prints one line of JSON with all that it saw.
const { createRequire } = require('node:module');
const { setTimeout: sleep } = require('node:timers/promises');

const { Alpaca, trading } = createRequire(`${process.env.ALPACA_SDK}/`)('@alpacahq/alpaca-trade-api');
const { ALPACA_URL: url, ALPACA_STREAM: streamUrl, ALPACA_CONTROL: control } = process.env;
const { ALPACA_KEY: keyId, ALPACA_SECRET: secret } = process.env;

/** The SDK has no address of its own for tests; its transport is an option. */
const fetchApi = (asked, init) => fetch(String(asked).replace(/^https:\/\/[^/]+/, url), init);
const clientOf = (pair) => new Alpaca({ paper: true, fetchApi, ...pair });
const client = clientOf({ keyId, secret });
const { orders } = client.trading;

async function until(what, check) {
  const deadline = Date.now() + 30_000;
  while (Date.now() < deadline) {
    const seen = await check();
    if (seen) return seen;
    await sleep(50);
  }
  throw new Error(`never seen: ${what}`);
}

async function refusal(act) {
  try {
    await act();
    return null;
  } catch (error) {
    return [error.constructor.name, error.status, error.code, error.message];
  }
}

const isNow = (orderId, status) =>
  until(`${orderId} ${status}`, async () => {
    const order = await orders.getOrderByOrderID({ orderId });
    return order.status === status ? order : undefined;
  });

const terms = { symbol: 'AAPL', qty: 10, side: 'buy', limitPrice: 187.5 };

/** The execution types of the order. The SDK asks for the stream and knows its events, and reads no stream. */
async function executionsOf(order) {
  const { timestamp } = await client.trading.clock.legacyClock();
  const asked = { since: order.createdAt, until: timestamp };
  const { raw } = await client.trading.events.subscribeToActivitiesSSERaw(asked);
  const events = [...(await raw.text()).matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data));
  return events
    .map((event) => [trading.ActivityEventV2FromJSON(event), trading.ActivityV2DetailTRDFromJSON(event.details)])
    .filter(([, { orderId }]) => orderId === order.id)
    .map(([{ activityType, qty }, details]) => [activityType, details.executionType, qty, details.orderStatus]);
}

async function wholeWay() {
  const events = [];
  const stream = client.trading.stream({ url: streamUrl });
  stream.onTradeUpdate((update) => events.push([update.event, update.order.id, update.order.filledQty]));
  stream.subscribeTradeUpdates();
  stream.connect();
  await until('the subscription', async () => {
    const { sessions } = await (await fetch(`${control}/status`)).json();
    return sessions.some(({ targets }) => targets.length > 0);
  });
  const account = await client.trading.account.getAccount();
  const placed = await orders.limit({ ...terms, clientOrderId: 'js-place' });
  const found = await orders.getOrderByClientOrderId({ clientOrderId: 'js-place' });
  await isNow(placed.id, 'new');
  const successor = await orders.patchOrderByOrderId({
    orderId: placed.id,
    patchOrderRequest: { qty: '12', clientOrderId: 'js-replace' },
  });
  const old = await isNow(placed.id, 'replaced');
  await isNow(successor.id, 'new');
  const open = await orders.getAllOrders({ status: 'open', limit: 500, direction: 'asc', symbols: 'AAPL' });
  await orders.deleteOrderByOrderID({ orderId: successor.id });
  await isNow(successor.id, 'canceled');
  await until('the last event', () => events.some(([event, id]) => event === 'canceled' && id === successor.id));
  const bought = await isNow((await orders.market({ symbol: 'AAPL', qty: 2, side: 'buy' })).id, 'filled');
  stream.disconnect();
  const eventsOf = (order) => events.filter(([, id]) => id === order.id).map(([event]) => event);
  return {
    account: [account.accountNumber, account.status],
    placed: [placed.clientOrderId, placed.status, placed.qty, placed.limitPrice],
    found: found.id === placed.id,
    replaced: [
      successor.replaces === placed.id,
      successor.clientOrderId,
      successor.qty,
      old.replacedBy === successor.id,
    ],
    open: open.map(({ clientOrderId }) => clientOrderId).filter((id) => id.startsWith('js-')),
    events: { placed: eventsOf(placed), successor: eventsOf(successor) },
    activities: await executionsOf(bought),
    refusals: {
      repeated: await refusal(() => orders.limit({ ...terms, clientOrderId: 'js-place' })),
      'canceled twice': await refusal(() => orders.deleteOrderByOrderID({ orderId: successor.id })),
      'wrong key': await refusal(() => clientOf({ keyId, secret: 'wrong' }).trading.account.getAccount()),
    },
  };
}

/** It does not send a place again: the caller looks for it by its own id. */
async function lostAnswer() {
  const error = await refusal(() => orders.limit({ ...terms, clientOrderId: 'js-lost' }));
  const { id } = await orders.getOrderByClientOrderId({ clientOrderId: 'js-lost' });
  return [error?.[1], (await isNow(id, 'new')).status];
}

const way = process.argv[2] === 'whole' ? wholeWay : lostAnswer;
way().then(
  (seen) => {
    process.stdout.write(JSON.stringify(seen));
    process.exit(0);
  },
  (error) => {
    process.stderr.write(String(error.stack));
    process.exit(1);
  },
);
