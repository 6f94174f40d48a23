import { z } from 'zod';
import type { WriteReading } from './judge-write.ts';
import { ordersPath } from './wire/order-pages.ts';
import { type OrderRequest, orderRequest } from './wire/order-request.ts';
import { type OrderResponse, orderResponse } from './wire/order-response.ts';
import { notSendable, type WriteDeps, type WriteOptions, writePlatform } from './write-platform.ts';
import type { WriteResult } from './write-result.ts';

/** Writes carry a reference, by which their order is found again. */
export type ReferencedOrder = OrderRequest & { readonly clientId: string };

/** `POST /v1/orders` (specification). Only 400, 401 and 403 say that nothing was done: no other status is documented. */
export async function placeOrder(
  deps: WriteDeps,
  baseUrl: string,
  order: ReferencedOrder,
  options: WriteOptions = {},
): Promise<WriteResult<OrderResponse>> {
  const body = orderRequest.required({ clientId: true }).safeParse(order);
  if (!body.success) return notSendable(z.prettifyError(body.error));
  const request = { method: 'POST', url: `${baseUrl}${ordersPath}`, body: JSON.stringify(body.data) } as const;
  return writePlatform(deps, 'place_order', request, readingOf(order), options);
}

function readingOf(order: ReferencedOrder): WriteReading<OrderResponse> {
  return {
    refusals: new Set([400]),
    promisesNotSent: false,
    read: (value) => {
      const response = orderResponse.safeParse(value);
      if (!response.success) return 'the answer has another shape than the specification says';
      const { clOrdId, symbol, side, success } = response.data;
      if (clOrdId !== order.clientId || symbol !== order.symbol || side !== order.side)
        return 'the answer is about another order';
      return { verdict: success ? 'accepted' : 'rejected', answer: response.data };
    },
  };
}
