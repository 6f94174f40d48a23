import {
  type AccountPlaceTerms,
  type CommandRequest,
  isOfSecurities,
  type PlaceRequest,
  type PredictionPlaceTerms,
  platformCurrency,
  type ReplaceRequest,
  type ReplaceTerms,
} from './command.ts';
import {
  addDecimals,
  compareDecimals,
  type Decimal,
  divideRoundingUp,
  multiplyDecimals,
  subtractDecimals,
  wholeRoundedUp,
} from './decimal.ts';
import type { InstrumentKind } from './limits.ts';
import type { Leg, Order } from './order.ts';
import { present } from './present.ts';
import { traits } from './streams.ts';
import { canonicalSymbol, optionRoot, symbolLetters, underlyingOf } from './symbol.ts';

/** The platform's last quote for one instrument a command would trade. */
export interface Quote {
  /**
   * The last price, or the middle of bid and ask. Prices are compared with it. Absent: a side is
   * missing, so there is none.
   */
  readonly price?: Decimal;
  /** The price it is offered at; absent if the platform shows only a last price. */
  readonly ask?: Decimal;
  /** The last price, if the platform shows it: for people, no limit looks at it. */
  readonly last?: Decimal;
  /** A sale trades at it. It is above the price where the last trade is old. */
  readonly bid?: Decimal;
  /** Its age since it was made. If the platform does not give that time: since it was read. */
  readonly ageMs: number;
}

/** An instrument with a quote: an equity, or one option contract. */
export interface Quoted {
  readonly kind: 'equity' | 'option';
  readonly symbol: string;
}

/**
 * A command's values for the limits (`judge_limits`). An absent value is not compared: a replace is
 * held to a bound only if it raises the number. `null`: it can't be computed, and a limit that
 * needs it refuses.
 */
export interface Measure {
  /**
   * A list may forbid it by any of these, canonical: the order's own symbol, its legs' symbols, and
   * their roots.
   */
  readonly symbols: readonly string[];
  /**
   * The instruments it trades, as lists of symbols name them: the order's own symbol, then each
   * different underlying among the legs.
   */
  readonly underlyings: readonly string[];
  readonly instrument: InstrumentKind;
  /** Shares, or whole contracts over all legs. */
  readonly quantity?: Decimal;
  readonly notional?: Decimal | null;
  /**
   * It adds this amount to the money at work in the account; zero for a replace that adds nothing.
   */
  readonly exposure: Decimal | null;
  /** The distance from the quote to the furthest price, in percent. */
  readonly deviationPercent?: Decimal | null;
  /** The oldest quote's age. */
  readonly quoteAgeMs?: number;
  /** `notional` and `exposure` rest on quotes. */
  readonly valuedByQuote: boolean;
  /** Why no quote could give it a value. */
  readonly notValued?: string;
  /** Why no quote can be compared with its prices. */
  readonly notCompared?: string;
}

/** One contract is for 100 shares. */
const contractShares = '100';
/** The most a prediction contract can be worth: prices lie in (0, 1). */
const wholeContract = '1';

/**
 * Quotes for these instruments help to measure the command: the equity, or each contract.
 * Prediction markets and replaces have none.
 */
export function quotedBy(request: CommandRequest): readonly Quoted[] {
  if (request.kind !== 'place' || !isOfSecurities(request)) return [];
  const { symbol, legs = [] } = request.terms;
  if (legs.length > 0) return legs.map((leg) => ({ kind: 'option', symbol: leg.symbol }));
  return [{ kind: isOption(request.terms) ? 'option' : 'equity', symbol }];
}

/**
 * An order's value is the most the exchange can make from it. A buy with a price above zero pays at
 * most that. Every other order can trade beyond its own prices. Then it is the highest among them
 * and the quote, which has to be there; for a prediction contract 1. An option counts its premium
 * times 100. Several legs without such a price count their contracts one by one, since their net
 * effect is not known. A share of a contract is a whole one.
 *
 * `quotes`: those for `quotedBy`, all or none.
 */
export function measurePlace(request: PlaceRequest, quotes: readonly Quote[] = []): Measure {
  return isOfSecurities(request) ? measureAccountPlace(request.terms, quotes) : measurePrediction(request.terms);
}

/**
 * `released`: the terms of unresolved replaces that this one supersedes. Each may still land,
 * before it or after: what this one leaves out is then as that one asked. Its own exposure counts
 * already.
 */
export function measureReplace(
  { terms, stream }: ReplaceRequest,
  order: Order,
  released: readonly ReplaceTerms[] = [],
): Measure {
  if (traits[stream].market === 'securities') return measureSuccessor(terms, order);
  const alone = measureTerms(terms, order);
  let { quantity, notional, exposure } = alone;
  for (const before of released) {
    const both = measureTerms({ ...before, ...terms }, order);
    quantity = highestOfKnown(quantity, both.quantity);
    notional = highestOfKnown(notional, both.notional);
    exposure = highest([exposure, subtractDecimals(both.exposure, measureTerms(before, order).exposure)]);
  }
  return { ...alone, ...(quantity && { quantity }), ...(notional && { notional }), exposure };
}

function highestOfKnown(...values: readonly (Decimal | null | undefined)[]): Decimal | undefined {
  const known = values.filter((each) => typeof each === 'string');
  return known.length === 0 ? undefined : highest(known);
}

/**
 * `order`: the order as it is now. It trades on its old terms until the venue grants the new ones,
 * and what has traded stays. So the order's worst is the money of its fills, and the more of two:
 * the whole new rest at the new price, or the old rest at the old price and the added part at the
 * new one. The total at the new price is less where the price falls: 200 bought at 0.9, and 1,000
 * in all at 0.1, come to 260 and not to 100.
 */
function measureTerms(terms: ReplaceTerms, order: Order): Measure & { readonly exposure: Decimal } {
  const { working, cumQty, instrument } = order;
  const price = working.price ?? order.price;
  const after = unitOf(order, terms.price ?? price);
  // If the price of its limit is not known, a new one counts as a rise.
  const isUnknown = hasLimit(order) && price === undefined && terms.price !== undefined;
  const before = isUnknown ? '0' : unitOf(order, price);
  const worked = working.quantity ?? '0';
  const total = terms.quantity ?? worked;
  const rest = positivePart(subtractDecimals(worked, cumQty));
  const restAfter = positivePart(subtractDecimals(total, cumQty));
  const now = multiplyDecimals(rest, before);
  const grown = multiplyDecimals(positivePart(subtractDecimals(restAfter, rest)), after);
  const worst = highest([multiplyDecimals(restAfter, after), addDecimals(now, grown)]);
  const traded = multiplyDecimals(cumQty, predictionUnit(order.side, order.avgPrice));
  return {
    ...marketOf(instrument),
    ...(isAbove(total, worked) && { quantity: total }),
    ...(isAbove(worst, now) && { notional: addDecimals(traded, worst) }),
    exposure: subtractDecimals(worst, now),
    ...((terms.price ?? terms.stopPx) !== undefined && { deviationPercent: null }),
    valuedByQuote: false,
  };
}

/**
 * A replace of equities or options. Both orders may be at the venue for a moment, and one of them
 * trades: so it adds the new rest's worth above the old one's. Without a quote, a greater quantity
 * has a known worth only under a price.
 */
function measureSuccessor({ quantity, price, stopPx }: ReplaceTerms, order: Order): Measure {
  const { instrument, working, cumQty, stopPrice } = order;
  const worked = working.quantity ?? '0';
  const total = quantity ?? worked;
  const before = termsOf(order, { qty: worked, price: working.price ?? order.price, stopPrice });
  const after = termsOf(order, { qty: total, price: price ?? before.price, stopPrice: stopPx ?? stopPrice });
  const [rest, restAfter] = [worked, total].map((each) => positivePart(subtractDecimals(each, cumQty)));
  const isMore = isAbove(total, worked);
  const [now, then] = [worthOf(before, rest ?? '0'), worthOf(after, restAfter ?? '0')];
  const isKnown = isCapped(after) || !isMore;
  const more = isKnown ? positivePart(subtractDecimals(then, now)) : null;
  return {
    ...namesOf(after),
    instrument: instrument.kind,
    ...(isMore && { quantity: multiplyDecimals(total, contractsOf(after.legs)) }),
    ...(more !== '0' && { notional: isKnown ? worthOf(after, total) : null }),
    exposure: more,
    ...((price ?? stopPx) !== undefined && { deviationPercent: null }),
    valuedByQuote: false,
  };
}

type Priced = Pick<AccountPlaceTerms, 'qty'> & { readonly [K in 'price' | 'stopPrice']: Decimal | undefined };

function termsOf({ instrument, side, orderType, timeInForce }: Order, { price, stopPrice, qty }: Priced) {
  const { symbol, legs = [] } = instrument;
  return {
    ...{ symbol, side, type: orderType, timeInForce, qty, legs },
    ...present({ price, stopPrice }),
  } satisfies AccountPlaceTerms;
}

/** By its own prices, as limits value an open order. */
function worthOf(terms: AccountPlaceTerms, quantity: Decimal): Decimal {
  const { contracts, shares, highestPrice } = lotOf(terms);
  return multiplyDecimals(multiplyDecimals(multiplyDecimals(quantity, highestPrice), contracts), shares);
}

/** One leg's price is for a contract, several legs' net price is for one package. */
function lotOf(terms: AccountPlaceTerms) {
  const [leg, ...more] = terms.legs ?? [];
  return {
    contracts: leg !== undefined && more.length === 0 ? wholeRoundedUp(leg.ratioQty) : '1',
    shares: isOption(terms) ? contractShares : '1',
    highestPrice: highest(['0', ...pricesOf(terms)]),
  };
}

/** A price bounds only an order with a limit: a stop becomes a market order. */
function unitOf(order: Order, price: Decimal | undefined): Decimal {
  return predictionUnit(order.side, hasLimit(order) ? price : undefined);
}

function hasLimit({ orderType, working }: Order): boolean {
  return (working.orderType ?? orderType).endsWith('limit');
}

function measureAccountPlace(terms: AccountPlaceTerms, quotes: readonly Quote[]): Measure {
  const { qty, legs = [], currency } = terms;
  const foreign =
    currency === undefined || currency === platformCurrency
      ? undefined
      : `its money is in ${currency}, and limits are in ${platformCurrency}`;
  const ofOption = isOption(terms);
  const lots = ofOption ? wholeRoundedUp(qty) : qty;
  const needsQuote = foreign === undefined && !isCapped(terms);
  const perLot = foreign === undefined ? valueOfLot(terms, quotes) : null;
  const value = perLot === null ? null : multiplyDecimals(perLot, lots);
  const notCompared = foreign ?? whyNotCompared(quotes);
  const [quote] = quotes;
  return {
    ...namesOf(terms),
    instrument: ofOption ? 'option' : 'equity',
    quantity: multiplyDecimals(lots, contractsOf(legs)),
    notional: value,
    exposure: value,
    deviationPercent:
      notCompared !== undefined || quote?.price === undefined ? null : deviation(pricesOf(terms), quote.price),
    ...(quotes.length > 0 && { quoteAgeMs: Math.max(...quotes.map(({ ageMs }) => ageMs)) }),
    valuedByQuote: needsQuote,
    ...present({ notValued: foreign, notCompared }),
  };
}

/**
 * A contract's root, also with the signs of a share class in it: `BRK/B261218C00200000` is one on
 * BRKB, and not a share.
 */
function contractRoot(symbol: string): string | undefined {
  return optionRoot(symbol) ?? optionRoot(symbolLetters(symbol));
}

/** An option contract may be named by legs, or by the order's own symbol. */
function isOption({ symbol, legs = [] }: AccountPlaceTerms): boolean {
  return legs.length > 0 || contractRoot(canonicalSymbol(symbol)) !== undefined;
}

/**
 * Its price bounds the money it pays. A sale's price does not bound the money that comes in, nor
 * does a net price at or below zero. With more contracts sold than bought, a net price says nothing
 * about the contracts sold.
 */
function isCapped({ side, price, legs = [] }: AccountPlaceTerms): boolean {
  if (price === undefined || !isAbove(price, '0') || !isBuy(side)) return false;
  const [bought, sold] = [legs.filter((leg) => isBuy(leg.side)), legs.filter((leg) => !isBuy(leg.side))];
  // Not in whole contracts: a part of one that is bought covers no whole one that is sold.
  return !isAbove(ratiosOf(sold), ratiosOf(bought));
}

function ratiosOf(legs: readonly Leg[]): Decimal {
  return legs.map(({ ratioQty }) => ratioQty).reduce(addDecimals, '0');
}

/** Null: a quote is missing. */
function valueOfLot(terms: AccountPlaceTerms, quotes: readonly Quote[]): Decimal | null {
  const { legs = [] } = terms;
  const { contracts, shares, highestPrice } = lotOf(terms);
  if (isCapped(terms)) return multiplyDecimals(multiplyDecimals(withoutSign(terms.price ?? '0'), contracts), shares);
  const worst = quotes.map(highestOf).filter((each) => each !== undefined);
  if (worst.length === 0 || worst.length < legs.length) return null;
  const quoted = worst.map((each, at) => multiplyDecimals(each, wholeRoundedUp(legs[at]?.ratioQty ?? '1')));
  return multiplyDecimals(
    highest([multiplyDecimals(highestPrice, contracts), quoted.reduce(addDecimals, '0')]),
    shares,
  );
}

/** The highest price to sell or buy it at just now. A bid alone bounds nothing. */
function highestOf({ price, ask, bid }: Quote): Decimal | undefined {
  if (price === undefined && ask === undefined) return undefined;
  return highest([price, ask, bid].filter((each) => each !== undefined));
}

function pricesOf({ price, stopPrice }: AccountPlaceTerms): readonly Decimal[] {
  return [price, stopPrice].filter((each) => each !== undefined).map(withoutSign);
}

function whyNotCompared(quotes: readonly Quote[]): string | undefined {
  if (quotes.length > 1) return 'an order of several legs has no quote of its own';
  return quotes.some(({ price }) => price === undefined) ? 'a side of the quote is missing' : undefined;
}

/** Whole contracts for one lot; 1 without legs. */
function contractsOf(legs: readonly Leg[]): Decimal {
  if (legs.length === 0) return '1';
  return legs.map(({ ratioQty }) => wholeRoundedUp(ratioQty)).reduce(addDecimals, '0');
}

/** An adjusted contract (`AAPL1`) also belongs to its underlying, by which an option is known. */
function namesOf({ symbol, legs: of = [] }: AccountPlaceTerms): Pick<Measure, 'symbols' | 'underlyings'> {
  const own = canonicalSymbol(symbol);
  const legs = of.map((leg) => canonicalSymbol(leg.symbol));
  const symbols = [own, ...legs];
  const roots = symbols.map(contractRoot).filter((root) => root !== undefined);
  const first = legs.length === 0 ? (contractRoot(own) ?? own) : own;
  return {
    symbols: [...new Set([...symbols, ...roots, ...roots.map((root) => root.replace(/\d$/, ''))])],
    underlyings: [...new Set([first, ...legs.map((leg) => underlyingOf(leg, own))])],
  };
}

function measurePrediction({ symbol, side, quantity, price }: PredictionPlaceTerms): Measure {
  const value = multiplyDecimals(quantity, predictionUnit(side, price));
  return {
    ...marketOf({ symbol }),
    quantity,
    notional: value,
    exposure: value,
    deviationPercent: null,
    valuedByQuote: false,
  };
}

function marketOf({ symbol }: { readonly symbol: string }) {
  const own = canonicalSymbol(symbol);
  return { symbols: [own], underlyings: [own], instrument: 'prediction' } as const;
}

function predictionUnit(side: string, price: Decimal | undefined): Decimal {
  return isBuy(side) ? (price ?? wholeContract) : wholeContract;
}

function isBuy(side: string): boolean {
  return side.toUpperCase().startsWith('BUY');
}

/** Rounded up, so a price beyond a bound is never at it. Null: the quote is zero. */
function deviation(prices: readonly Decimal[], quote: Decimal): Decimal | null {
  if (!isAbove(quote, '0')) return null;
  const furthest = highest(['0', ...prices.map((price) => withoutSign(subtractDecimals(price, quote)))]);
  return divideRoundingUp(multiplyDecimals(furthest, '100'), quote) ?? null;
}

/** Several legs' net price is negative if it is a credit. */
function withoutSign(decimal: Decimal): Decimal {
  return decimal.startsWith('-') ? decimal.slice(1) : decimal;
}

function positivePart(decimal: Decimal): Decimal {
  return decimal.startsWith('-') ? '0' : decimal;
}

function highest(decimals: readonly Decimal[]): Decimal {
  return decimals.reduce((most, each) => (isAbove(each, most) ? each : most));
}

function isAbove(a: Decimal, b: Decimal): boolean {
  return compareDecimals(a, b) > 0;
}
