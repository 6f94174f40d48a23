import type { Order } from './order.ts';

/**
 * Everything the reducer must remember of one order between two observations, and all that it needs
 * after a restart. `join` is the part that the order itself does not show (the winning view's rank
 * and hash, for example); plain JSON, opaque outside `domain/`.
 */
export interface Head {
  readonly order: Order;
  /** Ours, per order: 1, 2, 3 … without a hole, one for each accepted change. */
  readonly revision: number;
  /**
   * The highest version seen in the present source epoch. Absent on account orders, and on an order
   * known only from unversioned replies.
   */
  readonly sourceVersion?: bigint;
  readonly join: Readonly<Record<string, unknown>>;
}

/**
 * The rise of cumQty since the revision before. `inferred` where several
 * fills may be merged, or a gap lies between.
 */
export interface Fill {
  readonly quantity: string;
  readonly price?: string;
  readonly inferred: boolean;
}

/**
 * A doubt that only a read of the order from REST can clear up (docs/settling.md, account orders).
 *
 * - `taken_back`: a view is newer than the one that counts, and has a lower cumQty, or another
 *   status than the one with which the order ended.
 * - `same_instant`: two views of one instant tell different things.
 * - `conflict`: the resulting order contradicts itself.
 *   `renamed`: its instrument or side has changed.
 */
export type Doubt = 'taken_back' | 'same_instant' | 'conflict' | 'renamed';

export type Reduction =
  /**
   * The normalised order changed: a new revision. `changed` names the top-level fields of the order
   * that differ (empty: only the version rose).
   */
  | {
      readonly outcome: 'applied';
      readonly head: Head;
      readonly changed: readonly string[];
      readonly fill?: Fill;
      readonly correction?: true;
      readonly doubt?: Doubt;
    }
  /**
   * Nothing to publish. `head` is there when only the join's own memory
   * changed: it is stored, without a revision.
   */
  | { readonly outcome: 'duplicate' | 'stale'; readonly head?: Head; readonly behind?: true; readonly doubt?: Doubt }
  /**
   * It contradicts the state that we hold (same version with other content, another account). State
   * unchanged, kept in quarantine, alarmed.
   */
  | { readonly outcome: 'conflict'; readonly reason: string; readonly detail: string };

/** A head as it is stored: two JSON texts, the revision, and the version as decimal digits. */
interface StoredHead {
  readonly state: string;
  readonly join: string;
  readonly revision: number;
  readonly sourceVersion: string | null;
}

/**
 * Back from the form in Postgres. We wrote the stored text, so it is trusted; throws only on text
 * that isn't JSON, or a version that isn't digits.
 */
export function decodeHead(row: StoredHead): Head {
  const order = JSON.parse(row.state) as Order;
  const join = JSON.parse(row.join) as Head['join'];
  if (row.sourceVersion === null) return { order, revision: row.revision, join };
  return { order, revision: row.revision, sourceVersion: BigInt(row.sourceVersion), join };
}
