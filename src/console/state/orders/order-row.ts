import type { NormalisedOrder, OrderUpdate, Stream } from '../../../../types/records.d.ts';
import { isTerminal } from '../../../domain/order.ts';

/**
 * One order in its newest state, as the blotter has it. A row is
 * never changed: a newer state is a new row.
 */
export interface OrderRow {
  readonly key: string;
  readonly stream: Stream;
  readonly orderId: string;
  readonly accountId: string;
  readonly revision: number;
  /** Undefined: a list does not say it. */
  readonly generation: number | undefined;
  readonly sourceVersion: string | undefined;
  readonly order: NormalisedOrder;
  /** Fields changed last; empty for a row from a list. */
  readonly changed: readonly string[];
  /** Rises with each change that arrives: the highest is the newest. */
  readonly rank: number;
  /** When the change arrived, by the monotonic clock; undefined for a row from a list. */
  readonly arrivedMs: number | undefined;
}

/** An order as lists from REST have it. */
export interface ListedOrder {
  readonly stream: Stream;
  readonly orderId: string;
  readonly accountId: string;
  readonly revision: number;
  readonly sourceVersion?: string | undefined;
  readonly order: NormalisedOrder;
}

export function keyOf({ stream, orderId }: { readonly stream: Stream; readonly orderId: string }): string {
  return `${stream}:${orderId}`;
}

export function rowOfUpdate(update: OrderUpdate, rank: number, arrivedMs: number): OrderRow {
  const { stream, orderId, accountId, revision, generation, sourceVersion, order, changed } = update;
  return {
    key: keyOf(update),
    stream,
    orderId,
    accountId,
    revision,
    generation,
    sourceVersion,
    order,
    changed,
    rank,
    arrivedMs,
  };
}

export function rowOfListed(listed: ListedOrder, rank: number): OrderRow {
  const { stream, orderId, accountId, revision, sourceVersion, order } = listed;
  const unknown = { generation: undefined, sourceVersion, changed: [], arrivedMs: undefined };
  return { key: keyOf(listed), stream, orderId, accountId, revision, order, rank, ...unknown };
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
