import type { Command, Evidence, Reason } from './command.ts';
import type { CommandEvent } from './command-machine.ts';
import type { Order } from './order.ts';

/**
 * An order's update, as far as verdicts need it, read from the log or from a batch just committed.
 */
export interface ResolvingUpdate {
  readonly revision: number;
  readonly sourceEpoch: number;
  readonly sourceVersion?: bigint;
  /** `stream`, `snapshot`, `reply`, `probe`, `correction`. */
  readonly cause: string;
  /** When we received it, by our wall clock. Absent if only the stored order was read. */
  readonly observedAtMs?: number;
  readonly order: Order;
  /** Only for the stored order: perhaps another order was shown under its id. */
  readonly inQuestion?: true;
}

/** An order with an attempt's id, and with our account and side (`matches`) or not. */
export interface BoundOrder {
  readonly attemptId: string;
  readonly commandId: string;
  readonly orderId: string;
  readonly matches: boolean;
}

/**
 * A verdict may rest on these facts alone: they went through ingest. Absence is not among them:
 * there is no field here for a failed answer, or for a list cut short.
 */
export interface Resolving {
  readonly command: Command;
  /**
   * Updates to the named order (replace, cancel) or to bound orders (place), as many as are known,
   * in any order, repeated or not.
   */
  readonly updates: readonly ResolvingUpdate[];
  /** Place: the orders with one of its attempt ids. */
  readonly bound?: readonly BoundOrder[];
  /**
   * Replace: a complete read's result when looking for the ended order's successor: none, or the id
   * of an order that replaced it. Left out: no read has been made.
   */
  readonly successor?: { readonly orderId?: string };
  /**
   * Cancel: another cancel for the order may have been out at the same time. Replace: another one
   * supersedes it, or is superseded by it.
   */
  readonly rivals?: boolean;
  /**
   * For a cancel whose order had ended at the baseline: a complete read that began later has shown
   * nothing new about it.
   */
  readonly stillEnded?: boolean;
}

/** One fact for the evidence ledger; the journal numbers and dates it. */
export type Fact = Omit<Evidence, 'number' | 'atMs'>;

/**
 * The reason for a verdict; also its evidence's code.
 *
 * - place: `landed`, `venue_refused`, `other_identity`.
 * - replace: `terms_working`, `ended`, `successor`, `venue_refused`, `reason_recorded`,
 *   `nothing_to_tell_by`, `other_terms`.
 * - cancel: `canceled`, `ended`, `venue_refused`.
 */
export type Because =
  | 'landed'
  | 'other_identity'
  | 'terms_working'
  | 'ended'
  | 'successor'
  | 'venue_refused'
  | 'reason_recorded'
  | 'nothing_to_tell_by'
  | 'other_terms'
  | 'canceled';

export interface Verdict {
  readonly kind: 'verdict';
  /** `accepted`: only for a place whose order is there and awaits the venue. */
  readonly result: 'accepted' | 'applied' | 'rejected' | 'moot' | 'conflict';
  /** The event for `commandTransition`. */
  readonly event: CommandEvent;
  readonly because: Because;
  readonly orderId: string;
  /** Why the venue refused, or which facts contradict each other. */
  readonly reason?: Reason;
  /**
   * Place: the submitted terms that differ between order and request. It is still our order; a
   * person should know.
   */
  readonly differs?: readonly string[];
  readonly evidence: Fact;
}

export type Finding =
  | Verdict
  /**
   * The platform has it pending, first seen so at this revision. Not a verdict; found once
   * (`Command.seenPendingAt`).
   */
  | { readonly kind: 'reached'; readonly at: NonNullable<Command['seenPendingAt']>; readonly evidence: Fact }
  /**
   * Replace: the order ended otherwise. `moot`, once a complete read has looked for an order that
   * replaced it.
   */
  | { readonly kind: 'look_for_successor'; readonly orderId: string; readonly reference?: string | undefined }
  /**
   * The platform lost its store: versions began anew, and no update after the baseline can be
   * compared with it. The command stays as it is, and a person has to look.
   */
  | { readonly kind: 'flagged'; readonly because: 'source_epoch_changed'; readonly evidence: Fact }
  /**
   * Place: another order took the place of its own, and its own ended as `replaced`: amended by
   * another program than ours. It belongs to the command. Found again, too.
   */
  | { readonly kind: 'successor'; readonly orderId: string; readonly evidence: Fact }
  /**
   * Place: another order than the one it was applied as also has one of its ids. Alarm; the verdict
   * stays. Found again as long as it is so.
   */
  | { readonly kind: 'second_order'; readonly orderId: string; readonly evidence: Fact }
  | { readonly kind: 'nothing' };

export const nothing: Finding = Object.freeze({ kind: 'nothing' });
