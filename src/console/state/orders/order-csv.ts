import type { FillRow } from './fill-list.ts';
import { columnOf } from './order-columns.ts';
import type { OrderRow } from './order-row.ts';

/** The file's names, in their order: the order's own fields, unless `others` has them. */
const names = [
  'stream orderId accountId revision symbol outcome legs side orderType timeInForce status statusRaw certainty',
  'certaintyReason pendingAction conflict quantity price stopPrice workingQuantity workingPrice cumQty leavesQty',
  'avgPrice value origin callerRef clientOrderRef clOrdId venueOrderId commandId placedBy rejectReason rejectText',
  'createdAt sentAt firstAckAt updatedAt closedAt expireTime notional replaces replacedBy',
].flatMap((line) => line.split(' '));

const others: Readonly<Record<string, (row: OrderRow) => string | undefined>> = {
  revision: ({ revision }) => String(revision),
  symbol: ({ order }) => order.instrument.symbol,
  outcome: ({ order }) => order.instrument.outcome,
  legs: ({ order }) => order.instrument.legs?.map((leg) => `${leg.side} ${leg.ratioQty} ${leg.symbol}`).join('; '),
  workingQuantity: ({ order }) => order.working.quantity,
  workingPrice: ({ order }) => order.working.price,
  value: columnOf('value').value,
};

/** The rows as CSV (RFC 4180), in UTF-8 with a mark for spreadsheets. */
export function csvOf(rows: readonly OrderRow[]): string {
  return csvText([names, ...rows.map((row) => names.map((name) => textIn(row, name)))]);
}

function textIn(row: OrderRow, name: string): string {
  return (name in others ? others[name]?.(row) : (Reflect.get(row.order, name) as string | undefined)) ?? '';
}

const fillNames = [
  'time stream orderId accountId revision symbol outcome side quantity price',
  'inferred takenBack cumQty workingQuantity callerRef venueOrderId',
].flatMap((line) => line.split(' '));

/** Newest first, as shown. A taking back has a negative quantity, or none if it is not known. */
export function fillsCsv(fills: readonly FillRow[]): string {
  const lines = fills.map(({ row, atText: time, quantity = '', price = '', inferred, takenBack }) => {
    const own = { time, quantity, price, inferred, takenBack };
    return fillNames.map((name) => (name in own ? String(Reflect.get(own, name)) : textIn(row, name)));
  });
  return csvText([fillNames, ...lines]);
}

function csvText(lines: readonly (readonly string[])[]): string {
  return `\u{feff}${lines.map((cells) => cells.map(cellOf).join(',')).join('\r\n')}\r\n`;
}

const decimal = /^-?\d+(?:\.\d+)?$/;

/**
 * A spreadsheet runs a text with this beginning as a formula; an apostrophe before it makes it
 * text.
 */
const formula = /^[=+\-@\t\r]/;

function cellOf(text: string): string {
  const safe = formula.test(text) && !decimal.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
