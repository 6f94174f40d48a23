import { updateRecord } from '../../contract/update-record.ts';
import type { Stream } from '../../domain/order.ts';
import { namesInstrument } from '../../domain/symbol.ts';
import { dropOldest } from '../../runtime/drop-oldest.ts';
import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { comparePositions, type UpdatePosition } from '../../service/log/update-position.ts';
import { clip, printable } from './format-text.ts';
import { instrumentText, namesOrder, shortId, sizeText, type Update } from './order-text.ts';

/** Wanted: an update to a named order, matching everything else given. */
export interface TailFilter {
  /**
   * Each by its id, by the end of it in `formatUpdate`, or as `<stream>:<orderId>`, its key on the
   * topic.
   */
  readonly order?: readonly string[];
  readonly account?: string;
  readonly stream?: Stream;
  /** In any spelling: the order's own, or a leg's. */
  readonly symbol?: string;
  readonly status?: string;
}

/**
 * A record's value as an update; undefined for any other record on the topic. Fields of a later
 * version are kept.
 */
export function parseUpdate(value: string): Update | undefined {
  return updateRecord.safeParse(jsonOrUndefined(value)).data;
}

export function wanted({ stream, orderId, accountId, order }: Update, filter: TailFilter): boolean {
  if (filter.stream !== undefined && stream !== filter.stream) return false;
  if (filter.account !== undefined && accountId !== filter.account) return false;
  if (filter.symbol !== undefined && !namesInstrument(filter.symbol, order.instrument)) return false;
  if (filter.status !== undefined && order.status !== filter.status) return false;
  return (
    filter.order === undefined || filter.order.some((id) => namesOrder(id, orderId) || id === `${stream}:${orderId}`)
  );
}

/**
 * About 10 MB. A repeat of a forgotten order is shown as new. This is rare: repeats soon follow the
 * original.
 */
const remembered = 100_000;

/**
 * Drops repeats as the topic's contract asks: a record not above the highest (generation, revision)
 * of its order is a repeat.
 *
 * Invariant: remembers the orders updated last, at most `limit`.
 */
export class FirstOccurrences {
  private readonly newest = new Map<string, UpdatePosition>();
  private readonly limit: number;

  constructor(limit = remembered) {
    this.limit = limit;
  }

  isFirst({ stream, orderId, ...update }: Pick<Update, 'stream' | 'orderId'> & UpdatePosition): boolean {
    const key = `${stream}:${orderId}`;
    const known = this.newest.get(key);
    if (known !== undefined && comparePositions(update, known) <= 0) return false;
    const { generation, revision } = update;
    // Set anew: the map keeps the order of the last updates.
    this.newest.delete(key);
    this.newest.set(key, { generation, revision });
    dropOldest(this.newest, this.limit);
    return true;
  }
}

/**
 * Whole ids and milliseconds, for pipes and wide terminals; or the end of each id and seconds,
 * within 100 columns.
 */
export type LineWidth = 'whole' | 'short';

const shortColumns = 100;

/**
 * One line for people: time of arrival, account, order, revision, status, direction, filled and
 * working quantity, instrument, and last the change: the fill (`~`: it may be several), else the
 * terms. Everything else is in `--json`. `paint` colours status and direction, with their padding.
 */
export function formatUpdate(update: Update, width: LineWidth, paint = (word: string) => word): string {
  const { order, fill, stream, orderId, accountId } = update;
  const isWhole = width === 'whole';
  const gap = isWhole ? '  ' : ' ';
  const which = [
    update.observedAt.slice(11, isWhole ? 23 : 19),
    isWhole ? accountId : shortId(accountId).padEnd(8),
    isWhole ? `${stream}:${orderId}` : shortId(orderId),
    `r${update.revision}`.padEnd(3),
  ];
  const start = printable(which.join(gap));
  const [status, side] = [order.status.padEnd(16), printable(order.side.padEnd(4))];
  const now = `${order.cumQty}/${sizeText(order)} ${instrumentText(order)}`;
  const end = printable(`${now}${gap}${fill === undefined ? termsOf(order) : fillText(fill)}`);
  const left = shortColumns - `${start} ${status} ${side} `.length;
  return `${start}${gap}${paint(status)}${gap}${paint(side)} ${isWhole ? end : clip(end, left)}`;
}

function termsOf({ orderType, working: { price } }: Update['order']): string {
  return price === undefined ? orderType : `${orderType} ${price}`;
}

function fillText({ quantity, price, inferred }: NonNullable<Update['fill']>): string {
  return `${inferred ? '~' : '+'}${quantity}${price === undefined ? '' : ` at ${price}`}`;
}
