import { alpacaWords } from '../../../src/sandbox/alpaca/alpaca-words.ts';
import { type ExchangeOrder, isClosed, leavesOf } from '../../../src/sandbox/exchange/exchange-order.ts';
import { formatFixed } from '../../../src/sandbox/exchange/wire-text.ts';

/** What we must show of an order: Alpaca's own row of it, past any code of ours that reads it. */
export function expectedAlpacaOrder(order: ExchangeOrder): Readonly<Record<string, string | undefined>> {
  const { terms, cumQty, state, pendingAction } = order;
  const row = JSON.parse(alpacaWords.row(order)) as Readonly<Record<string, string | null>>;
  const of = (field: string) => row[field] ?? undefined;
  const isPending = !isClosed(state) && pendingAction !== 'none';
  return {
    accountId: terms.account.id,
    // A contract is under its root.
    symbol: /^([A-Z]+)\d{6}[CP]\d{8}$/.exec(of('symbol') ?? '')?.[1] ?? of('symbol'),
    side: of('side'),
    status: isPending ? (cumQty > 0n ? 'partially_filled' : 'new') : state,
    pendingAction: isPending ? pendingAction : 'none',
    quantity: of('qty'),
    cumQty: of('filled_qty'),
    // An order for an amount has no quantity.
    notional: of('notional'),
    leavesQty: of('qty') === undefined && !isClosed(state) ? undefined : formatFixed(leavesOf(order)),
    avgPrice: of('filled_avg_price'),
    price: of('limit_price'),
    stopPrice: of('stop_price'),
    workingQuantity: of('qty'),
    workingPrice: of('limit_price'),
    clOrdId: of('client_order_id'),
    updatedAt: of('updated_at'),
    // The chain of replaced orders, both ways.
    replaces: of('replaces'),
    replacedBy: of('replaced_by'),
  };
}
