import { encodeRow } from '../exchange/encode-row.ts';
import type { ExchangeAccount } from '../exchange/exchange-account.ts';
import { isClosed } from '../exchange/exchange-order.ts';
import type { EntryDeps } from './entry-deps.ts';
import { nestedRefusal } from './refusals.ts';
import type { Write } from './write.ts';

/** `DELETE /v1/orders/{ordId}?accountId=` asks for a cancel: `202`, body the order (contract, "Equity and option orders"). */
export function cancelAccountOrder(deps: EntryDeps, account: ExchangeAccount, ordId: string): Write {
  return {
    refused: false,
    kind: 'cancel',
    stream: 'account',
    accountId: account.id,
    attempt() {
      const order = deps.exchange.orders.get(ordId);
      if (order === undefined || order.terms.account !== account || order.terms.stream !== 'account')
        return nestedRefusal(404, 'ORDER_NOT_FOUND', 'No such order on this account');
      if (isClosed(order.state)) return nestedRefusal(409, 'ORDER_NOT_ACTIONABLE', `The order is closed: ${order.state}`);
      if (order.pendingAction !== 'none')
        return nestedRefusal(409, 'ORDER_NOT_ACTIONABLE', `A ${order.pendingAction} still awaits the venue`);
      deps.venue.ask(order, 'cancel');
      return order;
    },
    answer: { status: 202, body: encodeRow },
  };
}
