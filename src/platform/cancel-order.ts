import { isOrderId } from '../domain/order.ts';
import type { WriteReading } from './judge-write.ts';
import { type AccountOrderItem, accountOrderItem } from './wire/account-order.ts';
import { ordersPath } from './wire/order-pages.ts';
import { notSendable, type WriteDeps, type WriteOptions, writePlatform } from './write-platform.ts';
import type { WriteResult } from './write-result.ts';

/** `DELETE /v1/orders/{ordId}?accountId=` (docs/platform-assumptions.md). `accepted`: the cancel was asked for; whether it happens is seen on the order. */
export async function cancelOrder(
  deps: WriteDeps,
  baseUrl: string,
  accountId: string,
  ordId: string,
  options: WriteOptions = {},
): Promise<WriteResult<AccountOrderItem>> {
  if (accountId === '' || !isOrderId('account', ordId))
    return notSendable('accountId and ordId must be ids that an order and its account can have');
  const url = `${baseUrl}${ordersPath}/${encodeURIComponent(ordId)}?${new URLSearchParams({ accountId })}`;
  return writePlatform(deps, 'cancel_order', { method: 'DELETE', url }, readingOf(accountId, ordId), options);
}

function readingOf(accountId: string, ordId: string): WriteReading<AccountOrderItem> {
  return {
    refusals: new Set([400, 404, 409]),
    promisesNotSent: false,
    read: (value) => {
      const item = accountOrderItem.safeParse(value);
      if (!item.success) return 'the answer has another shape than the contract says';
      if (item.data.ordId !== ordId || item.data.accountId !== accountId) return 'the answer is about another order';
      return { verdict: 'accepted', answer: item.data };
    },
  };
}
