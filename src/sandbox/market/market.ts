import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ExchangeAccount } from '../exchange/exchange-account.ts';
import { type ExchangeOrder, isClosed, type Stream } from '../exchange/exchange-order.ts';
import { type Fixed, whole } from '../exchange/fixed.ts';
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
  restOrder,
  resumeOrder,
} from '../exchange/venue-steps.ts';
import { below, happens, oneOf } from './draw.ts';
import { priceOf, TermsInventor } from './invent-terms.ts';

export interface MarketOptions {
  /** Orders that the market keeps working at a time. */
  readonly openOrders: number;
  /** The share of prediction orders among them, 0 to 1. */
  readonly predictionShare: number;
}

const rejections = [
  ['INSUFFICIENT_FUNDS', 'Order value exceeds buying power by 1,204.50'],
  ['MARKET_CLOSED', 'Venue session is closed for this contract'],
  ['PRICE_BAND', 'Limit price is outside of the daily band'],
] as const;

/**
 * Makes orders live: opens them, and moves a random one by one step of its life at each call. Everything is drawn from one seed, so the same number of
 * steps gives the same orders in the same states; only instants come from the clock.
 *
 * Invariant: `working` holds the orders that the market moves, each at its `marketSlot`; a closed one leaves at once and another opens in its place.
 */
export class Market {
  readonly inventor: TermsInventor;
  private readonly working: ExchangeOrder[] = [];
  private openOrders: number;
  private readonly exchange: Exchange;
  private readonly random: Random;
  private readonly clock: Clock;
  private readonly options: MarketOptions;
  private venueOrders = 0;
  private stepCount = 0;

  constructor(deps: { exchange: Exchange; random: Random; clock: Clock }, options: MarketOptions) {
    this.exchange = deps.exchange;
    this.random = deps.random;
    this.clock = deps.clock;
    this.options = options;
    this.openOrders = options.openOrders;
    this.inventor = new TermsInventor(deps.random);
  }

  get workingCount(): number {
    return this.working.length;
  }

  /** Steps made since the start. */
  get steps(): number {
    return this.stepCount;
  }

  /** Takes an order into its hands: from now on the market moves it. */
  adopt(order: ExchangeOrder): void {
    order.marketSlot = this.working.length;
    this.working.push(order);
  }

  /** Leaves an order to whoever asked for it. */
  release(order: ExchangeOrder): void {
    const slot = order.marketSlot;
    if (slot < 0) return;
    const last = this.working.pop() as ExchangeOrder;
    if (last !== order) {
      this.working[slot] = last;
      last.marketSlot = slot;
    }
    order.marketSlot = -1;
  }

  setOpenOrders(count: number): void {
    this.openOrders = count;
  }

  /** An account and stream that the market trades, or undefined when there is none. */
  drawPlace(): { stream: Stream; account: ExchangeAccount } | undefined {
    const stream: Stream = happens(this.random, this.options.predictionShare) ? 'prediction' : 'account';
    return this.placeOf(stream) ?? this.placeOf(stream === 'account' ? 'prediction' : 'account');
  }

  private readonly places = new Map<Stream, ExchangeAccount[]>();

  private placeOf(stream: Stream): { stream: Stream; account: ExchangeAccount } | undefined {
    let accounts = this.places.get(stream);
    if (accounts === undefined) {
      accounts = [...this.exchange.accounts.values()].filter((it) => it.traded && (stream === 'account' || it.predictions));
      this.places.set(stream, accounts);
    }
    return accounts.length === 0 ? undefined : { stream, account: oneOf(this.random, accounts) };
  }

  /** Accounts were added or changed: draw from the present ones. */
  forgetPlaces(): void {
    this.places.clear();
  }

  /** One change (two where an order is replaced by another). False when there was nothing to do. */
  step(): boolean {
    this.stepCount += 1;
    if (this.working.length < this.openOrders) return this.openOne();
    for (let attempt = 0; attempt < 8; attempt += 1) {
      if (this.working.length === 0) return false;
      const order = oneOf(this.random, this.working);
      // Somebody else closed it, or made it uncertain by a fault: not ours to move.
      if (isClosed(order.state)) this.release(order);
      else if (order.certainty === 'certain' || order.certainty === 'unknown_unacked') {
        this.advance(order);
        if (isClosed(order.state)) this.release(order);
        return true;
      }
    }
    return false;
  }

  nextVenueOrderId(): string {
    this.venueOrders += 1;
    return `V${this.venueOrders.toString(36).toUpperCase().padStart(8, '0')}`;
  }

  private openOne(): boolean {
    const place = this.drawPlace();
    if (place === undefined) return false;
    const terms = this.inventor.invent(place.stream, place.account, this.clock.nowMs() * 1000);
    this.adopt(this.exchange.open(terms, 'opened'));
    return true;
  }

  private advance(order: ExchangeOrder): void {
    // Versions may have gaps: "every change raises version by one or more".
    if (order.terms.stream === 'prediction' && happens(this.random, 0.1)) order.version += BigInt(below(this.random, 5));
    if (order.certainty !== 'certain') regainSight(this.exchange, order);
    else if (order.state === 'pending_new') this.firstAnswer(order);
    else if (order.pendingAction !== 'none') this.answerPending(order);
    else if (order.state === 'done_for_day' || order.state === 'suspended') this.nextSession(order);
    else this.trade(order);
  }

  private firstAnswer(order: ExchangeOrder): void {
    const draw = this.random.next();
    const [reason, text] = oneOf(this.random, rejections);
    if (draw < 0.03) rejectOrder(this.exchange, order, reason, text);
    else if (draw < 0.04 && order.terms.stream === 'prediction')
      loseSight(this.exchange, order, 'unknown_unacked', 'No acknowledgement from the venue yet');
    else acceptOrder(this.exchange, order, this.nextVenueOrderId());
  }

  private answerPending(order: ExchangeOrder): void {
    const [reason, text] = oneOf(this.random, rejections);
    if (happens(this.random, 0.2)) refusePending(this.exchange, order, reason, text);
    else if (order.pendingAction === 'replace' && order.terms.stream === 'account' && happens(this.random, 0.4))
      this.succeed(order);
    else acceptPending(this.exchange, order);
  }

  /** The venue closes an account order as replaced and goes on with what is left of it under another id. */
  private succeed(order: ExchangeOrder): void {
    const price = order.asked?.price ?? order.workingPrice;
    const left = order.workingQuantity - order.cumQty;
    this.exchange.change(order, 'replaced', (it) => {
      it.state = 'replaced';
    });
    const fresh = this.inventor.invent('account', order.terms.account, order.updatedAt);
    const terms = { ...order.terms, orderId: fresh.orderId, clOrdId: fresh.clOrdId, quantity: left };
    const successor = this.exchange.open(price === undefined ? terms : { ...terms, price }, 'succeeded', (it) => {
      it.state = 'new';
      it.venueOrderId = this.nextVenueOrderId();
    });
    this.adopt(successor);
  }

  private nextSession(order: ExchangeOrder): void {
    if (happens(this.random, 0.1)) expireOrder(this.exchange, order);
    else resumeOrder(this.exchange, order);
  }

  private trade(order: ExchangeOrder): void {
    const draw = this.random.next();
    // Prediction orders show that they were triggered; account orders show only what follows.
    if (order.workingOrderType.startsWith('stop')) this.trigger(order);
    else if (draw < 0.75) this.fill(order);
    else if (draw < 0.84) askVenue(this.exchange, order, 'cancel');
    else if (draw < 0.93) this.askReplace(order);
    else if (draw < 0.95) cancelOrder(this.exchange, order);
    else if (draw < 0.98) expireOrder(this.exchange, order);
    else restOrder(this.exchange, order, order.terms.stream === 'account' && draw < 0.99 ? 'suspended' : 'done_for_day');
  }

  private trigger(order: ExchangeOrder): void {
    this.exchange.change(order, 'triggered', (it) => {
      it.workingOrderType = it.workingOrderType === 'stop' ? 'market' : 'limit';
    });
  }

  private fill(order: ExchangeOrder): void {
    const left = order.workingQuantity - order.cumQty;
    const all = happens(this.random, 0.25) || left <= whole(1);
    fillOrder(this.exchange, order, all ? left : this.part(left), this.price(order));
  }

  private part(left: Fixed): Fixed {
    const units = Number(left / whole(1));
    return whole(1 + below(this.random, Math.max(1, Math.floor(units / 3))));
  }

  private price(order: ExchangeOrder): Fixed {
    const instruments = order.terms.stream === 'account' ? this.inventor.equities : this.inventor.predictions;
    const instrument = instruments.find((it) => it.symbol === order.terms.symbol) ?? instruments[0];
    const ceiling = order.terms.stream === 'account' ? 1_000_000 : 99;
    const ticks = Math.min(ceiling, Math.max(1, (instrument?.ticks ?? 50) + below(this.random, 3) - 1));
    if (instrument !== undefined) instrument.ticks = ticks;
    const limit = order.workingPrice;
    if (limit === undefined) return priceOf(ticks);
    const buys = order.terms.side.toLowerCase().startsWith('buy');
    const market = priceOf(ticks);
    return buys ? (market < limit ? market : limit) : market > limit ? market : limit;
  }

  private askReplace(order: ExchangeOrder): void {
    const quantity = order.workingQuantity + whole(1 + below(this.random, 50));
    const price = order.workingPrice === undefined ? undefined : this.price(order);
    askVenue(
      this.exchange,
      order,
      'replace',
      price === undefined || happens(this.random, 0.3) ? { quantity } : { quantity, price },
    );
  }
}
