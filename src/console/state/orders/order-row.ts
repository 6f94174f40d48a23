import type { NormalisedOrder, OrderUpdate, Stream } from '../../../../types/records.d.ts';
import { isTerminal } from '../../../domain/order.ts';

/** An order as lists from REST have it. */
export interface ListedOrder {
  readonly stream: Stream;
  readonly orderId: string;
  readonly accountId: string;
  readonly revision: number;
  readonly sourceVersion?: string | undefined;
  readonly order: NormalisedOrder;
}

/**
 * One order in its newest state, as the blotter has it. A row is
 * never changed: a newer state is a new row.
 */
export interface OrderRow extends ListedOrder {
  readonly key: string;
  /** Undefined: a list does not say it. */
  readonly generation: number | undefined;
  /** Fields changed last; empty for a row from a list. */
  readonly changed: readonly string[];
  /** Rises with each change that arrives: the highest is the newest. */
  readonly rank: number;
  /** When the change arrived, by the monotonic clock; undefined for a row from a list. */
  readonly arrivedMs: number | undefined;
}

export function keyOf({ stream, orderId }: Pick<ListedOrder, 'stream' | 'orderId'>): string {
  return `${stream}:${orderId}`;
}

/** An update's order, without its other fields. */
export function listedOf({ stream, orderId, accountId, revision, sourceVersion, order }: ListedOrder): ListedOrder {
  return { stream, orderId, accountId, revision, sourceVersion, order };
}

export function rowOfUpdate(update: OrderUpdate, rank: number, arrivedMs: number): OrderRow {
  const { generation, changed } = update;
  return { ...listedOf(update), key: keyOf(update), generation, changed, rank, arrivedMs };
}

export function rowOfListed(listed: ListedOrder, rank: number): OrderRow {
  return { ...listedOf(listed), key: keyOf(listed), generation: undefined, changed: [], rank, arrivedMs: undefined };
}

/**
 * The rule for consumers: keep the highest (generation, revision). A list does not say the
 * generation, so it wins by its revision alone.
 */
export function isNewer(candidate: OrderRow, known: OrderRow | undefined): boolean {
  if (known === undefined) return true;
  if (candidate.generation !== undefined && known.generation !== undefined && candidate.generation !== known.generation)
    return candidate.generation > known.generation;
  return candidate.revision > known.revision;
}

/** `buy` and `buy_to_cover` buy; everything else sells. */
export function directionOf(side: string): 'buy' | 'sell' {
  return side.startsWith('buy') ? 'buy' : 'sell';
}

/** Whether it may still change without a correction. */
export function isOpen({ status }: NormalisedOrder): boolean {
  return !isTerminal(status);
}
