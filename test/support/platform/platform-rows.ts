/**
 * Rows and frames as the platform writes them, for tests of what reads them. `version` is put in as
 * digits, since it may exceed a double.
 */
export type Row = Readonly<Record<string, unknown>>;

export const accountRow: Row = {
  ordId: 'ord-1',
  accountId: 'acct-1',
  clOrdId: 'client-1',
  symbol: 'AAPL',
  side: 'BUY',
  type: 'LIMIT',
  timeInForce: 'DAY',
  qty: '100',
  price: '191.50',
  ordStatus: 'NEW',
  cumQty: '0',
  leavesQty: '100',
  securityType: 'CS',
  category: 'equity',
  createdAt: '2026-11-21T14:30:00.000Z',
  updatedAt: '2026-11-21T14:30:01.000Z',
};

export const predictionRow: Row = {
  orderId: '7d9f0a52-4c1e-4a53-9d0e-000000000001',
  accountId: 'acct-1',
  symbol: 'FED-CUT',
  outcome: 'YES',
  side: 'buy',
  orderType: 'limit',
  timeInForce: 'gtc',
  quantity: '10',
  workingQuantity: '10',
  state: 'new',
  cumQty: '0',
  leavesQty: '10',
  price: '0.40',
  workingPrice: '0.40',
  createdAt: '2026-11-21T14:30:00.000Z',
  updatedAt: '2026-11-21T14:30:01.000Z',
};

/** JSON of the row with `version` as bare digits (or any other source text: `1.0`, `null`). */
export function rowText(row: Row, version?: string | bigint): string {
  const text = JSON.stringify(row);
  return version === undefined ? text : `${text.slice(0, -1)},"version":${version}}`;
}

/** The text of a stream event that carries the row. */
export function eventText(
  stream: 'account' | 'prediction',
  accountId: string,
  row: Row,
  version?: string | bigint,
): string {
  const head = `{"type":"event","timestamp":"2026-11-21T14:30:01.001Z","payload":{"topic":"${stream}","name":"${stream}.order"`;
  return `${head},"target":"account:${accountId}","data":${rowText(row, version)}}}`;
}
