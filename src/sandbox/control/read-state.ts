import { present } from '../exchange/change-list.ts';
import { encodeRow } from '../exchange/encode-row.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type ExchangeOrder, isClosed, type Stream } from '../exchange/exchange-order.ts';
import { jsonText } from '../exchange/wire-text.ts';

const chunkChars = 64 * 1024;

/**
 * The present truth of every order as NDJSON, in chunks of whole lines: `{ stream, accountId, orderId, version?, closed, order }`. Orders that change while
 * it is read may show either state, so ask after the market was stopped (`POST /rate` with 0).
 */
export function* readState(
  exchange: Exchange,
  filter: { stream?: string | undefined; accountId?: string | undefined },
): Generator<string> {
  let chunk = '';
  for (const account of exchange.accounts.values()) {
    if (filter.accountId !== undefined && filter.accountId !== account.id) continue;
    for (const stream of ['account', 'prediction'] as const satisfies Stream[]) {
      if (filter.stream !== undefined && filter.stream !== stream) continue;
      const orders: ExchangeOrder[] = [];
      exchange.listOf(account, stream).visit(0, present, (entry) => orders.push(entry.order) > 0);
      for (const order of orders) {
        chunk += stateLine(order);
        if (chunk.length < chunkChars) continue;
        yield chunk;
        chunk = '';
      }
    }
  }
  if (chunk !== '') yield chunk;
}

function stateLine(order: ExchangeOrder): string {
  const { stream, account, orderId } = order.terms;
  const version = stream === 'prediction' ? `,"version":"${order.version}"` : '';
  return `{"stream":"${stream}","accountId":${jsonText(account.id)},"orderId":"${orderId}"${version},"closed":${isClosed(order.state)},"order":${encodeRow(order)}}\n`;
}
