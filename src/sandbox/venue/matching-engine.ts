import type { Random } from '../../runtime/random.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { buys, type ExchangeOrder, isClosed, workingTermsOf } from '../exchange/exchange-order.ts';
import { cancelOrder, fillOrder, triggerOrder } from '../exchange/venue-steps.ts';
import { type Fixed, whole } from '../exchange/wire-text.ts';
import { below, type Instrument } from '../market/instruments.ts';
import { type Matchable, matchOrder, type Print } from './match-order.ts';

interface MatchingDeps {
  readonly exchange: Exchange;
  /**
   * Draws how much a print has to offer: a seed of its own, so that people's orders leave the
   * market's story as it is.
   */
  readonly random: Random;
  readonly instrumentOf: (order: ExchangeOrder) => Instrument | undefined;
  readonly priceOf: (order: ExchangeOrder, instrument: Instrument) => Fixed;
}

/**
 * People's orders, matched against the price walk.
 *
 * An order's states here: resting → gone (filled, ended or released). Invariant: an order is in its
 * instrument's book only while it is open; it trades at its limit or better, never beyond its
 * working quantity; within one print the order that rests longer is served first.
 */
export class MatchingEngine {
  private readonly books = new Map<Instrument, Set<ExchangeOrder>>();
  /** Units on offer in one print, on average. May be changed while it runs. */
  depth: number;
  private readonly deps: MatchingDeps;

  constructor(deps: MatchingDeps, options: { readonly depth: number }) {
    this.deps = deps;
    this.depth = options.depth;
  }

  /**
   * The order begins to work: it meets the present price at once.
   * False when nothing here trades its symbol.
   */
  enter(order: ExchangeOrder): boolean {
    const instrument = this.deps.instrumentOf(order);
    if (instrument === undefined || isClosed(order.state)) return false;
    this.bookOf(instrument).add(order);
    this.meet(order, instrument, { available: this.drawDepth() });
    return true;
  }

  has(order: ExchangeOrder): boolean {
    const instrument = this.deps.instrumentOf(order);
    return instrument !== undefined && (this.books.get(instrument)?.has(order) ?? false);
  }

  release(order: ExchangeOrder): void {
    const instrument = this.deps.instrumentOf(order);
    if (instrument !== undefined) this.books.get(instrument)?.delete(order);
  }

  /**
   * The instrument trades at its present price. True when orders
   * would take more at it than there was.
   */
  print(instrument: Instrument): boolean {
    const book = this.books.get(instrument);
    if (book === undefined || book.size === 0) return false;
    const offer = { available: this.drawDepth() };
    let hungry = false;
    for (const order of [...book]) if (this.meet(order, instrument, offer)) hungry = true;
    return hungry;
  }

  /** Another round for every order that waits for quantity alone. True when some still do. */
  refill(): boolean {
    let hungry = false;
    for (const instrument of this.books.keys()) if (this.print(instrument)) hungry = true;
    return hungry;
  }

  private meet(order: ExchangeOrder, instrument: Instrument, offer: { available: Fixed }): boolean {
    const { exchange } = this.deps;
    const book = this.bookOf(instrument);
    if (isClosed(order.state)) {
      book.delete(order);
      return false;
    }
    // An order does not trade while it waits for its first answer, rests until the next session or
    // is out of sight.
    if (order.state !== 'new' && order.state !== 'partially_filled') return false;
    const print: Print = { price: this.deps.priceOf(order, instrument), available: offer.available };
    const match = matchOrder(matchable(order), print);
    if (match.triggered) triggerOrder(exchange, order);
    if (match.quantity > 0n) {
      fillOrder(exchange, order, match.quantity, print.price);
      offer.available -= match.quantity;
    }
    if (match.ends) cancelOrder(exchange, order);
    if (isClosed(order.state)) book.delete(order);
    return match.hungry && !isClosed(order.state);
  }

  private bookOf(instrument: Instrument): Set<ExchangeOrder> {
    let book = this.books.get(instrument);
    if (book === undefined) {
      book = new Set();
      this.books.set(instrument, book);
    }
    return book;
  }

  private drawDepth(): Fixed {
    return this.depth === 0 ? 0n : whole(1 + below(this.deps.random, 2 * this.depth - 1));
  }
}

function matchable(order: ExchangeOrder): Matchable {
  const working = workingTermsOf(order);
  const type = order.workingOrderType.toLowerCase() as Matchable['type'];
  return {
    buys: buys(order),
    type,
    limit: type === 'market' || type === 'stop' ? undefined : order.workingPrice,
    stop: working.stopPrice,
    left: order.workingQuantity - order.cumQty,
    timeInForce: working.timeInForce.toLowerCase(),
  };
}
