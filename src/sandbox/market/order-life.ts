import type { Ambient } from '../../observability/ambient.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { buys, type ExchangeOrder, workingTermsOf } from '../exchange/exchange-order.ts';
import {
  acceptOrder,
  acceptPending,
  askVenue,
  cancelOrder,
  expireOrder,
  fillOrder,
  loseSight,
  refusePending,
  regainSight,
  rejectOrder,
  replaceOrder,
  restOrder,
  resumeOrder,
  triggerOrder,
} from '../exchange/venue-steps.ts';
import { type Fixed, whole } from '../exchange/wire-text.ts';
import { isTouched } from '../venue/match-order.ts';
import { below, happens, oneOf } from './instruments.ts';
import {
  isDue,
  isFillOrKill,
  isImmediateOrCancel,
  isStop,
  mayExpire,
  priceOf,
  type TermsInventor,
} from './invent-terms.ts';

interface OrderLifeDeps extends Pick<Ambient, 'clock' | 'random'> {
  readonly exchange: Exchange;
  readonly inventor: TermsInventor;
  readonly nextVenueOrderId: () => string;
  /** Takes the order that goes on for another into the market's hands. */
  readonly adopt: (order: ExchangeOrder) => void;
  /** After so many granted replaces another order goes on; a share. */
  readonly successorShare: number;
}

const rejections = [
  ['INSUFFICIENT_FUNDS', 'Order value exceeds buying power by 1,204.50'],
  ['MARKET_CLOSED', 'Venue session is closed for this contract'],
  ['PRICE_BAND', 'Limit price is outside of the daily band'],
] as const;

const fillShare = 0.75;
/**
 * A share of the fills. With it an order has 5.9 changes on average, though fok ends with its first
 * fill and ioc soon after: the benchmarks' load.
 */
const wholeShare = 0.14;

/** A market order's next event: drawn, within the limits set by its type and its time in force. */
export class OrderLife {
  private readonly deps: OrderLifeDeps;

  constructor(deps: OrderLifeDeps) {
    this.deps = deps;
  }

  /**
   * One change in the order, two if another goes on for it. False when it waits for its stop, and
   * nothing was changed.
   */
  advance(order: ExchangeOrder): boolean {
    const { exchange, random, clock } = this.deps;
    const draw = trades(order) ? random.next() : undefined;
    const due = draw !== undefined && isDue(order, clock);
    if (!due && draw !== undefined && draw < fillShare && isStop(order) && !this.touches(order)) return false;
    // Versions may have gaps: "every change raises version by one or more".
    if (order.terms.stream === 'prediction' && happens(random, 0.1)) order.version += BigInt(below(random, 5));
    if (due) expireOrder(exchange, order);
    else if (draw !== undefined) this.trade(order, draw);
    else if (order.certainty !== 'certain') regainSight(exchange, order);
    else if (order.state === 'pending_new') this.firstAnswer(order);
    else if (order.pendingAction !== 'none') this.answerPending(order);
    else this.nextSession(order);
    return true;
  }

  private firstAnswer(order: ExchangeOrder): void {
    const { exchange, random, nextVenueOrderId } = this.deps;
    const draw = random.next();
    const [reason, text] = oneOf(random, rejections);
    if (draw < 0.03) rejectOrder(exchange, order, reason, text);
    else if (draw < 0.04 && order.terms.stream === 'prediction')
      loseSight(exchange, order, 'unknown_unacked', 'No acknowledgement from the venue yet');
    else acceptOrder(exchange, order, nextVenueOrderId());
  }

  private answerPending(order: ExchangeOrder): void {
    const { exchange, random } = this.deps;
    const [reason, text] = oneOf(random, rejections);
    if (happens(random, 0.2)) refusePending(exchange, order, reason, text);
    else if (
      order.pendingAction === 'replace' &&
      order.terms.stream === 'account' &&
      happens(random, this.deps.successorShare)
    )
      this.succeed(order);
    else acceptPending(exchange, order);
  }

  /** The venue closes an account order as replaced and goes on with its rest under another id. */
  private succeed(order: ExchangeOrder): void {
    const { exchange, inventor, nextVenueOrderId, adopt, successorShare } = this.deps;
    const price = order.asked?.price ?? order.workingPrice;
    const left = order.workingQuantity - order.cumQty;
    const invent = () => inventor.invent('account', order.terms.account, order.updatedAt);
    // Named before it is needed only if a venue shows it: kept seeds draw it after the change.
    const named = successorShare === 1 ? invent() : undefined;
    replaceOrder(exchange, order, named && exchange.idOf(named.orderId));
    const fresh = named ?? invent();
    const { orderId: replaces } = order.terms;
    const { orderId, clOrdId } = fresh;
    const terms = { ...order.terms, orderId, clOrdId, quantity: left, price: price ?? order.terms.price, replaces };
    const successor = exchange.open(terms, 'succeeded', (it) => {
      it.state = 'new';
      it.venueOrderId = nextVenueOrderId();
      // A touched stop stays so.
      it.workingOrderType = order.workingOrderType;
    });
    adopt(successor);
  }

  private nextSession(order: ExchangeOrder): void {
    const { exchange, random, clock } = this.deps;
    if (happens(random, 0.1) && mayExpire(order, clock)) expireOrder(exchange, order);
    else resumeOrder(exchange, order);
  }

  private trade(order: ExchangeOrder, draw: number): void {
    const { exchange, clock } = this.deps;
    const immediate = isImmediateOrCancel(order) || isFillOrKill(order);
    if (isImmediateOrCancel(order) && order.cumQty > 0n) cancelOrder(exchange, order);
    else if (draw < fillShare && isStop(order)) triggerOrder(exchange, order);
    else if (draw < fillShare) this.fill(order);
    else if (draw < 0.84) askVenue(exchange, order, 'cancel');
    else if (draw < 0.93) this.askReplace(order);
    else if (draw < 0.95 || immediate) cancelOrder(exchange, order);
    else if (draw < 0.98) (mayExpire(order, clock) ? expireOrder : cancelOrder)(exchange, order);
    else restOrder(exchange, order, order.terms.stream === 'account' && draw < 0.99 ? 'suspended' : 'done_for_day');
  }

  private fill(order: ExchangeOrder): void {
    const left = order.workingQuantity - order.cumQty;
    const all = isFillOrKill(order) || happens(this.deps.random, wholeShare) || left <= whole(1);
    fillOrder(this.deps.exchange, order, all ? left : this.part(left), this.fillPrice(order));
  }

  private part(left: Fixed): Fixed {
    const units = Number(left / whole(1));
    return whole(1 + below(this.deps.random, Math.max(1, Math.floor(units / 3))));
  }

  /** The market goes one step and does, or does not, touch the stop. */
  private touches(order: ExchangeOrder): boolean {
    return isTouched({ buys: buys(order), stop: workingTermsOf(order).stopPrice }, this.walk(order));
  }

  /** The market's price one step on, at the limit or better. */
  private fillPrice(order: ExchangeOrder): Fixed {
    const market = this.walk(order);
    const limit = order.workingPrice;
    if (limit === undefined) return market;
    if (buys(order)) return market < limit ? market : limit;
    return market > limit ? market : limit;
  }

  /** One step in the random walk of the order's instrument; the price after it. */
  private walk(order: ExchangeOrder): Fixed {
    const { inventor, random } = this.deps;
    const { stream, symbol } = order.terms;
    const instrument =
      inventor.instrument(stream, symbol) ?? inventor[stream === 'account' ? 'equities' : 'predictions'][0];
    const ceiling = stream === 'account' ? 1_000_000 : 99;
    const ticks = Math.min(ceiling, Math.max(1, (instrument?.ticks ?? 50) + below(random, 3) - 1));
    if (instrument !== undefined) instrument.ticks = ticks;
    return priceOf(ticks);
  }

  private askReplace(order: ExchangeOrder): void {
    const { exchange, random } = this.deps;
    const quantity = order.workingQuantity + whole(1 + below(random, 50));
    const price = order.workingPrice === undefined ? undefined : this.fillPrice(order);
    const keepsPrice = price !== undefined && happens(random, 0.3);
    askVenue(exchange, order, 'replace', { quantity, price: keepsPrice ? undefined : price });
  }
}

/** It works at the venue, and the venue owes it no answer. */
function trades(order: ExchangeOrder): boolean {
  return (
    order.certainty === 'certain' &&
    order.pendingAction === 'none' &&
    (order.state === 'new' || order.state === 'partially_filled')
  );
}
