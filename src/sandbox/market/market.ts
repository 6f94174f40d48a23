import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type ExchangeAccount, type ExchangeOrder, isClosed, type Stream } from '../exchange/exchange-order.ts';
import { askVenue } from '../exchange/venue-steps.ts';
import type { Fixed } from '../exchange/wire-text.ts';
import { happens, oneOf } from './instruments.ts';
import { priceOf, TermsInventor } from './invent-terms.ts';
import { OrderLife } from './order-life.ts';

export interface MarketOptions {
  /** The number of orders that the market keeps working at a time. */
  readonly openOrders: number;
  /** Prediction orders' share among them, 0 to 1. */
  readonly predictionShare: number;
  /** So many replaced account orders end, and go on as another one; a share. */
  readonly successorShare?: number;
  /** The most legs of one order. */
  readonly maxLegs?: number;
}

/** One step looks at this many orders before it gives up on finding one that moves. */
const attempts = 8;

/**
 * Makes orders live: opens them, and moves a random one by one step in its life at each call.
 * Everything is drawn from one seed, so the same number of steps gives the same orders in the same
 * states. Only instants come from the clock, and which gtd orders are due: none in the first day.
 *
 * Invariant: `working` holds the orders that the market moves, each at its `marketSlot`; a closed
 * one leaves at once and another opens in its place.
 */
export class Market {
  readonly inventor: TermsInventor;
  private readonly working: ExchangeOrder[] = [];
  private readonly life: OrderLife;
  private readonly exchange: Exchange;
  private readonly random: Random;
  private readonly clock: Clock;
  private readonly options: MarketOptions;
  private venueOrders = 0;
  /** Made since the start. */
  steps = 0;

  constructor(deps: { exchange: Exchange; random: Random; clock: Clock }, options: MarketOptions) {
    this.exchange = deps.exchange;
    this.random = deps.random;
    this.clock = deps.clock;
    this.options = options;
    this.inventor = new TermsInventor(deps.random, options.maxLegs);
    this.life = new OrderLife({
      ...deps,
      inventor: this.inventor,
      nextVenueOrderId: () => this.nextVenueOrderId(),
      adopt: (order) => this.adopt(order),
      successorShare: options.successorShare ?? 0.4,
    });
  }

  get workingCount(): number {
    return this.working.length;
  }

  /** Takes an order into its hands: from now on the market moves it. */
  adopt(order: ExchangeOrder): void {
    order.marketSlot = this.working.length;
    this.working.push(order);
  }

  /** Leaves an order to the caller that asked for it. */
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

  /** An account and stream that the market trades, or undefined when there is none. */
  drawPlace(): { stream: Stream; account: ExchangeAccount } | undefined {
    const stream: Stream = happens(this.random, this.options.predictionShare) ? 'prediction' : 'account';
    return this.placeOf(stream) ?? this.placeOf(stream === 'account' ? 'prediction' : 'account');
  }

  private readonly places = new Map<Stream, ExchangeAccount[]>();

  private placeOf(stream: Stream): { stream: Stream; account: ExchangeAccount } | undefined {
    let accounts = this.places.get(stream);
    if (accounts === undefined) {
      accounts = [...this.exchange.accounts.values()].filter(
        (it) => it.traded && it.status === 'OPEN' && (stream === 'account' || it.predictions),
      );
      this.places.set(stream, accounts);
    }
    return accounts.length === 0 ? undefined : { stream, account: oneOf(this.random, accounts) };
  }

  /** Accounts were added or changed: draw from the present ones. */
  forgetPlaces(): void {
    this.places.clear();
  }

  /** One change (two if an order is replaced by another). False when there was nothing to do. */
  step(): boolean {
    this.steps += 1;
    if (this.working.length < this.options.openOrders) return this.openOne();
    let waiting: ExchangeOrder | undefined;
    for (let attempt = 0; attempt < attempts && this.working.length > 0; attempt += 1) {
      const order = oneOf(this.random, this.working);
      // It was closed from outside, or made uncertain by a fault: the market does not move it.
      if (isClosed(order.state)) this.release(order);
      else if (order.certainty === 'certain' || order.certainty === 'unknown_unacked') {
        waiting = order;
        if (!this.life.advance(order)) continue;
        if (isClosed(order.state)) this.release(order);
        return true;
      }
    }
    if (waiting === undefined) return false;
    // Only waiting stops are left: one owner gives up. A market that stands still would keep no
    // rate.
    askVenue(this.exchange, waiting, 'cancel');
    return true;
  }

  /** The price of the order's instrument now; for an option its underlying's, as in `OrderLife`. */
  priceOf({ terms: { stream, symbol } }: ExchangeOrder): Fixed {
    const instrument = this.inventor.instrument(stream, symbol);
    if (instrument === undefined) throw new Error(`the market does not trade ${symbol}`);
    return priceOf(instrument.ticks);
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
}
