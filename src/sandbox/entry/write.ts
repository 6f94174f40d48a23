import type { Clock, Timer } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import { type PredictionErrorCode, predictionErrors } from '../../venue/platform/wire/error-bodies.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ExchangeAccount, ExchangeOrder, Stream } from '../exchange/exchange-order.ts';
import type { Instrument } from '../market/instruments.ts';
import type { Venue } from '../venue/venue.ts';

/**
 * Why a write is not done. `flat` and `nested` are the general error bodies, `prediction` the
 * envelope (specification, "Errors"); `alpaca` has a number and a sentence.
 */
export interface Refusal {
  readonly refused: true;
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly shape: 'flat' | 'nested' | 'prediction' | 'alpaca';
}

export type WriteKind = 'place' | 'replace' | 'cancel';

/**
 * A write that order entry understood: its subject, how it is done, and the answer to the caller.
 */
export interface Write {
  readonly kind: WriteKind;
  readonly stream: Stream;
  readonly account: ExchangeAccount;
  /** `clientId` or `clientOrderRef`, when one was sent. */
  readonly reference?: string | undefined;
  /** Who asked, if the order itself does not show it: `placedBy` names only who placed it. */
  readonly by?: string;
  /**
   * Does it, if the present state allows it. A delayed one is judged when it arrives, not when it
   * was asked for.
   */
  attempt(): ExchangeOrder | Refusal;
  /** JSON of the success answer about `order`. */
  readonly answer: { readonly status: number; readonly body: (order: ExchangeOrder) => string };
}

export function isRefusal(result: ExchangeOrder | Refusal): result is Refusal {
  return 'refused' in result;
}

/** `POST /v1/orders` answers validation faults with the flat body. */
export function orderRefusal(code: EntryFault, message: string): Refusal {
  return { refused: true, status: 400, code, message, shape: 'flat' };
}

/** Why a request is not understood. */
export type EntryFault = 'EMPTY_BODY' | 'INVALID_JSON' | 'INVALID_ORDER';

/** Specification, "Prediction order errors". */
export function predictionRefusal(code: PredictionErrorCode, message: string): Refusal {
  return { refused: true, status: predictionErrors[code].status, code, message, shape: 'prediction' };
}

export function nestedRefusal(status: number, code: string, message: string): Refusal {
  return { refused: true, status, code, message, shape: 'nested' };
}

/** Order entry works with these parts. */
export interface EntryDeps {
  readonly exchange: Exchange;
  readonly venue: Venue;
  readonly clock: Clock;
  /** For ids. */
  readonly random: Random;
  readonly lateWrites: LateWrites;
  /** The underlying or the prediction market with that name; undefined when nothing trades it. */
  readonly instrument: (stream: 'account' | 'prediction', symbol: string) => Instrument | undefined;
  /** Records a write's immediate changes as order entry's, in the ledger. */
  readonly during: <T>(work: () => T) => T;
}

export const noSession = 'The session with the venue is down; nothing was sent';
export const noCapacity = 'Order entry is at capacity; nothing was sent';

/**
 * Why prediction order entry takes nothing just now; nothing is sent to the venue then
 * (specification, "Prediction order errors", 503 and 429).
 */
export function entryClosed(venue: Venue): Refusal | undefined {
  if (venue.options.session === 'down') return predictionRefusal('ORDER_ENTRY_UNAVAILABLE', noSession);
  if (venue.waitingCount >= venue.options.capacity) return predictionRefusal('ORDER_ENTRY_AT_CAPACITY', noCapacity);
  return undefined;
}

/**
 * Writes that are done later: their answer has gone out already.
 *
 * A write's states here: on its way → done. Invariant: each is done exactly once: after its delay,
 * or at once when it heals; none after `stop`.
 */
export class LateWrites {
  private readonly underway = new Map<() => void, Timer>();
  private readonly clock: Clock;

  constructor(deps: { clock: Clock }) {
    this.clock = deps.clock;
  }

  add(delayMs: number, work: () => void): void {
    const arrive = () => {
      if (this.underway.delete(arrive)) work();
    };
    this.underway.set(arrive, this.clock.after(delayMs, arrive));
  }

  arriveAll(): void {
    for (const [arrive, timer] of [...this.underway]) {
      timer.cancel();
      arrive();
    }
  }

  stop(): void {
    for (const timer of this.underway.values()) timer.cancel();
    this.underway.clear();
  }
}
