import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../runtime/clock.ts';
import { listingOf, stocks } from '../data/listings.ts';
import { session } from '../data/trading-days.ts';
import { type Fields, MemberFault } from '../entry/request-members.ts';
import { isRefusal, type Refusal, type Write } from '../entry/write.ts';
import { type ExchangeAccount, isClosed } from '../exchange/exchange-order.ts';
import { openListener } from '../rest/open-listener.ts';
import { attemptWrite, noteTurnedAway, performWrite } from '../rest/perform-write.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { nextInSession } from '../venue/match-order.ts';
import { readActivitiesQuery, streamActivities } from './activities.ts';
import { findByClientId, getAlpacaOrder, isTrue, listAlpacaOrders, readAlpacaQuery } from './alpaca-lists.ts';
import { badRequest, cancelAlpacaOrder, placeAlpacaOrder, replaceAlpacaOrder } from './alpaca-order-writes.ts';
import { uuidOf } from './alpaca-words.ts';
import { accountOfKeys } from './api-keys.ts';
import { readPatch, readPlace } from './read-alpaca-order.ts';
import { RequestBudget } from './request-budget.ts';

const ordersPath = '/v2/orders';

/** Alpaca's own sentences for a status. */
const sentences: Readonly<Record<number, string>> = {
  401: 'request is not authorized',
  403: 'forbidden.',
  404: 'endpoint not found.',
  429: 'too many requests.',
  500: 'internal server error occurred',
  503: 'service unavailable',
  504: 'gateway timeout',
};

function errorBody(status: number, message = sentences[status] ?? 'request failed') {
  return { code: status * 100_000 + 10_000, message };
}

function alpacaError(reply: FastifyReply, status: number, message?: string): FastifyReply {
  return reply.code(status).send(errorBody(status, message));
}

/**
 * The trading API, not listening yet. All errors leave in Alpaca's form, those from faults too:
 * here is their one way out.
 */
export function createAlpacaApp(parts: SandboxParts, options: { readonly requestsPerMinute: number }): FastifyInstance {
  const app = openListener('platform', parts);
  const budget = new RequestBudget(parts.clock, options.requestsPerMinute);
  app.addHook('preHandler', async (request, reply) => {
    const { 'apca-api-key-id': keyId, 'apca-api-secret-key': secretKey } = request.headers;
    const account = accountOfKeys(parts.exchange, keyId, secretKey);
    const spent = account === undefined ? undefined : budget.spend(account.id);
    if (spent !== undefined) reply.headers(spent.headers);
    if (account !== undefined && spent?.isWithin === true) return;
    alpacaError(reply, account === undefined ? 401 : 429);
    return request.method === 'GET' ? reply : noteTurnedAway(parts, request, reply);
  });
  app.addHook('preSerialization', async (_request, reply, payload) => {
    const isOurs = typeof (payload as { code?: unknown } | null)?.code === 'number';
    return reply.statusCode < 400 || isOurs ? payload : errorBody(reply.statusCode);
  });
  app.setNotFoundHandler((_request, reply) => alpacaError(reply, 404));
  readRoutes(app, parts);
  orderRoutes(app, parts);
  writeRoutes(app, parts);
  return app;
}

/** The hook lets no other request through. */
function callerOf(parts: SandboxParts, { headers }: FastifyRequest): ExchangeAccount {
  const account = accountOfKeys(parts.exchange, headers['apca-api-key-id'], headers['apca-api-secret-key']);
  if (account === undefined) throw new Error('a request without keys reached its route');
  return account;
}

function readRoutes(app: FastifyInstance, parts: SandboxParts): void {
  app.get('/v2/account', async (request) => describeAccount(callerOf(parts, request)));
  app.get('/v2/clock', async () => describeClock(parts.clock));
  app.get<{ Querystring: Fields }>('/v2beta1/events/activities', async (request, reply) => {
    const query = readActivitiesQuery(request.query);
    if ('fault' in query) return alpacaError(reply, 422, query.fault);
    const text = streamActivities(parts, callerOf(parts, request), query, request.lagMs);
    return reply.type('text/event-stream').send(text);
  });
  app.get('/v2/assets', async () => stocks.map(({ symbol }) => describeAsset(symbol)));
  app.get<{ Params: { name: string } }>('/v2/assets/:name', async (request, reply) => {
    const { name } = request.params;
    const symbol = stocks.find((it) => it.symbol === name || uuidOf(it.symbol) === name)?.symbol;
    return symbol === undefined ? alpacaError(reply, 404, `asset not found for ${name}`) : describeAsset(symbol);
  });
}

function orderRoutes(app: FastifyInstance, parts: SandboxParts): void {
  const sendRow = (reply: FastifyReply, row: string | undefined, name: string) =>
    row === undefined
      ? alpacaError(reply, 404, `order not found for ${name}`)
      : reply.type('application/json').send(row);
  app.get<{ Querystring: Fields }>(ordersPath, async (request, reply) => {
    const query = readAlpacaQuery(request.query);
    if ('fault' in query) return alpacaError(reply, 422, query.fault);
    return sendRow(reply, listAlpacaOrders(parts, callerOf(parts, request), query, request.lagMs), '');
  });
  // A colon begins a parameter, and two are one.
  app.get<{ Querystring: Fields }>(`${ordersPath}::by_client_order_id`, async (request, reply) => {
    const id = String(request.query['client_order_id'] ?? '');
    return sendRow(reply, findByClientId(parts, callerOf(parts, request), id, lookOf(request)), id);
  });
  app.get<{ Params: { id: string } }>(`${ordersPath}/:id`, async (request, reply) => {
    const { id } = request.params;
    return sendRow(reply, getAlpacaOrder(parts, callerOf(parts, request), id, lookOf(request)), id);
  });
}

function lookOf({ lagMs, query }: FastifyRequest): { lagMs: number; nested: boolean } {
  return { lagMs, nested: isTrue((query as Fields)['nested']) };
}

function writeRoutes(app: FastifyInstance, parts: SandboxParts): void {
  const one = `${ordersPath}/:id`;
  const { entry } = parts;
  const route =
    (write: (account: ExchangeAccount, body: unknown, id: string) => Write) =>
    async (request: FastifyRequest, reply: FastifyReply) => {
      const { id = '' } = request.params as { id?: string };
      const understood = reading(() => write(callerOf(parts, request), request.body, id));
      return performWrite(parts, request, reply, understood);
    };
  app.post(
    ordersPath,
    route((account, body) => placeAlpacaOrder(entry, account, readPlace(body))),
  );
  app.patch(
    one,
    route((account, body, id) => replaceAlpacaOrder(entry, account, id, readPatch(body))),
  );
  app.delete(
    one,
    route((account, _body, id) => cancelAlpacaOrder(entry, account, id)),
  );
  app.delete(ordersPath, async (request, reply) => reply.code(207).send(cancelAll(parts, request)));
}

/** One answer for all open orders, each with the status for its own cancel. */
function cancelAll(parts: SandboxParts, request: FastifyRequest): object[] {
  const account = callerOf(parts, request);
  const orders = parts.exchange.ordersOf(account, 'account');
  const open = orders.filter((order) => !isClosed(order.state) && !parts.concealments.hides(order));
  return open.map((order) => {
    const id = order.terms.orderId;
    // It ended together with one before it.
    if (isClosed(order.state)) return { id, status: 200 };
    const result = attemptWrite(parts, request, cancelAlpacaOrder(parts.entry, account, id));
    if (!isRefusal(result)) return { id, status: 200 };
    return { id, status: result.status, body: { code: Number(result.code), message: result.message } };
  });
}

function reading(read: () => Write): Write | Refusal {
  try {
    return read();
  } catch (error) {
    if (error instanceof MemberFault) return badRequest(error.message);
    throw error;
  }
}

/** The exchange keeps no money: the amounts are always these. */
function describeAccount({ id, status }: ExchangeAccount) {
  const amount = '1000000';
  return {
    id: uuidOf(id),
    account_number: id,
    status: status === 'CLOSED' ? 'ACCOUNT_CLOSED' : 'ACTIVE',
    currency: 'USD',
    cash: amount,
    buying_power: amount,
    equity: amount,
    portfolio_value: amount,
    multiplier: '1',
    shorting_enabled: true,
    pattern_day_trader: false,
    trading_blocked: status !== 'OPEN',
    transfers_blocked: status !== 'OPEN',
    account_blocked: status === 'CLOSED',
    trade_suspended_by_user: false,
    daytrade_count: 0,
    created_at: '2026-01-02T15:00:00Z',
  };
}

function describeClock(clock: Pick<Clock, 'nowMs'>) {
  const nowMs = clock.nowMs();
  const [opensMs, closesMs] = [nextInSession(nowMs, session.opensAt), nextInSession(nowMs, session.closesAt)];
  const text = (atMs: number) => new Date(atMs).toISOString();
  return {
    timestamp: text(nowMs),
    is_open: closesMs < opensMs,
    next_open: text(opensMs),
    next_close: text(closesMs),
  };
}

function describeAsset(symbol: string) {
  const listing = listingOf(symbol);
  return {
    id: uuidOf(symbol),
    class: 'us_equity',
    exchange: listing?.exchange,
    symbol,
    name: listing?.name,
    status: 'active',
    tradable: true,
    marginable: true,
    shortable: true,
    easy_to_borrow: true,
    fractionable: true,
    attributes: [],
  };
}
