import { entryAt } from '../exchange/change-list.ts';
import { encodeRow } from '../exchange/encode-row.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ExchangeAccount } from '../exchange/exchange-account.ts';
import type { ChangeEntry, ExchangeOrder, Stream } from '../exchange/exchange-order.ts';
import { jsonText } from '../exchange/json-text.ts';
import type { Veils } from '../faults/veils.ts';
import { type ListQuery, writeCursor } from './list-query.ts';

/** What is read: the books, and what is kept from readers. Without `veils` nothing is. */
export interface Shelf {
  readonly exchange: Exchange;
  readonly veils?: Pick<Veils, 'hides' | 'bare'>;
}

/**
 * One page of an order list as JSON: `{ "orders": [...], "nextCursor"?: string }`, oldest change first. `lagMs` above 0 shows the state of so long ago.
 */
export function listOrders(
  { exchange, veils }: Shelf,
  account: ExchangeAccount,
  stream: Stream,
  query: ListQuery,
  lagMs: number,
): string {
  const rows: string[] = [];
  let last = 0;
  let more = false;
  const take = (entry: ChangeEntry): boolean => {
    if (veils?.hides(entry.order) === true) return true;
    if (query.state !== 'all' && (query.state === 'closed') !== entry.wasClosed) return true;
    if (rows.length === query.limit) {
      more = true;
      return false;
    }
    rows.push(rowOf(entry, veils));
    last = entry.at;
    return true;
  };
  const asOf = exchange.asOf(lagMs);
  if (query.reference === undefined) exchange.listOf(account, stream).visit(query.after, asOf, take);
  else
    for (const entry of referred(exchange, account, stream, query.reference, query.after, asOf))
      if (veils?.bare(entry.order) !== true && !take(entry)) break;
  const cursor = more ? `,"nextCursor":"${writeCursor(last)}"` : '';
  return `{"orders":[${rows.join(',')}]${cursor}}`;
}

/** One order as JSON, or undefined when the account has none of that id (or had none yet, `lagMs` ago). */
export function getOrder(
  { exchange, veils }: Shelf,
  account: ExchangeAccount,
  stream: Stream,
  orderId: string,
  lagMs: number,
): string | undefined {
  const order = exchange.orders.get(orderId);
  if (order === undefined || order.terms.account !== account || order.terms.stream !== stream) return undefined;
  if (veils?.hides(order) === true) return undefined;
  const entry = entryAt(order, exchange.asOf(lagMs));
  return entry === undefined ? undefined : rowOf(entry, veils);
}

function rowOf(entry: ChangeEntry, veils: Shelf['veils']): string {
  const row = entry.row ?? encodeRow(entry.order);
  return veils?.bare(entry.order) === true ? withoutReference(row, entry.order) : row;
}

/** `clOrdId` of an account order is always there: one that the platform made up. */
function withoutReference(row: string, { terms }: ExchangeOrder): string {
  if (terms.stream === 'account') return row.replace(`"clOrdId":${jsonText(terms.clOrdId)}`, `"clOrdId":"${terms.orderId}"`);
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
  const mine = (order: ExchangeOrder) => order.terms.account === account && order.terms.stream === stream;
  return exchange
    .byClientReference(reference)
    .filter(mine)
    .map((order) => entryAt(order, asOf))
    .filter((entry) => entry !== undefined)
    .filter((entry) => entry.at > after)
    .sort((a, b) => a.at - b.at);
}
