import type { Clock } from '../../src/runtime/clock.ts';
import type { Random } from '../../src/runtime/random.ts';
import type { Exchange } from '../../src/sandbox/exchange/exchange.ts';
import { type ExchangeOrder, isClosed, type OrderTerms } from '../../src/sandbox/exchange/exchange-order.ts';
import { expireOrder, takeEndBack } from '../../src/sandbox/exchange/venue-steps.ts';
import { fixed } from '../../src/sandbox/exchange/wire-text.ts';
import { happens, oneOf } from '../../src/sandbox/market/instruments.ts';
import type { Market } from '../../src/sandbox/market/market.ts';

/** What a platform does now and then, and no document says: each was seen, or is to be expected. */
export const surprises = ['renames', 'taken_back', 'coarse', 'successors', 'legs'] as const;
export type Surprise = (typeof surprises)[number];

/**
 * Mostly none in an ordinary run, so that these stay as they are; where
 * they are wished for, most of them together.
 */
export function drawSurprises(random: Random, wished: boolean): ReadonlySet<Surprise> {
  return new Set(wished ? surprises.filter(() => happens(random, 0.7)) : []);
}

interface SurprisesDeps {
  readonly exchange: Exchange;
  readonly market: Market;
  readonly random: Random;
  /** For changes of legs: what the others draw does not depend on them. */
  readonly legsRandom: Random;
  readonly clock: Clock;
  /** Orders of which something was taken back: an end that was shown may not be the last. */
  readonly corrected: Set<ExchangeOrder>;
}

const otherSides: Readonly<Record<string, string>> = { SELL: 'SELL_SHORT', BUY: 'BUY_TO_COVER' };

/**
 * Surprises of the platform in its own truth: an order gets another symbol or another word for its
 * side, its legs change, an end is taken back, an order of ours is amended in the broker's own app.
 * The last, a coarse clock, is in how the truth is worded.
 */
export class Surprises {
  kinds: ReadonlySet<Surprise> = new Set();
  readonly endsTakenBack = new Set<ExchangeOrder>();
  /** Orders of ours that others took the place of, and those. */
  readonly amended: { readonly elder: ExchangeOrder; readonly successor: ExchangeOrder }[] = [];
  private readonly deps: SurprisesDeps;

  constructor(deps: SurprisesDeps) {
    this.deps = deps;
  }

  /** One of those that are on. */
  act(): void {
    const { legsRandom } = this.deps;
    if (this.kinds.has('legs') && happens(legsRandom, 0.5)) this.changeLegs();
    const acting = [...this.kinds].filter((each) => each !== 'coarse' && each !== 'legs');
    if (acting.length === 0) return;
    const kind = oneOf(this.deps.random, acting);
    if (kind === 'renames') this.rename();
    else if (kind === 'successors') this.amendElsewhere();
    else this.takeBack();
  }

  /**
   * Order entry took something of this order: a place of ours may be answered with another name of
   * its symbol than was asked for.
   */
  placed(order: ExchangeOrder): void {
    if (!this.kinds.has('renames') || order.state !== 'new' || !isOurs(order) || !happens(this.deps.random, 0.3))
      return;
    this.reword(order, { symbol: otherSymbol(order.terms) });
  }

  private rename(): void {
    const order = this.draw(({ state }) => !isClosed(state));
    if (order === undefined) return;
    const { side } = order.terms;
    const other = otherSides[side];
    if (other !== undefined && happens(this.deps.random, 0.3)) this.reword(order, { side: other });
    else this.reword(order, { symbol: otherSymbol(order.terms) });
  }

  /** Legs come in another order, as adjusted contracts, or in the padded spelling. */
  private changeLegs(): void {
    const { legsRandom } = this.deps;
    const order = this.draw(({ terms }) => (terms.legs?.length ?? 0) > 0, legsRandom);
    const { legs = [] } = order?.terms ?? {};
    if (order === undefined) return;
    const how = oneOf(legsRandom, ['turned', 'adjusted', 'padded']);
    const changed =
      how === 'turned'
        ? [...legs].reverse()
        : legs.map((leg) => ({ ...leg, symbol: how === 'padded' ? padded(leg.symbol) : adjusted(leg.symbol) }));
    this.reword(order, { legs: changed });
  }

  private reword(order: ExchangeOrder, words: Partial<OrderTerms>): void {
    this.deps.exchange.change(order, 'renamed', (it) => {
      Object.assign(it, { terms: { ...it.terms, ...words } });
    });
  }

  /** An expiry that was wrong: it is shown, and taken back some seconds later. */
  private takeBack(): void {
    const { exchange, market, corrected, clock, random } = this.deps;
    const order = this.draw((each) => isAtWork(each) && each.terms.stream === 'account' && !isOurs(each));
    if (order === undefined) return;
    market.release(order);
    expireOrder(exchange, order);
    clock.after(random.next() * 4_000, () => {
      if (order.state !== 'expired' || order.entry === undefined) return;
      corrected.add(order);
      this.endsTakenBack.add(order);
      takeEndBack(exchange, order);
      market.adopt(order);
    });
  }

  /**
   * In the broker's own app an amend ends the order as `replaced`, and a
   * second one with the same reference goes on.
   */
  private amendElsewhere(): void {
    const { exchange } = this.deps;
    const elder = this.draw((each) => isAtWork(each) && each.terms.stream === 'account' && isOurs(each));
    if (elder === undefined || elder.workingPrice === undefined) return;
    const { terms, workingQuantity, cumQty, venueOrderId } = elder;
    const quantity = workingQuantity - cumQty;
    const price = elder.workingPrice + fixed('0.5');
    exchange.change(elder, 'replaced', (it) => {
      it.state = 'replaced';
    });
    const successor = exchange.open({ ...terms, orderId: this.deps.random.uuid(), quantity, price }, 'placed', (it) => {
      it.state = 'new';
      it.venueOrderId = venueOrderId;
    });
    this.amended.push({ elder, successor });
  }

  private draw(fits: (order: ExchangeOrder) => boolean, random = this.deps.random): ExchangeOrder | undefined {
    const { exchange } = this.deps;
    const known = ({ certainty, entry }: ExchangeOrder) => certainty === 'certain' && entry !== undefined;
    const fitting = [...exchange.orders.values()].filter((order) => known(order) && fits(order));
    return fitting.length === 0 ? undefined : oneOf(random, fitting);
  }
}

function otherSymbol({ symbol }: OrderTerms): string {
  return symbol.endsWith('1') ? symbol.slice(0, -1) : `${symbol}1`;
}

const occ = /^([A-Z.]+)(1?) *(\d{6}[CP]\d{8})$/;

/** The contract after a split or a merger, and back again. */
function adjusted(symbol: string): string {
  return symbol.replace(
    occ,
    (_, root: string, digit: string, rest: string) => `${root}${digit === '' ? '1' : ''}${rest}`,
  );
}

function padded(symbol: string): string {
  return symbol.replace(occ, (_, root: string, digit: string, rest: string) => `${`${root}${digit}`.padEnd(6)}${rest}`);
}

function isAtWork({ state, pendingAction }: ExchangeOrder): boolean {
  return (state === 'new' || state === 'partially_filled') && pendingAction === 'none';
}

function isOurs({ terms }: ExchangeOrder): boolean {
  return terms.clOrdId.startsWith('tm-');
}
