import { z } from 'zod';
import type { Ambient } from '../../observability/ambient.ts';
import type { Timer } from '../../runtime/clock.ts';
import { decimalAboveZero, probability, wholeNumber } from '../bounded.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type AskedTerms, type ExchangeOrder, isClosed, workingTermsOf } from '../exchange/exchange-order.ts';
import {
  acceptOrder,
  acceptPending,
  askVenue,
  expireOrder,
  isTooLate,
  refusePending,
  rejectOrder,
} from '../exchange/venue-steps.ts';
import { type Fixed, parseFixed } from '../exchange/wire-text.ts';
import { happens, type Instrument } from '../market/instruments.ts';
import { expiryMs } from './match-order.ts';
import type { MatchingEngine } from './matching-engine.ts';

const fields = {
  /**
   * Milliseconds until the venue answers a new order, an amend or a cancel; `manual`: only when the
   * control port says so.
   */
  answerMs: z.union([wholeNumber(0, 600_000), z.literal('manual')]),
  /** The venue refuses this share of new orders, amends and cancels. */
  refuseShare: probability,
  /** Units on offer in one print, on average: smaller prints fill orders in more parts. */
  depth: wholeNumber(0, 1_000_000_000),
  /**
   * The most prediction orders that may wait for the venue at a time; beyond it order entry is at
   * capacity.
   */
  capacity: wholeNumber(0, 10_000_000),
  /** Whether the session with the venue is up. */
  session: z.enum(['up', 'down']),
  /** The largest worth for one order, as a decimal string. */
  orderLimit: decimalAboveZero,
} as const;

/** A scenario's `venue`. */
export const venueOptions = z
  .strictObject({
    answerMs: fields.answerMs.default(20),
    refuseShare: fields.refuseShare.default(0),
    depth: fields.depth.default(500),
    capacity: fields.capacity.default(1000),
    session: fields.session.default('up'),
    orderLimit: fields.orderLimit.default('1000000000'),
  })
  .prefault({});

/** Body of `POST /venue`: a field left out stays. */
export const venueChange = z.strictObject(fields).partial();

export type VenueOptions = z.output<typeof venueOptions>;
export type VenueChange = z.output<typeof venueChange>;

/** Quantity times price against the limit. */
export function exceedsLimit(options: VenueOptions, quantity: Fixed, price: Fixed): boolean {
  return quantity * price > (parseFixed(options.orderLimit) ?? 0n) * 10n ** 12n;
}

interface VenueDeps extends Pick<Ambient, 'clock' | 'random'> {
  readonly exchange: Exchange;
  readonly engine: MatchingEngine;
  readonly nextVenueOrderId: () => string;
  /** Records the changes made inside as the venue's, in the ledger. */
  readonly during: (work: () => void) => void;
  /** Account orders are acknowledged after `answerMs` too, and not at once. */
  readonly answersEveryOrder?: boolean | undefined;
}

/** Orders that wait for quantity alone are served again after this. */
const refillMs = 25;
/** An order out of sight is looked at again after this. */
const retryMs = 50;
/** The longest wait of a platform timer. */
const longestTimerMs = 2_000_000_000;

/**
 * The venue's side for people's orders. It answers new orders, amends and cancels after a while,
 * lets accepted ones trade, and ends those that are past their day or time.
 *
 * An order's states here: *waiting* (a new order, an amend or a cancel is unanswered) ⇄ *working* →
 * closed. Invariant: each ask is answered at most once, by the venue or the control port, whichever
 * comes first; a closed order has no timer here; an order out of sight is neither answered nor
 * ended. A successor is answered with its replace, and with nothing else.
 */
export class Venue {
  options: VenueOptions;
  private readonly waiting = new Set<ExchangeOrder>();
  private readonly expiries = new Map<ExchangeOrder, Timer>();
  private readonly scripted = new WeakSet<ExchangeOrder>();
  private readonly answers = new Set<Timer>();
  /** By the order that they are to replace. */
  private readonly successors = new Map<ExchangeOrder, ExchangeOrder>();
  private refill: Timer | undefined;
  private paused = false;
  private readonly deps: VenueDeps;

  constructor(deps: VenueDeps, options: VenueOptions) {
    this.deps = deps;
    this.options = options;
  }

  /** Prediction orders that still wait for its answer. */
  get waitingCount(): number {
    return this.waiting.size;
  }

  set(change: VenueChange): void {
    const given = Object.entries(change).filter(([, value]) => value !== undefined);
    this.options = Object.freeze({ ...this.options, ...(Object.fromEntries(given) as Partial<VenueOptions>) });
    this.deps.engine.depth = this.options.depth;
  }

  /**
   * A new order arrived. Account orders are acknowledged at once, prediction orders later
   * (docs/platform-assumptions.md: 202, `pending_new`).
   */
  submit(order: ExchangeOrder): void {
    if (this.options.answerMs === 'manual') this.awaitAnswer(order);
    else if (order.terms.stream === 'prediction' || this.deps.answersEveryOrder === true) {
      this.awaitAnswer(order);
      this.later(() => this.answerNew(order));
    } else {
      acceptOrder(this.deps.exchange, order, this.deps.nextVenueOrderId());
      this.later(() => this.begin(order));
    }
  }

  /**
   * An amend or a cancel arrived: the order keeps working on its present terms until it is
   * answered.
   */
  ask(order: ExchangeOrder, action: 'replace' | 'cancel', asked?: AskedTerms): void {
    askVenue(this.deps.exchange, order, action, asked);
    this.awaitAnswer(order);
    this.later(() => this.answerPending(order, action, order.asked));
  }

  /**
   * A replace with a new order arrived: `successor` trades once the venue has ended `order`, and is
   * rejected when it has not. `asked` has the quantity for both together.
   */
  askSuccessor(order: ExchangeOrder, successor: ExchangeOrder, asked: AskedTerms): void {
    this.successors.set(order, successor);
    this.ask(order, 'replace', { ...asked, successor: successor.terms.orderId });
  }

  /**
   * Called after every change in the exchange: an order that needs no answer and no timer any more
   * is forgotten.
   */
  changed(order: ExchangeOrder): void {
    if (this.successors.size > 0) this.decideSuccessor(order);
    if (this.waiting.size > 0 && order.pendingAction === 'none' && order.state !== 'pending_new')
      this.waiting.delete(order);
    if (this.expiries.size === 0 || !isClosed(order.state)) return;
    this.disarmExpiry(order);
  }

  /** The instrument traded: the orders resting in its book may. */
  onPrice(instrument: Instrument): void {
    this.deps.during(() => {
      if (this.deps.engine.print(instrument)) this.armRefill();
    });
  }

  /**
   * The market has stopped, or goes on. While it is stopped, an order that waits for quantity alone
   * is filled no further.
   */
  pause(paused: boolean): void {
    this.paused = paused;
    this.refill?.cancel();
    this.refill = undefined;
    this.armRefill();
  }

  /** A script takes the order over: nothing here moves it any more. */
  release(order: ExchangeOrder): void {
    this.scripted.add(order);
    this.deps.engine.release(order);
    this.disarmExpiry(order);
  }

  /** The platform lost the order for good: it takes no place here any more. */
  forget(order: ExchangeOrder): void {
    this.waiting.delete(order);
    this.successors.delete(order);
    this.release(order);
  }

  /** The day is over, by command and not by the clock: day orders expire. Returns how many. */
  endDay(): number {
    let count = 0;
    for (const order of [...this.expiries.keys()]) {
      if (workingTermsOf(order).timeInForce.toLowerCase() !== 'day' || order.certainty !== 'certain') continue;
      this.deps.during(() => expireOrder(this.deps.exchange, order));
      count += 1;
    }
    return count;
  }

  stop(): void {
    for (const timer of [...this.answers, ...this.expiries.values()]) timer.cancel();
    this.answers.clear();
    this.expiries.clear();
    this.refill?.cancel();
  }

  private answerNew(order: ExchangeOrder): void {
    const { exchange, random, nextVenueOrderId } = this.deps;
    if (order.entry === undefined || isClosed(order.state) || order.certainState !== 'pending_new') return;
    if (order.certainty !== 'certain') this.later(() => this.answerNew(order), retryMs);
    else if (happens(random, this.options.refuseShare))
      rejectOrder(exchange, order, 'VENUE_REFUSED', 'Refused by the venue');
    else {
      acceptOrder(exchange, order, nextVenueOrderId());
      this.begin(order);
    }
  }

  private answerPending(order: ExchangeOrder, action: 'replace' | 'cancel', asked: AskedTerms | undefined): void {
    const { exchange, random } = this.deps;
    if (order.entry === undefined || order.pendingAction !== action || order.asked !== asked) return;
    if (order.certainty !== 'certain' || order.state === 'pending_new') {
      this.later(() => this.answerPending(order, action, asked), retryMs);
      return;
    }
    if (happens(random, this.options.refuseShare))
      refusePending(exchange, order, 'VENUE_REFUSED', 'Refused by the venue');
    else if (asked !== undefined && isTooLate(order, asked))
      refusePending(exchange, order, 'TOO_LATE', 'More was filled meanwhile than the amend would leave');
    else this.grant(order);
  }

  private grant(order: ExchangeOrder): void {
    const { exchange, engine } = this.deps;
    const works = engine.has(order);
    acceptPending(exchange, order);
    if (!works || isClosed(order.state)) return;
    this.begin(order);
  }

  private decideSuccessor(order: ExchangeOrder): void {
    const successor = this.successors.get(order);
    if (successor === undefined || order.pendingAction === 'replace') return;
    this.successors.delete(order);
    if (isClosed(successor.state)) return;
    if (order.state !== 'replaced') {
      rejectOrder(this.deps.exchange, successor, 'REPLACE_REJECTED', `The order to replace is ${order.state}`);
      return;
    }
    acceptOrder(this.deps.exchange, successor, this.deps.nextVenueOrderId(), successor.workingQuantity - order.cumQty);
    this.begin(successor);
  }

  /** It trades from now on. An amended order begins anew: its terms may reach the price now. */
  private begin(order: ExchangeOrder): void {
    if (this.scripted.has(order) || !this.deps.engine.enter(order)) return;
    this.armExpiry(order);
    this.armRefill();
  }

  private disarmExpiry(order: ExchangeOrder): void {
    this.expiries.get(order)?.cancel();
    this.expiries.delete(order);
  }

  private armExpiry(order: ExchangeOrder): void {
    this.disarmExpiry(order);
    const dueMs = isClosed(order.state) ? undefined : expiryMs(order, this.deps.clock.nowMs());
    if (dueMs === undefined) return;
    const waitMs = Math.max(0, Math.min(longestTimerMs, dueMs - this.deps.clock.nowMs()));
    this.expiries.set(
      order,
      this.deps.clock.after(waitMs, () => this.expire(order, dueMs)),
    );
  }

  private expire(order: ExchangeOrder, dueMs: number): void {
    if (isClosed(order.state)) return;
    if (this.deps.clock.nowMs() < dueMs) this.armExpiry(order);
    else if (order.certainty === 'certain') this.deps.during(() => expireOrder(this.deps.exchange, order));
    else
      this.expiries.set(
        order,
        this.deps.clock.after(retryMs, () => this.expire(order, dueMs)),
      );
  }

  private armRefill(): void {
    if (this.paused) return;
    this.refill ??= this.deps.clock.after(refillMs, () => {
      this.refill = undefined;
      this.deps.during(() => {
        if (this.deps.engine.refill()) this.armRefill();
      });
    });
  }

  private awaitAnswer(order: ExchangeOrder): void {
    if (order.terms.stream === 'prediction') this.waiting.add(order);
  }

  private later(work: () => void, delayMs?: number): void {
    const waitMs = delayMs ?? this.options.answerMs;
    if (waitMs === 'manual') return;
    const timer = this.deps.clock.after(waitMs, () => {
      this.answers.delete(timer);
      this.deps.during(work);
    });
    this.answers.add(timer);
  }
}
