import type { SandboxDescription } from '../../../src/sandbox/describe-sandbox.ts';
import type { SandboxInput } from '../../../src/sandbox/sandbox-options.ts';
import { type Answer, ask, control, controlLines, runningSandbox, signedIn } from '../platform/sandbox.ts';
import { eventually } from '../runs/poll.ts';

export const enrolled = 'SIM-1001';
export const notEnrolled = 'SIM-1002';

export const limitOrder = {
  accountId: enrolled,
  symbol: 'AAPL',
  side: 'BUY',
  type: 'LIMIT',
  qty: '10',
  timeInForce: 'DAY',
  price: '200.00',
} as const;

/** Far from the market (FED-CUT-DEC26 trades at 0.62): it rests. */
export const predictionOrder = {
  accountId: enrolled,
  symbol: 'FED-CUT-DEC26',
  outcome: 'YES',
  side: 'buy',
  orderType: 'limit',
  timeInForce: 'gtc',
  quantity: '10',
  price: '0.40',
} as const;

/** A sandbox and a client that writes orders to it, over HTTP as a stranger would. */
export async function orderClient(input: SandboxInput = {}) {
  const sandbox = await runningSandbox({ ...input, venue: { answerMs: 0, ...input.venue } });
  const at: SandboxDescription = sandbox.description;
  const headers = { ...(await signedIn(at)), 'content-type': 'application/json' };
  const send = (method: string, url: string, body?: unknown): Promise<Answer> =>
    ask(url, {
      method,
      headers,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  const orders = `${at.platform}/v1/orders`;
  const predictions = `${at.staging}/v1/predictions/orders`;
  const client = {
    sandbox,
    at,
    headers,
    send,
    place: (over: object = {}) => send('POST', orders, { ...limitOrder, ...over }),
    placeRaw: (body: unknown) => send('POST', orders, body),
    cancel: (ordId: string, accountId: string = enrolled) =>
      send('DELETE', `${orders}/${ordId}?accountId=${accountId}`),
    placePrediction: (over: object = {}) => send('POST', predictions, { ...predictionOrder, ...over }),
    placePredictionRaw: (body: unknown) => send('POST', predictions, body),
    replace: (orderId: string, body: object | string = {}) =>
      send('PATCH', `${predictions}/${orderId}`, typeof body === 'string' ? body : { accountId: enrolled, ...body }),
    cancelPrediction: (orderId: string, query = `?accountId=${enrolled}`) =>
      send('DELETE', `${predictions}/${orderId}${query}`),
    venue: (change: object) => control(at, '/venue', change),
    price: (symbol: string, price: string) => control(at, '/prices', { symbol, price }),
    verb: (orderId: string, verb: object) => control(at, `/orders/${orderId}`, verb),
    fault: (rule: object) => control(at, '/faults', { rules: [{ on: 'write', ...rule }] }),
    decisions: () => controlLines(at, '/ledger?kind=decision'),
    /** The order of a reference as its list shows it. */
    async byReference(reference: string) {
      const account = await ask(`${orders}?accountId=${enrolled}&clOrdId=${reference}`, { headers });
      const prediction = await ask(`${predictions}?accountId=${enrolled}&clientOrderRef=${reference}`, { headers });
      return [...account.json.orders, ...prediction.json.data.orders];
    },
    async order(stream: 'account' | 'prediction', orderId: string) {
      const base = stream === 'account' ? orders : predictions;
      const { json } = await ask(`${base}/${orderId}?accountId=${enrolled}`, { headers });
      return stream === 'account' ? json : json.data;
    },
    /** Places an account order under a reference and waits for `check` to hold. */
    async resolved(reference: string, check: (order: never) => void) {
      await eventually(async () => {
        const [order] = await client.byReference(reference);
        check(order as never);
      });
      const [order] = await client.byReference(reference);
      return order;
    },
    /** A prediction order that works at the venue. */
    async working(over: object = {}) {
      const { json } = await client.placePrediction(over);
      const orderId: string = json.data.orderId;
      await eventually(async () => {
        const { state } = await client.order('prediction', orderId);
        if (state === 'pending_new') throw new Error('not answered yet');
      });
      return orderId;
    },
  };
  return client;
}
