import type { certainties, predictionStates } from '../../venue/platform/wire/prediction-order.ts';
import type { StreamTopic } from '../../venue/platform/wire/stream-messages.ts';
import type { Fixed, Micros, Notional } from './wire-text.ts';

/** One trading account. Its orders are with the `Exchange`. */
export interface ExchangeAccount {
  readonly id: string;
  /** The user who owns it. */
  readonly owner: string;
  /** The market makes orders here. False for accounts that exist only as another user's. */
  readonly traded: boolean;
  /** Enrolled in the closed beta for prediction orders. */
  predictions: boolean;
  /** As the accounts list shows it: `OPEN`, or another word once it is closed. */
  status: string;
  /** It has left the accounts list. */
  unlisted?: boolean | undefined;
  /** At Alpaca: which of its key pairs is good. Left out: the first. */
  keyNumber?: number | undefined;
}

export type Stream = StreamTopic;

/**
 * One vocabulary for both kinds of order. Only account orders are `suspended` or `replaced`, only
 * prediction orders `unknown`.
 */
export type OrderState = (typeof predictionStates)[number] | 'suspended' | 'replaced';

export type Certainty = (typeof certainties)[number];

const closedStates: ReadonlySet<OrderState> = new Set(['filled', 'canceled', 'rejected', 'expired', 'replaced']);

/**
 * `done_for_day`, `suspended` and `unknown` count as open
 * (docs/platform-assumptions.md, "Prediction orders").
 */
export function isClosed(state: OrderState): boolean {
  return closedStates.has(state);
}

/**
 * Terms that an amend asked for, without the venue's answer yet. Absent: the working value stays.
 */
export interface AskedTerms {
  /** Another order goes on in its place. Absent: the order itself is amended. */
  readonly successor?: string;
  readonly quantity?: Fixed | undefined;
  readonly price?: Fixed | undefined;
  readonly stopPrice?: Fixed | undefined;
  /** In its own stream's words. */
  readonly timeInForce?: string | undefined;
  readonly expireAt?: Micros | undefined;
}

export interface Leg {
  readonly symbol: string;
  readonly side: string;
  readonly ratioQty: string;
  readonly positionEffect: 'OPEN' | 'CLOSE';
}

/** Several orders, placed as one. */
interface OrderGroup {
  readonly kind: 'bracket' | 'oco' | 'oto';
  /** `clOrdId` for the order above it; undefined for the one on top. */
  readonly parent: string | undefined;
  /** Each one's `clOrdId`, this order's among them. One array for one group. */
  readonly members: readonly string[];
}

/** An order's fields that never change. Texts are canonical decimals. */
export interface OrderTerms {
  readonly stream: Stream;
  readonly orderId: string;
  readonly account: ExchangeAccount;
  readonly symbol: string;
  /** Prediction orders only: `YES` or `NO`. */
  readonly outcome?: string;
  /**
   * Option orders only: one leg, or two to four. The account stream does not show them
   * (specification, "Events").
   */
  readonly legs?: readonly Leg[] | undefined;
  readonly side: string;
  /** In its own stream's words: `LIMIT` or `limit`. */
  readonly orderType: string;
  /** In its own stream's words: `DAY` or `day`. */
  readonly timeInForce: string;
  readonly quantity: Fixed;
  readonly price?: Fixed | undefined;
  readonly stopPrice?: Fixed | undefined;
  readonly expireAt?: Micros | undefined;
  /**
   * An account order's `clOrdId`, or the client order id that went to the venue for a prediction
   * order.
   */
  readonly clOrdId: string;
  readonly clientOrderRef?: string | undefined;
  readonly placedBy?: string;
  /** Prediction orders: the first version. */
  readonly version?: bigint;
  /** It goes on in this order's place. The platform does not show it. */
  readonly replaces?: string;
  /** Alpaca's orders for an amount: `quantity` is how much it buys at the present price. */
  readonly notional?: Fixed | undefined;
  /** Alpaca's orders with exits. */
  readonly group?: OrderGroup;
  /** Alpaca's orders for all hours. Here every order trades at any hour. */
  readonly extendedHours?: boolean;
}

/**
 * One order's present truth, changed in place by `Exchange.change` alone. Every field is always
 * there, in this order: a million of them share one hidden class, and the hot path stays
 * monomorphic.
 */
export interface ExchangeOrder {
  readonly terms: OrderTerms;
  readonly createdAt: Micros;
  state: OrderState;
  pendingAction: 'none' | 'replace' | 'cancel';
  asked: AskedTerms | undefined;
  /** Terms changed by amends and without a working field on the wire; undefined until one did. */
  amended: WorkingTerms | undefined;
  workingQuantity: Fixed;
  workingPrice: Fixed | undefined;
  workingOrderType: string;
  cumQty: Fixed;
  notional: Notional;
  /** Its last fill. */
  lastQuantity: Fixed;
  lastPrice: Fixed;
  version: bigint;
  certainty: Certainty;
  certaintyReason: string | undefined;
  /** The order's state before it became uncertain. It returns to it. */
  certainState: OrderState;
  rejectReason: string | undefined;
  rejectText: string | undefined;
  venueOrderId: string | undefined;
  updatedAt: Micros;
  sentAt: Micros | undefined;
  firstAckAt: Micros | undefined;
  closedAt: Micros | undefined;
  /** This order went on in its place. */
  replacedBy: string | undefined;
  /** Its place in the account's list, oldest change first. */
  entry: ChangeEntry | undefined;
  /** Its place among the market's working orders, -1 when the market leaves it alone. */
  marketSlot: number;
}

/** One change in one order, at its place in the account's list. */
export interface ChangeEntry {
  readonly order: ExchangeOrder;
  /** Its instant. No other change in the exchange shares it, so it is also its number. */
  readonly at: Micros;
  readonly wasClosed: boolean;
  /** The instant of the same order's next change; infinite while this is its newest. */
  supersededAt: Micros;
  /** The row as it stood then, kept only while lists may lag. */
  row: string | undefined;
  /** The entry before it, kept only while lists may lag. */
  previous: ChangeEntry | undefined;
}

/** The terms that the wire shows only as submitted. */
export interface WorkingTerms {
  readonly stopPrice: Fixed | undefined;
  readonly timeInForce: string;
  readonly expireAt: Micros | undefined;
}

/** The venue's present terms, amends included. */
export function workingTermsOf(order: ExchangeOrder): WorkingTerms {
  const { stopPrice, timeInForce, expireAt } = order.terms;
  return order.amended ?? { stopPrice, timeInForce, expireAt };
}

export function buys({ terms }: ExchangeOrder): boolean {
  return terms.side.toLowerCase().startsWith('buy');
}

/** The quantity still working at the venue. Zero once closed. */
export function leavesOf(order: ExchangeOrder): Fixed {
  return isClosed(order.state) || order.workingQuantity <= order.cumQty ? 0n : order.workingQuantity - order.cumQty;
}
