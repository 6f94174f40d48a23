import { parseInstant } from '../../domain/instant.ts';
import type { Fields } from '../entry/request-members.ts';
import { entryAt } from '../exchange/change-list.ts';
import type { ChangeEntry, ExchangeAccount, ExchangeOrder } from '../exchange/exchange-order.ts';
import type { SandboxParts } from '../sandbox-parts.ts';
import { alpacaWords, nanosOf, nestedRow } from './alpaca-words.ts';
import { legsOf } from './order-groups.ts';

type Shelf = Pick<SandboxParts, 'exchange' | 'concealments'>;

/** The query of `GET /v2/orders`. Instants are nanoseconds, and both bounds are exclusive. */
interface ListQuery {
  readonly status: 'open' | 'closed' | 'all';
  readonly limit: number;
  readonly after: bigint | undefined;
  readonly until: bigint | undefined;
  readonly ascending: boolean;
  readonly symbols: ReadonlySet<string> | undefined;
  readonly side: string | undefined;
  readonly afterOrderId: string | undefined;
  readonly beforeOrderId: string | undefined;
  /** Legs stand in their order's row, and not beside it. */
  readonly nested: boolean;
}

const maxLimit = 500;
const known = new Set([
  ...['status', 'limit', 'after', 'until', 'direction', 'nested', 'symbols', 'side', 'asset_class'],
  ...['after_order_id', 'before_order_id'],
]);

/** Reads it, or says the fault (Alpaca's OpenAPI 2.0.1, "Get All Orders"). */
export function readAlpacaQuery(query: Fields): ListQuery | { readonly fault: string } {
  for (const [name, value] of Object.entries(query))
    if (typeof value !== 'string' || !known.has(name)) return { fault: `query parameter ${name} is not emulated` };
  const given = query as Readonly<Record<string, string>>;
  const { status = 'open', limit = '50', direction = 'desc', symbols, side } = given;
  if (status !== 'open' && status !== 'closed' && status !== 'all') return { fault: 'status is invalid' };
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > maxLimit)
    return { fault: `limit must be from 1 to ${maxLimit}` };
  if (direction !== 'asc' && direction !== 'desc') return { fault: 'direction is invalid' };
  const [after, until] = [instantOf(given['after']), instantOf(given['until'])];
  if (after === 'wrong' || until === 'wrong') return { fault: 'after and until must be RFC 3339 instants' };
  if (given['asset_class'] !== undefined) return { fault: 'asset_class is not emulated' };
  return {
    status,
    limit: Number(limit),
    after,
    until,
    ascending: direction === 'asc',
    symbols: symbols === undefined || symbols === '' ? undefined : new Set(symbols.split(',')),
    side,
    afterOrderId: given['after_order_id'],
    beforeOrderId: given['before_order_id'],
    nested: isTrue(given['nested']),
  };
}

/** As Go reads one: alpaca-py sends `True`. */
export function isTrue(text: unknown): boolean {
  return typeof text === 'string' && /^(?:1|t|T|true|True|TRUE)$/.test(text);
}

/** A date alone is its midnight in UTC; a blank is an offset's plus, not escaped. */
function instantOf(text: string | undefined): bigint | undefined | 'wrong' {
  if (text === undefined) return undefined;
  const whole = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text.replace(' ', '+');
  return parseInstant(whole) ?? 'wrong';
}

/**
 * A list as JSON, by the orders' creation: Alpaca has no list by change. `lagMs` above 0 shows an
 * older state.
 */
export function listAlpacaOrders(shelf: Shelf, account: ExchangeAccount, query: ListQuery, lagMs: number): string {
  const { exchange, concealments } = shelf;
  const from = boundOf(shelf, query.afterOrderId, query.after);
  const to = boundOf(shelf, query.beforeOrderId, query.until);
  const found: ChangeEntry[] = [];
  exchange.listOf(account, 'account').visit(0, exchange.asOf(lagMs), (entry) => {
    const createdAt = nanosOf(entry.order.createdAt);
    const isInside = (from === undefined || createdAt > from) && (to === undefined || createdAt < to);
    if (isInside && fits(entry, query) && !concealments.hides(entry.order)) found.push(entry);
    return true;
  });
  found.sort((a, b) => (query.ascending ? 1 : -1) * (a.order.createdAt - b.order.createdAt));
  const rows = found.slice(0, query.limit).map((entry) => rowOf(shelf, entry, query.nested ? lagMs : undefined));
  return `[${rows}]`;
}

/** A cursor's order is the bound; an unknown one leaves the other bound. */
function boundOf({ exchange }: Shelf, orderId: string | undefined, at: bigint | undefined): bigint | undefined {
  const order = orderId === undefined ? undefined : exchange.orders.get(orderId);
  return order === undefined ? at : nanosOf(order.createdAt);
}

function fits({ order, wasClosed }: ChangeEntry, { status, symbols, side, nested }: ListQuery): boolean {
  const { terms } = order;
  if (nested && terms.group?.parent !== undefined) return false;
  if (status !== 'all' && (status === 'closed') !== wasClosed) return false;
  if (side !== undefined && !terms.side.toLowerCase().startsWith(side)) return false;
  return symbols === undefined || symbols.has(terms.legs?.[0]?.symbol ?? terms.symbol);
}

/** A single read: the state `lagMs` ago, with or without legs in it. */
interface Look {
  readonly lagMs: number;
  readonly nested: boolean;
}

/**
 * One order as JSON; undefined when the account has none with this id, or its readers don't see it.
 */
export function getAlpacaOrder(shelf: Shelf, account: ExchangeAccount, id: string, look: Look): string | undefined {
  const order = shelf.exchange.orders.get(id);
  return order === undefined ? undefined : shown(shelf, account, order, look);
}

/** As `getAlpacaOrder`, by the caller's own id. */
export function findByClientId(shelf: Shelf, account: ExchangeAccount, id: string, look: Look): string | undefined {
  for (const order of shelf.exchange.byClientReference(id)) {
    const row = shelf.concealments.bare(order) ? undefined : shown(shelf, account, order, look);
    if (row !== undefined) return row;
  }
  return undefined;
}

function shown(
  shelf: Shelf,
  account: ExchangeAccount,
  order: ExchangeOrder,
  { lagMs, nested }: Look,
): string | undefined {
  if (order.terms.account !== account || shelf.concealments.hides(order)) return undefined;
  const entry = entryAt(order, shelf.exchange.asOf(lagMs));
  return entry === undefined ? undefined : rowOf(shelf, entry, nested ? lagMs : undefined);
}

/**
 * Readers who don't see an order's reference see its id there. With `legsLagMs` its legs, as they
 * were so long ago, stand in the row.
 */
function rowOf(shelf: Shelf, { row, order }: ChangeEntry, legsLagMs: number | undefined): string {
  const text = row ?? alpacaWords.row(order);
  const [hidden, made] = [order.terms.clOrdId, order.terms.orderId].map((id) => JSON.stringify(id));
  const named = shelf.concealments.bare(order)
    ? text.replace(`"client_order_id":${hidden}`, () => `"client_order_id":${made}`)
    : text;
  if (legsLagMs === undefined) return named;
  const look = { lagMs: legsLagMs, nested: false };
  const legs = legsOf(shelf.exchange, order).map((leg) => shown(shelf, order.terms.account, leg, look));
  return nestedRow(
    named,
    legs.filter((leg) => leg !== undefined),
  );
}
