import type { OrderRow } from './order-row.ts';

const columns: readonly (readonly [name: string, value: (row: OrderRow) => string | undefined])[] = [
  ['stream', ({ stream }) => stream],
  ['orderId', ({ orderId }) => orderId],
  ['accountId', ({ accountId }) => accountId],
  ['revision', ({ revision }) => String(revision)],
  ['symbol', ({ order }) => order.instrument.symbol],
  ['outcome', ({ order }) => order.instrument.outcome],
  ['side', ({ order }) => order.side],
  ['orderType', ({ order }) => order.orderType],
  ['status', ({ order }) => order.status],
  ['certainty', ({ order }) => order.certainty],
  ['pendingAction', ({ order }) => order.pendingAction],
  ['quantity', ({ order }) => order.quantity],
  ['price', ({ order }) => order.price],
  ['stopPrice', ({ order }) => order.stopPrice],
  ['workingQuantity', ({ order }) => order.working.quantity],
  ['workingPrice', ({ order }) => order.working.price],
  ['cumQty', ({ order }) => order.cumQty],
  ['leavesQty', ({ order }) => order.leavesQty],
  ['avgPrice', ({ order }) => order.avgPrice],
  ['origin', ({ order }) => order.origin],
  ['callerRef', ({ order }) => order.callerRef],
  ['updatedAt', ({ order }) => order.updatedAt],
];

/** The rows as CSV (RFC 4180), in UTF-8 with a mark for spreadsheets. */
export function csvOf(rows: readonly OrderRow[]): string {
  const lines = [columns.map(([name]) => name), ...rows.map((row) => columns.map(([, value]) => value(row) ?? ''))];
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
