import type { Stream } from '../domain/order.ts';
import { isNamed, traits } from '../domain/streams.ts';

interface Named {
  readonly stream: Stream;
  readonly orderId: string;
  readonly accountId: string;
}

/** Where REST takes places. */
export function placePath(stream: Stream): string {
  return `/v1/${traits[stream].market === 'securities' ? '' : 'predictions/'}orders`;
}

/** An order's address in REST, for commands. */
export function orderPath({ stream, orderId }: Pick<Named, 'stream' | 'orderId'>): string {
  return `${placePath(stream)}/${encodeURIComponent(orderId)}`;
}

/** The same for its cancel: with its account, and its stream where another one is meant without. */
export function cancelPath({ accountId, ...order }: Named): string {
  const { stream } = order;
  return `${orderPath(order)}?${new URLSearchParams({ accountId, ...(isNamed(stream) && { stream }) })}`;
}
