import type { Clock } from '../../src/runtime/clock.ts';
import type { Random } from '../../src/runtime/random.ts';
import type { EntryDeps } from '../../src/sandbox/entry/write.ts';
import { LateWrites } from '../../src/sandbox/entry/write.ts';
import type { Exchange } from '../../src/sandbox/exchange/exchange.ts';
import { type ExchangeOrder, isClosed } from '../../src/sandbox/exchange/exchange-order.ts';
import { acceptOrder, cancelOrder, expireOrder, fillOrder } from '../../src/sandbox/exchange/venue-steps.ts';
import { fixed, whole } from '../../src/sandbox/exchange/wire-text.ts';
import { below, type Instrument, oneOf } from '../../src/sandbox/market/instruments.ts';
import { MatchingEngine } from '../../src/sandbox/venue/matching-engine.ts';
import { Venue, venueOptions } from '../../src/sandbox/venue/venue.ts';

interface EnteredOrdersDeps {
  readonly exchange: Exchange;
  readonly clock: Clock;
  readonly random: Random;
  readonly nextVenueOrderId: () => string;
  readonly answersEveryOrder: boolean;
  /** Those that order entry knows by their symbol. */
  readonly instruments: readonly Instrument[];
}

/**
 * The orders that came in through order entry, at the sandbox's own venue: it answers them, their
 * amends and their cancels after a while, and some it refuses. Nothing trades by itself: `step`
 * moves one of them, so that the run says when.
 */
export class EnteredOrders {
  readonly venue: Venue;
  readonly entry: EntryDeps;
  private readonly open = new Set<ExchangeOrder>();
  private readonly deps: EnteredOrdersDeps;

  constructor(deps: EnteredOrdersDeps) {
    this.deps = deps;
    const settings = venueOptions.parse({});
    const { exchange, clock, random, nextVenueOrderId, answersEveryOrder, instruments } = deps;
    const engine = new MatchingEngine({ exchange, random, instrumentOf: () => undefined, priceOf: () => 0n }, settings);
    const ofVenue = { exchange, engine, clock, random, nextVenueOrderId, answersEveryOrder };
    this.venue = new Venue({ ...ofVenue, during: (work) => work() }, settings);
    this.entry = {
      exchange,
      venue: this.venue,
      clock,
      random,
      lateWrites: new LateWrites({ clock }),
      instrument: (_stream, symbol) => instruments.find((each) => each.symbol === symbol),
      during: (work) => work(),
    };
  }

  /** Told after every change of the exchange. */
  changed(order: ExchangeOrder, step: string): void {
    if (step === 'placed') this.open.add(order);
    else if (isClosed(order.state)) this.open.delete(order);
    else if (['corrected', 'taken_back'].includes(step) && order.terms.clOrdId.startsWith('tm-')) this.open.add(order);
    this.venue.changed(order);
  }

  /**
   * An order of somebody else's that was canceled through us: from now on it is
   * moved here, so that nobody else amends it.
   */
  adopt(order: ExchangeOrder): void {
    if (isClosed(order.state)) return;
    this.open.add(order);
    const { exchange, nextVenueOrderId } = this.deps;
    if (order.state === 'pending_new') acceptOrder(exchange, order, nextVenueOrderId());
  }

  has(order: ExchangeOrder): boolean {
    return this.open.has(order);
  }

  /** One of them trades, or ends by the venue's own will. */
  step(): void {
    const { exchange, random } = this.deps;
    const movable = [...this.open].filter(
      ({ entry, certainty, state }) => entry !== undefined && certainty === 'certain' && state !== 'pending_new',
    );
    if (movable.length === 0) return;
    const order = oneOf(random, movable);
    const dice = random.next();
    if (dice < 0.5) fillOrder(exchange, order, whole(1 + below(random, 3)), order.workingPrice ?? fixed('0.5'));
    else if (dice < 0.65) fillOrder(exchange, order, order.workingQuantity, order.workingPrice ?? fixed('0.5'));
    else if (dice < 0.72) cancelOrder(exchange, order);
    else if (dice < 0.77) expireOrder(exchange, order);
  }
}
