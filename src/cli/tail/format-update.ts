import { printable } from '../printable.ts';
import type { Update } from './parse-update.ts';

/** One line for people: when it reached us, which order, what it is now, and what was filled. Everything else is in `--json`. */
export function formatUpdate(update: Update): string {
  const { order, fill } = update;
  const outcome = order.instrument.outcome === undefined ? '' : `/${order.instrument.outcome}`;
  const terms = [
    order.working.quantity,
    order.side,
    `${order.instrument.symbol}${outcome}`,
    order.orderType,
    ...(order.working.price === undefined ? [] : ['at', order.working.price]),
  ].join(' ');
  const filled = fill === undefined ? '' : `, +${fill.quantity}${priceOf(fill)}${fill.inferred ? ' (inferred)' : ''}`;
  const columns = [
    update.observedAt.slice(11, 23).padEnd(12),
    update.accountId,
    `${update.stream}:${update.orderId}`,
    `r${update.revision}`.padEnd(4),
    order.status.padEnd(16),
    `${order.cumQty} of ${terms}${filled}`,
  ];
  return printable(columns.join('  '));
}

function priceOf({ price }: NonNullable<Update['fill']>): string {
  return price === undefined ? '' : ` at ${price}`;
}
