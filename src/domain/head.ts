import { faultIn } from './head-shape.ts';
import { type Order, orderKey } from './order.ts';

/**
 * The reducer's whole memory about one order between two observations, and all it needs after a
 * restart. `join` is the part the order itself does not show (the winning view's rank and hash, for
 * example); plain JSON, opaque outside `domain/`.
 */
export interface Head {
  readonly order: Order;
  /** Ours, per order: 1, 2, 3 … without a gap, one for each accepted change. */
  readonly revision: number;
  /**
   * The highest version seen in the present source epoch. Absent on account orders, and on an order
   * known only from unversioned replies.
   */
  readonly sourceVersion?: bigint;
  readonly join: Readonly<Record<string, unknown>>;
}

/**
 * An order with an unreadable state: it is nowhere, is not JSON, or has another shape. Only the
 * columns beside it are known.
 */
export interface UnreadableHead {
  /** Why, for people. */
  readonly fault: string;
  readonly accountId: string;
  readonly revision: number;
  readonly sourceVersion?: bigint;
  /** Our own attempt: it placed the order. */
  readonly attemptId?: string;
}

export function isUnreadable(head: Head | UnreadableHead): head is UnreadableHead {
  return 'fault' in head;
}

/**
 * The rise of cumQty since the revision before. `inferred` if several fills may be merged, or a gap
 * lies between.
 */
export interface Fill {
  readonly quantity: string;
  readonly price?: string;
  readonly inferred: boolean;
}

/**
 * Only reads of the order from REST can clear up this doubt (docs/merging.md, account orders).
 *
 * - `contradicted`: the view, or the state it makes, contradicts what the order showed. Or that
 *   can't be read.
 * - `late`: a row of REST contradicts it, and may only lag behind the stream: it is older than the
 *   state, or has no version.
 * - `reused`: the view shows another order under the id (`isAnotherOrder`).
 *   `reused_late`: the same, at an instant before ours.
 */
export type Doubt = 'contradicted' | 'late' | 'reused' | 'reused_late';

export type Reduction =
  /**
   * The normalised order changed: a new revision. `changed` names the order's top-level fields that
   * differ (empty: only the version rose).
   */
  | {
      readonly result: 'applied';
      readonly head: Head;
      readonly changed: readonly string[];
      readonly fill?: Fill;
      readonly correction?: true;
      /** It is another order than before: the platform gave the id again. */
      readonly begins?: true;
      /** It adds to what is known at this instant, and contradicts nothing. */
      readonly learnt?: boolean;
      readonly doubt?: Doubt;
    }
  /**
   * Nothing to publish. `head` is there when only the join's own memory changed: it is stored,
   * without a revision.
   */
  | { readonly result: 'duplicate' | 'stale'; readonly head?: Head; readonly doubt?: Doubt }
  /**
   * It contradicts the state we hold (same version with other content, another account). State
   * unchanged, kept as a dead letter, alarmed.
   */
  | { readonly result: 'conflict'; readonly reason: string; readonly detail: string };

/** A stored head: two JSON texts, the revision, and the version as decimal digits. */
interface StoredHead {
  readonly state: string;
  readonly join: string;
  readonly revision: number;
  readonly sourceVersion: string | null;
}

/**
 * Back from the form in Postgres. Throws on text that isn't JSON, and on an order or a memory no
 * build of ours wrote: nothing may be reduced upon these. `key`: it has to be this order's.
 */
export function decodeHead(row: StoredHead, key?: string): Head {
  const order = JSON.parse(row.state) as Order;
  const join = JSON.parse(row.join) as Head['join'];
  const fault = faultIn({ order, join });
  if (fault !== undefined) throw new TypeError(`${fault} is not what it has to be`);
  if (key !== undefined && orderKey(order.stream, order.orderId) !== key) throw new TypeError('it is of another order');
  if (row.sourceVersion === null) return { order, revision: row.revision, join };
  return { order, revision: row.revision, sourceVersion: BigInt(row.sourceVersion), join };
}
