import type { AccountPlaceTerms, CommandRequest, PredictionPlaceTerms } from './command.ts';
import { addDecimals, compareDecimals, type Decimal, divideDecimals, multiplyDecimals, subtractDecimals } from './decimal.ts';
import type { InstrumentKind } from './limits.ts';
import type { Leg, Order } from './order.ts';

/** The platform's last quote of the instrument that a command would trade. */
export interface Quote {
  readonly price: Decimal;
  /** Its age since it was made, or since it was read where the platform does not give that time. */
  readonly ageMs: number;
}

/** An instrument that has a quote: an equity, or one option contract. */
export interface Quoted {
  readonly kind: 'equity' | 'option';
  readonly symbol: string;
}

/**
 * The values of a command that are compared with the limits (`judge_limits`). A value that is absent is not compared: a replace is held to a bound only where
 * it raises the number. `null`: it can't be computed, and a limit that needs it refuses.
 */
export interface Measure {
  /** The order's own symbol, then those of its legs; upper case. */
  readonly symbols: readonly string[];
  readonly instrument: InstrumentKind;
  /** Shares, or contracts of all legs. */
  readonly quantity?: Decimal;
  readonly notional?: Decimal | null;
  /** The amount that it adds to the money at work in the account; zero for a replace that adds nothing. */
  readonly exposure: Decimal | null;
  /** How far the price that is furthest from the quote lies from it, in percent. */
  readonly deviationPercent?: Decimal | null;
  readonly quoteAgeMs?: number;
  /** `notional` and `exposure` rest on the quote. */
  readonly valuedByQuote: boolean;
}

type PlaceRequest = Extract<CommandRequest, { kind: 'place' }>;
type ReplaceRequest = Extract<CommandRequest, { kind: 'replace' }>;

/** One contract is for 100 shares. */
const contractShares = '100';
/** The most that a prediction contract can be worth: prices lie in (0, 1). */
const wholeContract = '1';

/** The instrument whose quote helps to measure the command. Undefined: prediction markets, orders of several legs and replaces have none. */
export function quotedBy(request: CommandRequest): Quoted | undefined {
  if (request.kind !== 'place' || request.stream !== 'account') return undefined;
  const { symbol, legs = [] } = request.terms;
  if (legs.length > 1) return undefined;
  const [leg] = legs;
  return leg === undefined ? { kind: 'equity', symbol } : { kind: 'option', symbol: leg.symbol };
}

/**
 * The value of one unit is the highest price at which it can trade. For a buy with a price that is the price. Every other order can trade beyond its own
 * prices: then it is the highest of them and the quote, which has to be there; for a prediction contract 1. An option counts its premium times 100, several
 * legs their net price times 100.
 */
export function measurePlace(request: PlaceRequest, quote?: Quote): Measure {
  return request.stream === 'account' ? measureAccountPlace(request.terms, quote) : measurePrediction(request.terms);
}

/** `order`: the order as it is now. */
export function measureReplace({ terms }: ReplaceRequest, order: Order): Measure {
  const { working, cumQty, side, instrument } = order;
  const price = working.price ?? order.price;
  const [before, after] = [predictionUnit(side, price), predictionUnit(side, terms.price ?? price)];
  const total = terms.quantity ?? working.quantity;
  const notional = multiplyDecimals(total, after);
  const added = subtractDecimals(
    multiplyDecimals(subtractDecimals(total, cumQty), after),
    multiplyDecimals(subtractDecimals(working.quantity, cumQty), before),
  );
  return {
    symbols: [instrument.symbol.toUpperCase()],
    instrument: 'prediction',
    ...(isAbove(total, working.quantity) && { quantity: total }),
    ...(isAbove(notional, multiplyDecimals(working.quantity, before)) && { notional }),
    exposure: isAbove(added, '0') ? added : '0',
    ...((terms.price ?? terms.stopPx) !== undefined && { deviationPercent: null }),
    valuedByQuote: false,
  };
}

function measureAccountPlace({ symbol, side, qty, price, stopPrice, legs = [] }: AccountPlaceTerms, quote?: Quote): Measure {
  const prices = [price, stopPrice].filter((each) => each !== undefined).map(withoutSign);
  const isCapped = price !== undefined && side.toUpperCase().startsWith('BUY');
  const needsQuote = legs.length < 2 && !isCapped;
  const known = needsQuote
    ? [...prices, ...(quote === undefined ? [] : [quote.price])]
    : isCapped
      ? [withoutSign(price)]
      : prices;
  const unit = known.length === 0 || (needsQuote && quote === undefined) ? null : highest(known);
  const value = unit === null ? null : multiplyDecimals(multiplyDecimals(unit, sharesOf(legs)), qty);
  const contracts = legs.map(({ ratioQty }) => ratioQty).reduce(addDecimals, '0');
  return {
    symbols: [symbol, ...legs.map((leg) => leg.symbol)].map((each) => each.toUpperCase()),
    instrument: legs.length === 0 ? 'equity' : 'option',
    quantity: legs.length === 0 ? qty : multiplyDecimals(qty, contracts),
    notional: value,
    exposure: value,
    deviationPercent: legs.length > 1 || quote === undefined ? null : deviation(prices, quote.price),
    ...(quote !== undefined && { quoteAgeMs: quote.ageMs }),
    valuedByQuote: needsQuote,
  };
}

function measurePrediction({ symbol, side, quantity, price }: PredictionPlaceTerms): Measure {
  const value = multiplyDecimals(quantity, predictionUnit(side, price));
  return {
    symbols: [symbol.toUpperCase()],
    instrument: 'prediction',
    quantity,
    notional: value,
    exposure: value,
    deviationPercent: null,
    valuedByQuote: false,
  };
}

function predictionUnit(side: string, price: Decimal | undefined): Decimal {
  return side.toUpperCase().startsWith('BUY') ? (price ?? wholeContract) : wholeContract;
}

/** Shares behind one unit of the order. The net price of several legs is that of one package. */
function sharesOf(legs: readonly Leg[]): Decimal {
  const [leg] = legs;
  if (leg === undefined) return '1';
  return legs.length > 1 ? contractShares : multiplyDecimals(contractShares, leg.ratioQty);
}

/** Null: the quote is zero. */
function deviation(prices: readonly Decimal[], quote: Decimal): Decimal | null {
  if (!isAbove(quote, '0')) return null;
  const furthest = highest(['0', ...prices.map((price) => withoutSign(subtractDecimals(price, quote)))]);
  return divideDecimals(multiplyDecimals(furthest, '100'), quote) ?? null;
}

/** The net price of several legs is negative where it is a credit. */
function withoutSign(decimal: Decimal): Decimal {
  return decimal.startsWith('-') ? decimal.slice(1) : decimal;
}

function highest(decimals: readonly Decimal[]): Decimal {
  return decimals.reduce((most, each) => (isAbove(each, most) ? each : most));
}

function isAbove(a: Decimal, b: Decimal): boolean {
  return compareDecimals(a, b) > 0;
}
