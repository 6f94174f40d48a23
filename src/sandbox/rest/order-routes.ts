import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { parseInstant } from '../../domain/instant.ts';
import {
  type ListState,
  listStates,
  ordersPath,
  pageLimit,
  predictionOrdersPath,
} from '../../venue/platform/wire/order-pages.ts';
import type { Fields } from '../entry/request-members.ts';
import { entryAt } from '../exchange/change-list.ts';
import { encodeRow } from '../exchange/encode-row.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ChangeEntry, ExchangeAccount, ExchangeOrder, Stream } from '../exchange/exchange-order.ts';
import { jsonText, type Micros } from '../exchange/wire-text.ts';
import type { Concealments } from '../faults/concealments.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { forbidden, sendNested, sendPredictionError } from './error-bodies.ts';
import { requireAccount, requireScope } from './require-scope.ts';

/** A list's query. */
interface ListQuery {
  readonly accountId: string;
  /** `clOrdId` or `clientOrderRef`. */
  readonly reference: string | undefined;
  readonly state: ListState;
  /** Only orders that changed later than this: the later of cursor and `updatedAfter`. */
  readonly after: Micros;
  readonly limit: number;
}

/** The names that differ between the two lists. */
interface ListNames {
  readonly reference: 'clOrdId' | 'clientOrderRef';
  readonly state: 'status' | 'state';
}

/**
 * Reads an order list's query (docs/platform-assumptions.md, "Prediction orders" and "Equity and
 * option orders"), or says why it is wrong.
 */
export function readListQuery(query: Fields, names: ListNames): ListQuery | { readonly fault: string } {
  for (const [name, value] of Object.entries(query))
    if (typeof value !== 'string') return { fault: `${name} is given twice` };
  const given = query as Readonly<Record<string, string>>;
  const accountId = given['accountId'];
  if (accountId === undefined || accountId === '') return { fault: 'accountId is missing' };
  const state = given[names.state] ?? 'all';
  if (!isListState(state)) return { fault: `${names.state} must be one of ${listStates.join(', ')}` };
  const limit = readLimit(given['limit']);
  if (limit === undefined) return { fault: `limit must be a whole number from 1 to ${pageLimit.max}` };
  const updatedAfter = readInstant(given['updatedAfter']);
  if (updatedAfter === undefined) return { fault: 'updatedAfter must be an ISO 8601 date-time' };
  const cursor = readCursor(given['cursor']);
  if (cursor === undefined) return { fault: 'cursor is not one of ours' };
  return { accountId, reference: given[names.reference], state, after: Math.max(updatedAfter, cursor), limit };
}

/** The next page's start. Opaque to readers. */
function writeCursor(after: Micros): string {
  return Buffer.from(`after:${after}`).toString('base64url');
}

function readCursor(text: string | undefined): Micros | undefined {
  if (text === undefined) return 0;
  const match = /^after:(\d{1,16})$/.exec(Buffer.from(text, 'base64url').toString('latin1'));
  return match === null || writeCursor(Number(match[1])) !== text ? undefined : Number(match[1]);
}

function readInstant(text: string | undefined): Micros | undefined {
  if (text === undefined) return 0;
  const nanoseconds = parseInstant(text);
  return nanoseconds === undefined ? undefined : Number(nanoseconds / 1000n);
}

function readLimit(text: string | undefined): number | undefined {
  if (text === undefined) return pageLimit.default;
  if (!/^\d{1,4}$/.test(text)) return undefined;
  const limit = Number(text);
  return limit >= 1 && limit <= pageLimit.max ? limit : undefined;
}

function isListState(text: string): text is ListState {
  return (listStates as readonly string[]).includes(text);
}

/** The books, and what is kept from their readers. Without `concealments` nothing is. */
interface Shelf {
  readonly exchange: Exchange;
  readonly concealments?: Pick<Concealments, 'hides' | 'bare'>;
}

/**
 * One page of an order list as JSON: `{ "orders": [...], "nextCursor"?: string }`, oldest change
 * first. `lagMs` above 0 shows an older state, from that long ago.
 */
export function listOrders(
  { exchange, concealments }: Shelf,
  account: ExchangeAccount,
  stream: Stream,
  query: ListQuery,
  lagMs: number,
): string {
  const rows: string[] = [];
  let last = 0;
  let more = false;
  const take = (entry: ChangeEntry): boolean => {
    if (concealments?.hides(entry.order) === true) return true;
    if (query.state !== 'all' && (query.state === 'closed') !== entry.wasClosed) return true;
    if (rows.length === query.limit) {
      more = true;
      return false;
    }
    rows.push(rowOf(entry, concealments));
    last = entry.at;
    return true;
  };
  const asOf = exchange.asOf(lagMs);
  if (query.reference === undefined) exchange.listOf(account, stream).visit(query.after, asOf, take);
  else
    for (const entry of referred(exchange, account, stream, query.reference, query.after, asOf))
      if (concealments?.bare(entry.order) !== true && !take(entry)) break;
  const cursor = more ? `,"nextCursor":"${writeCursor(last)}"` : '';
  return `{"orders":[${rows.join(',')}]${cursor}}`;
}

/**
 * One order as JSON, or undefined when the account has none with that id (or had none yet, `lagMs`
 * ago).
 */
export function getOrder(
  { exchange, concealments }: Shelf,
  account: ExchangeAccount,
  stream: Stream,
  orderId: string,
  lagMs: number,
): string | undefined {
  const order = exchange.orderOf(account, stream, orderId);
  if (order === undefined || concealments?.hides(order) === true) return undefined;
  const entry = entryAt(order, exchange.asOf(lagMs));
  return entry === undefined ? undefined : rowOf(entry, concealments);
}

function rowOf(entry: ChangeEntry, concealments: Shelf['concealments']): string {
  const row = entry.row ?? encodeRow(entry.order);
  return concealments?.bare(entry.order) === true ? withoutReference(row, entry.order) : row;
}

/** An account order always has a `clOrdId`: one made up by the platform. */
function withoutReference(row: string, { terms }: ExchangeOrder): string {
  if (terms.stream === 'account')
    return row.replace(`"clOrdId":${jsonText(terms.clOrdId)}`, `"clOrdId":${jsonText(terms.orderId)}`);
  return row.replace(`,"clientOrderRef":${jsonText(terms.clientOrderRef ?? '')}`, '');
}

function referred(
  exchange: Exchange,
  account: ExchangeAccount,
  stream: Stream,
  reference: string,
  after: number,
  asOf: number,
): ChangeEntry[] {
  const mine = ({ terms }: ExchangeOrder) =>
    terms.account === account &&
    terms.stream === stream &&
    (stream === 'account' ? terms.clOrdId : terms.clientOrderRef) === reference;
  return exchange
    .byClientReference(reference)
    .filter(mine)
    .map((order) => entryAt(order, asOf))
    .filter((entry) => entry !== undefined)
    .filter((entry) => entry.at > after)
    .sort((a, b) => a.at - b.at);
}

/** Where the two streams differ for readers. */
interface Reading {
  readonly stream: Stream;
  readonly path: string;
  readonly names: ListNames;
  readonly refuse: (reply: FastifyReply, fault: string) => FastifyReply;
  readonly isAbsent: (reply: FastifyReply, message: string) => FastifyReply;
  readonly body: (content: string) => string;
}

const accountReading: Reading = {
  stream: 'account',
  path: ordersPath,
  names: { reference: 'clOrdId', state: 'status' },
  refuse: (reply, fault) => sendNested(reply, 400, 'invalid_request', 'INVALID_PARAMETER', fault),
  isAbsent: (reply, message) => sendNested(reply, 404, 'not_found', 'ORDER_NOT_FOUND', message),
  body: (content) => content,
};

const predictionReading: Reading = {
  stream: 'prediction',
  path: predictionOrdersPath,
  names: { reference: 'clientOrderRef', state: 'state' },
  refuse: (reply, fault) => sendPredictionError(reply, 'INVALID_ORDER', fault),
  isAbsent: (reply, message) => sendPredictionError(reply, 'ORDER_NOT_FOUND', message),
  body: (content) => `{"success":true,"data":${content}}`,
};

/** Reading equity and option orders (docs/platform-assumptions.md, "Equity and option orders"). */
export function orderRoutes(app: FastifyInstance, parts: SandboxParts): void {
  readRoutes(app, parts, accountReading);
}

/**
 * Reading prediction orders: staging only, enrolled accounts only
 * (docs/platform-assumptions.md, "Prediction orders").
 */
export function predictionRoutes(app: FastifyInstance, parts: SandboxParts): void {
  readRoutes(app, parts, predictionReading);
}

function readRoutes(app: FastifyInstance, parts: SandboxParts, reading: Reading): void {
  const { stream, path } = reading;
  const send = (reply: FastifyReply, content: string) => reply.type('application/json').send(reading.body(content));
  app.get<{ Querystring: Fields }>(path, async (request, reply) => {
    const query = readListQuery(request.query, reading.names);
    const account = await accountToRead(parts, request, reply, reading, query);
    if (account === undefined || 'fault' in query) return reply;
    return send(reply, listOrders(parts, account, stream, query, request.lagMs));
  });
  app.get<{ Params: { orderId: string }; Querystring: Fields }>(`${path}/:orderId`, async (request, reply) => {
    const { accountId } = request.query;
    const isNamed = typeof accountId === 'string' && accountId !== '';
    const query = isNamed ? { accountId } : { fault: 'accountId is missing' };
    const account = await accountToRead(parts, request, reply, reading, query);
    if (account === undefined) return reply;
    const row = getOrder(parts, account, stream, request.params.orderId, request.lagMs);
    return row === undefined ? reading.isAbsent(reply, 'No such order on this account') : send(reply, row);
  });
}

/**
 * Token, then parameters, then account: a caller that may not ask learns nothing about the
 * question's faults. Undefined: the refusal has been sent.
 */
async function accountToRead(
  parts: SandboxParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { stream, refuse }: Reading,
  query: Pick<ListQuery, 'accountId'> | { readonly fault: string },
): Promise<ExchangeAccount | undefined> {
  const shape = stream === 'account' ? 'nested' : 'prediction';
  const principal = await requireScope(parts.tokens, request, reply, 'order:information', shape);
  if (principal === undefined) return undefined;
  if ('fault' in query) {
    refuse(reply, query.fault);
    return undefined;
  }
  const account = requireAccount(parts.directory, principal, query.accountId, reply);
  if (account === undefined || stream === 'account' || account.predictions) return account;
  forbidden(reply, 'nested', 'This account is not enrolled for prediction orders');
  return undefined;
}
