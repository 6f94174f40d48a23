import type { Command, Evidence, Reason } from './command.ts';
import type { CommandEvent } from './command-machine.ts';
import type { Order } from './order.ts';

/**
 * An update of an order, as far as verdicts need it, read from the
 * log or from a batch that just committed.
 */
export interface SettlingUpdate {
  readonly revision: number;
  readonly sourceEpoch: number;
  readonly sourceVersion?: bigint;
  /** `stream`, `snapshot`, `reply`, `probe`, `correction`. */
  readonly cause: string;
  /**
   * When we received it, by our wall clock. Absent where only the order as it is stored was read.
   */
  readonly observedAtMs?: number;
  readonly order: Order;
}

/** An order that carries an attempt's id, with account and side as ours (`matches`) or not. */
export interface BoundOrder {
  readonly attemptId: string;
  readonly commandId: string;
  readonly orderId: string;
  readonly matches: boolean;
}

/**
 * All the facts on which a verdict may rest: facts that went through ingest. Absence is not one of
 * them: there is no field here for an answer that failed, or for a list that was cut short.
 */
export interface Settling {
  readonly command: Command;
  /**
   * Updates of the order that was named (replace, cancel) or of bound orders (place), as many as
   * are known, in any order, repeated or not.
   */
  readonly updates: readonly SettlingUpdate[];
  /** Place: the orders that carry one of its attempt ids. */
  readonly bound?: readonly BoundOrder[];
  /**
   * Replace: the result of a complete read for a successor of the ended order: none, or the id of
   * an order that replaced it. Left out: no read has been made.
   */
  readonly successor?: { readonly orderId?: string };
  /** Cancel: another cancel of the order may have been out at the same time. */
  readonly rivals?: boolean;
  /**
   * Cancel of an order that had ended at the baseline: a complete read that
   * began later has shown nothing new of it.
   */
  readonly stillEnded?: boolean;
}

/** One fact for the evidence ledger; the journal numbers and dates it. */
export type Fact = Omit<Evidence, 'number' | 'atMs'>;

/**
 * Why a verdict is what it is; also the code of its evidence.
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
  readonly outcome: 'accepted' | 'applied' | 'rejected' | 'moot' | 'conflict';
  /** The event for `commandTransition`. */
  readonly event: CommandEvent;
  readonly because: Because;
  readonly orderId: string;
  /** Why the venue refused, or which facts contradict each other. */
  readonly reason?: Reason;
  /**
   * Place: submitted terms in which the order differs from the request. It
   * is still our order; a person should know.
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
   * Replace: the order ended otherwise. `moot`, once a complete read
   * has looked for an order that replaced it.
   */
  | { readonly kind: 'look_for_successor'; readonly orderId: string; readonly reference?: string }
  /**
   * The platform lost its store: versions began anew, and no update after the baseline can be
   * compared with it. The command stays as it is, and a person has to look.
   */
  | { readonly kind: 'flagged'; readonly because: 'source_epoch_changed'; readonly evidence: Fact }
  /**
   * Place: an order that took the place of its own, whose end is `replaced`: amended by another
   * program than ours. It belongs to the command. Found again, too.
   */
  | { readonly kind: 'successor'; readonly orderId: string; readonly evidence: Fact }
  /**
   * Place: another order than the one as which it was applied carries one of its ids too. Alarm;
   * the verdict stays. Found again as long as it is so.
   */
  | { readonly kind: 'second_order'; readonly orderId: string; readonly evidence: Fact }
  | { readonly kind: 'nothing' };

export const nothing: Finding = Object.freeze({ kind: 'nothing' });
