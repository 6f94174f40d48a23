import type { Command, Evidence, Reason } from './command.ts';
import type { CommandEvent } from './command-machine.ts';
import type { Order } from './order.ts';

/** An update of an order, as far as verdicts need it, read from the log or from a batch that just committed. */
export interface SettlingUpdate {
  readonly revision: number;
  readonly sourceEpoch: number;
  readonly sourceVersion?: bigint;
  /** `stream`, `snapshot`, `reply`, `probe`, `correction`. */
  readonly cause: string;
  /** When we heard of it, by our wall clock. Absent where only the order as it is stored was read. */
  readonly observedAtMs?: number;
  readonly order: Order;
}

/** An order that carries an attempt's id, with account, symbol and side as ours (`matches`) or not. */
export interface BoundOrder {
  readonly attemptId: string;
  readonly commandId: string;
  readonly orderId: string;
  readonly matches: boolean;
}

/**
 * All that a verdict may be judged on: what went through ingest, and nothing that was not there. There is no place here for an answer that failed or a list that
 * was cut short.
 */
export interface Settling {
  readonly command: Command;
  /** Of the order that was named (replace, cancel) or of bound orders (place), as many as are known, in any order, repeated or not. */
  readonly updates: readonly SettlingUpdate[];
  /** Place: the orders that carry one of its attempt ids. */
  readonly bound?: readonly BoundOrder[];
  /** Replace: what a complete read for a successor of the ended order has shown: none, or the id of an order that took its place. Left out: nobody has looked. */
  readonly successor?: { readonly orderId?: string };
  /** Cancel: another cancel of the order may have been out at the same time. */
  readonly rivals?: boolean;
}

/** One fact for the evidence ledger; the journal numbers and dates it. */
export type Fact = Omit<Evidence, 'number' | 'atMs'>;

/**
 * Why a verdict is what it is; also the code of its evidence.
 *
 * - place: `landed`, `venue_refused`, `other_identity`.
 * - replace: `terms_working`, `ended`, `successor`, `venue_refused`, `reason_recorded`, `nothing_to_tell_by`, `other_terms`.
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
  /** `accepted`: of a place alone, whose order is there and awaits the venue. */
  readonly outcome: 'accepted' | 'applied' | 'rejected' | 'moot' | 'conflict';
  /** What to ask `commandTransition`. */
  readonly event: CommandEvent;
  readonly because: Because;
  readonly orderId: string;
  /** Why the venue refused, or what contradicts what. */
  readonly reason?: Reason;
  /** Place: submitted terms in which the order differs from what was asked for. It is ours all the same; a person should know. */
  readonly differs?: readonly string[];
  readonly evidence: Fact;
}

export type Finding =
  | Verdict
  /** The platform has it in hand, first seen there at this revision. No verdict; told once (`Command.seenPendingAt`). */
  | { readonly kind: 'reached'; readonly at: NonNullable<Command['seenPendingAt']>; readonly evidence: Fact }
  /** Replace: the order ended otherwise. `moot`, once a complete read has looked for an order that took its place. */
  | { readonly kind: 'look_for_successor'; readonly orderId: string; readonly reference?: string }
  /** The platform lost its store: versions began anew, and nothing after the baseline can be compared with it. Stays as it is, and a person has to look. */
  | { readonly kind: 'flagged'; readonly because: 'source_epoch_changed'; readonly evidence: Fact }
  /** Place: another order than the one it was applied as carries one of its ids too. Alarm; the verdict stays. Told as long as it is so. */
  | { readonly kind: 'second_order'; readonly orderId: string; readonly evidence: Fact }
  | { readonly kind: 'nothing' };

export const nothing: Finding = Object.freeze({ kind: 'nothing' });
