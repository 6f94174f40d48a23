import type { z } from 'zod';
import { updateRecord } from '../../schema/update-record.ts';
import { printable } from '../format-text.ts';

export type Update = z.infer<typeof updateRecord>;

/** An update is wanted when it is of one of the named orders, and matches all else that is given. */
export interface TailFilter {
  /** Each by its id alone, or as `<stream>:<orderId>`, which is its key on the topic. */
  readonly order?: readonly string[];
  readonly account?: string;
  readonly stream?: 'account' | 'prediction';
  readonly symbol?: string;
  readonly status?: string;
}

/** A record's value as an update; undefined for any other record on the topic. Fields of a later version are kept. */
export function parseUpdate(value: string): Update | undefined {
  try {
    return updateRecord.safeParse(JSON.parse(value)).data;
  } catch {
    return undefined;
  }
}

export function wanted({ stream, orderId, accountId, order }: Update, filter: TailFilter): boolean {
  if (filter.stream !== undefined && stream !== filter.stream) return false;
  if (filter.account !== undefined && accountId !== filter.account) return false;
  if (filter.symbol !== undefined && order.instrument.symbol !== filter.symbol) return false;
  if (filter.status !== undefined && order.status !== filter.status) return false;
  return filter.order === undefined || filter.order.some((id) => id === orderId || id === `${stream}:${orderId}`);
}

/** About 10 MB. A repeat of a forgotten order is shown as if it were new; this is rare, since repeats soon follow the original. */
const remembered = 100_000;

/**
 * Drops repeats as the topic's contract asks of every consumer: a record that is not above the highest (generation, revision) of its
 * order is a repeat.
 *
 * Invariant: remembers the orders updated last, at most `limit` of them.
 */
export class FirstOccurrences {
  private readonly newest = new Map<string, { readonly generation: number; readonly revision: number }>();
  private readonly limit: number;

  constructor(limit = remembered) {
    this.limit = limit;
  }

  isFirst({ stream, orderId, generation, revision }: Pick<Update, 'stream' | 'orderId' | 'generation' | 'revision'>): boolean {
    const key = `${stream}:${orderId}`;
    const known = this.newest.get(key);
    if (known !== undefined && (generation < known.generation || (generation === known.generation && revision <= known.revision)))
      return false;
    // Set anew, so that the map's order is the order of the last update.
    this.newest.delete(key);
    this.newest.set(key, { generation, revision });
    if (this.newest.size > this.limit) {
      const [oldest] = this.newest.keys();
      if (oldest !== undefined) this.newest.delete(oldest);
    }
    return true;
  }
}

/** One line for people: time of arrival, order, present state, and filled quantity. Everything else is in `--json`. */
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
