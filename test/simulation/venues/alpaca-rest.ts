import { jsonOrUndefined } from '../../../src/runtime/json-or-undefined.ts';
import type { Random } from '../../../src/runtime/random.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import { readActivitiesQuery, streamActivities } from '../../../src/sandbox/alpaca/activities.ts';
import {
  findByClientId,
  getAlpacaOrder,
  listAlpacaOrders,
  readAlpacaQuery,
} from '../../../src/sandbox/alpaca/alpaca-lists.ts';
import { accountOfKeys } from '../../../src/sandbox/alpaca/api-keys.ts';
import type { Exchange } from '../../../src/sandbox/exchange/exchange.ts';
import type { ExchangeAccount } from '../../../src/sandbox/exchange/exchange-order.ts';
import { happens, oneOf } from '../../../src/sandbox/market/instruments.ts';
import type { HttpRequest, HttpResult } from '../../../src/venue/http.ts';
import { alpacaName } from './alpaca-stream.ts';
import type { AskedRead, Showing, SimulatedReads } from './simulated-venue.ts';

export const ordersPath = '/v2/orders';
const byClientId = `${ordersPath}:by_client_order_id`;
/** Every order is shown, with its reference. */
const concealments = { hides: () => false, bare: () => false } as unknown as Parameters<
  typeof listAlpacaOrders
>[0]['concealments'];

/** The account of the request's key pair. */
export function callerOf(headers: HttpRequest['headers'], exchange: Exchange): ExchangeAccount | undefined {
  const { 'apca-api-key-id': keyId, 'apca-api-secret-key': secret } = headers;
  return accountOfKeys(exchange, keyId, secret instanceof Secret ? secret.reveal() : secret);
}

export function reply(status: number, text: string, headers: Readonly<Record<string, string>> = {}): HttpResult {
  return { kind: 'answered', status, headers, text };
}

export function failure(status: number, code: number, message: string): HttpResult {
  return reply(status, JSON.stringify({ code, message }));
}

/** One account, its list by creation, an order by its id and by ours. */
export const alpacaReads: SimulatedReads = {
  keyOf: ({ 'apca-api-key-id': keyId }) => (typeof keyId === 'string' ? keyId : undefined),
  answer: ({ url, headers }, showing) => {
    const account = showing.tokens.loginRequired ? undefined : callerOf(headers, showing.exchange);
    if (account === undefined) return reply(401, '{"message":"request is not authorized"}');
    return shown(new URL(url), account, showing);
  },
  busy,
  garbled: (random, { kind, ...rest }) => {
    const text = 'text' in rest ? rest.text : '';
    if (kind === 'failed' || happens(random, 0.5)) return reply(200, '<html>hello</html>');
    return reply(200, text.slice(0, text.length >> 1));
  },
  asked: ({ url, headers }) => askedOf(new URL(url), String(headers['apca-api-key-id'] ?? '')),
  page: (asked, answer) => {
    if (answer.kind !== 'answered') return undefined;
    if (asked.reference !== undefined)
      return answer.status === 200 || answer.status === 404 ? { next: undefined } : undefined;
    const rows = answer.status === 200 ? jsonOrUndefined(answer.text) : undefined;
    return Array.isArray(rows) ? { next: nextOf(asked, rows) } : undefined;
  },
};

function shown({ pathname, searchParams }: URL, account: ExchangeAccount, showing: Showing): HttpResult {
  const shelf = { exchange: showing.exchange, concealments };
  if (pathname === '/v2/account') {
    const isOpen = account.status === 'OPEN';
    const status = isOpen ? 'ACTIVE' : 'ACCOUNT_CLOSED';
    return reply(200, JSON.stringify({ account_number: account.id, status, trading_blocked: !isOpen }));
  }
  if (pathname === '/v2/clock')
    return reply(200, JSON.stringify({ timestamp: new Date(showing.nowMs()).toISOString() }));
  const look = { lagMs: showing.lagMs(account.id), nested: false };
  if (pathname === '/v2beta1/events/activities') {
    const query = readActivitiesQuery(Object.fromEntries(searchParams));
    if ('fault' in query) return failure(422, 40010001, query.fault);
    return reply(200, streamActivities(shelf, account, query, look.lagMs));
  }
  if (pathname === ordersPath) {
    const query = readAlpacaQuery(Object.fromEntries(searchParams));
    if ('fault' in query) return failure(422, 40010001, query.fault);
    return reply(200, listAlpacaOrders(shelf, account, query, look.lagMs));
  }
  const id = decodeURIComponent(pathname.slice(ordersPath.length + 1));
  const row =
    pathname === byClientId
      ? findByClientId(shelf, account, searchParams.get('client_order_id') ?? '', look)
      : getAlpacaOrder(shelf, account, id, look);
  return row === undefined ? failure(404, 40410000, 'order not found') : reply(200, row);
}

function busy(random: Random): HttpResult {
  const text = '{"message":"too many requests."}';
  return oneOf(random, [
    reply(429, text),
    ...['1', '3', '40'].map((seconds) => reply(429, text, { 'retry-after': seconds })),
    failure(500, 50010000, 'internal server error occurred'),
    reply(503, '<html><body>503 Service Temporarily Unavailable</body></html>'),
    reply(504, ''),
  ]);
}

function askedOf({ pathname, searchParams }: URL, keyId: string): AskedRead | undefined {
  const about = { stream: alpacaName, accountId: keyId.slice(2), cursor: undefined, list: '' } as const;
  if (pathname === byClientId) return { ...about, state: 'all', reference: searchParams.get('client_order_id') ?? '' };
  if (pathname.startsWith(`${ordersPath}/`))
    return { ...about, state: 'all', orderId: decodeURIComponent(pathname.slice(ordersPath.length + 1)) };
  if (pathname !== ordersPath) return undefined;
  const state = searchParams.get('status') === 'open' ? 'open' : 'all';
  const after = searchParams.get('after') ?? undefined;
  const limit = Number(searchParams.get('limit'));
  return { ...about, state, limit, ...(after !== undefined && { after }), list: `${keyId} ${state}`, cursor: after };
}

/**
 * A page with fewer rows than were asked for is the last. The one behind it begins a millisecond
 * before its last row.
 */
function nextOf(
  { limit = 1, cursor }: AskedRead,
  rows: readonly { readonly submitted_at: string }[],
): string | undefined {
  const last = rows.at(-1);
  if (last === undefined || rows.length < limit) return undefined;
  const next = new Date(Math.floor(Date.parse(last.submitted_at)) - 1).toISOString();
  return cursor === undefined || Date.parse(next) > Date.parse(cursor) ? next : cursor;
}
