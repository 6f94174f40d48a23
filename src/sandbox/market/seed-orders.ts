import type { Ambient } from '../../observability/ambient.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ExchangeOrder, OrderState, Stream } from '../exchange/exchange-order.ts';
import { triggeredType } from '../exchange/venue-steps.ts';
import { whole } from '../exchange/wire-text.ts';
import { below, happens, oneOf } from './instruments.ts';
import { isFillOrKill, isStop, mayExpire } from './invent-terms.ts';
import type { Market } from './market.ts';

interface SeedOptions {
  /** Orders known at the start, open and closed. */
  readonly knownOrders: number;
  /** How many are open and in the market's hands. */
  readonly openOrders: number;
}

interface SeedDeps extends Pick<Ambient, 'clock' | 'random'> {
  readonly exchange: Exchange;
  readonly market: Market;
}

const sixDaysUs = 6 * 86_400 * 1_000_000;
const closedStates: readonly OrderState[] = [
  'filled',
  'filled',
  'filled',
  'canceled',
  'canceled',
  'expired',
  'rejected',
];

/**
 * The past: orders from the last six days, spread evenly, open ones among them. They are in the
 * lists and in no event. A million takes 8 to 10 s and 1.5 GB.
 */
export function seedOrders(deps: SeedDeps, options: SeedOptions): void {
  const { exchange, market, random, clock } = deps;
  const nowUs = clock.nowMs() * 1000;
  const stepUs = Math.max(2, Math.floor(sixDaysUs / (options.knownOrders + 1)));
  let open = Math.min(options.openOrders, options.knownOrders);
  for (let i = 0; i < options.knownOrders; i += 1) {
    const place = market.drawPlace();
    if (place === undefined) return;
    const createdAt = nowUs - sixDaysUs + i * stepUs;
    const terms = market.inventor.invent(place.stream, place.account, createdAt);
    const isOpen = happens(random, open / (options.knownOrders - i));
    const order = exchange.open(terms, 'seeded', (it) => live(it, isOpen, deps), createdAt);
    if (!isOpen) continue;
    open -= 1;
    market.adopt(order);
  }
  seedForeign(deps, nowUs - 60_000_000);
}

/** A few orders on accounts that the market leaves alone: something that others must not see. */
function seedForeign(deps: { exchange: Exchange; market: Market }, createdAt: number): void {
  for (const account of deps.exchange.accounts.values()) {
    if (account.traded) continue;
    const streams: Stream[] = account.predictions ? ['account', 'prediction'] : ['account'];
    for (const stream of streams) {
      for (let i = 0; i < 3; i += 1) {
        const terms = deps.market.inventor.invent(stream, account, createdAt);
        deps.exchange.open(terms, 'seeded', (it) => accept(it, deps.market), createdAt);
      }
    }
  }
}

function live(order: ExchangeOrder, isOpen: boolean, deps: Pick<SeedDeps, 'market' | 'random' | 'clock'>): void {
  const { market, random } = deps;
  if (!isOpen) order.state = endOf(order, deps);
  if (order.state === 'rejected') {
    order.rejectReason = 'MARKET_CLOSED';
    order.rejectText = 'Venue session is closed for this contract';
    return;
  }
  if (isOpen) accept(order, market);
  else acknowledge(order, market);
  const units = Number(order.workingQuantity / whole(1));
  const traded =
    order.state === 'filled' ? order.workingQuantity : whole(below(random, Math.max(1, Math.floor(units / 2))));
  const filled = order.state !== 'filled' && isFillOrKill(order) ? 0n : traded;
  order.cumQty = filled;
  order.notional = filled * (order.workingPrice ?? market.priceOf(order));
  if (isOpen && filled > 0n) order.state = 'partially_filled';
  // An order that has traded was triggered before.
  if (filled > 0n && isStop(order)) order.workingOrderType = triggeredType(order.workingOrderType);
  order.certainState = order.state;
  order.version += BigInt(below(random, 4));
}

/** How its life ended, by a draw; an order that cannot expire was cancelled instead. */
function endOf(order: ExchangeOrder, { random, clock }: Pick<SeedDeps, 'random' | 'clock'>): OrderState {
  const state = oneOf(random, closedStates);
  return state === 'expired' && !mayExpire(order, clock) ? 'canceled' : state;
}

function accept(order: ExchangeOrder, market: Market): void {
  order.state = 'new';
  order.certainState = 'new';
  acknowledge(order, market);
}

function acknowledge(order: ExchangeOrder, market: Market): void {
  order.venueOrderId = market.nextVenueOrderId();
  order.firstAckAt = order.createdAt;
}
