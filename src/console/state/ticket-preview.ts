import type { PreviewAnswer } from '../../contract/preview-answer.ts';
import { sameSymbol } from '../../domain/symbol.ts';
import {
  faultsIn,
  fieldsShown,
  forQuotes,
  isEmpty,
  isWhole,
  requestOf,
  type TicketFields,
} from './commands/ticket-body.ts';
import type { Question } from './order-preview.ts';
import { directionOf, type OrderRow } from './orders/order-row.ts';
import { compareDecimals, plainNumber, unitsOf } from './text/decimal-text.ts';

/** About a ticket as it is now. Undefined: it has too little to ask about. */
export function questionOf(fields: TicketFields): Question | undefined {
  const whole = isWhole(fields);
  // A prediction market has no quotes.
  if (!whole && (fields.kind === 'prediction' || ['accountId', 'symbol'].some((name) => isEmpty(fields, name))))
    return undefined;
  const { path, body } = requestOf(whole ? fields : forQuotes(fields));
  return { path: `${path}/preview`, body, isWhole: whole, faultsIn: (given) => faultsIn(given, fields) };
}

/** Undefined: several legs, which have no quote as a whole. */
export function tradedIn(fields: TicketFields): { readonly symbol: string; readonly side: string } | undefined {
  const [traded, ...others] = fieldsShown(fields).legs ? fields.legs : [fields];
  return others.length > 0 ? undefined : traded;
}

/** The ticket's quote, and the side of it that the order would meet. */
function quoteOf(fields: TicketFields, quotes: PreviewAnswer['quotes'] = []) {
  const traded = tradedIn(fields);
  if (traded === undefined || traded.side === '') return undefined;
  const quote = quotes.find(({ symbol }) => sameSymbol(symbol, traded.symbol));
  return quote && ({ quote, side: directionOf(traded.side.toLowerCase()) === 'buy' ? 'ask' : 'bid' } as const);
}

/** A price of the ticket, and the side of the quote that it meets. */
interface Crossing {
  readonly own: string;
  readonly market: string;
  readonly side: 'ask' | 'bid';
  /** It meets the quote as a limit; else as a stop. */
  readonly isLimit: boolean;
  readonly ageMs: number | undefined;
}

/**
 * Where the order would trade, or its stop be triggered, at once by this quote. As typed just now:
 * the next answer may come after the click. Undefined also where nothing can be compared: several
 * legs have no quote of their own, and a prediction market has none.
 */
export function crossingOf(fields: TicketFields, quotes?: PreviewAnswer['quotes']): Crossing | undefined {
  const { price, stopPrice } = fieldsShown(fields);
  const { quote, side = 'ask' } = quoteOf(fields, quotes) ?? {};
  const [isLimit, own] = [!stopPrice, plainNumber(stopPrice ? fields.stopPrice : price ? fields.price : '')];
  const market = quote?.[side];
  if (market === undefined || unitsOf(own) === undefined) return undefined;
  const above = compareDecimals(own, market);
  // A stop waits on the other side of the market.
  const isBeyond = (side === 'ask') === isLimit ? above >= 0 : above <= 0;
  return isBeyond ? { own, market, side, isLimit, ageMs: quote?.ageMs } : undefined;
}

// Where no limit is set, a slip by one digit is refused by no one. The ticket warns, and the reader
// decides.

/** In percent. */
const far = 20n;
const manyTimes = 10n;

interface FarPrice {
  readonly own: string;
  readonly market: string;
  readonly name: 'bid' | 'ask' | 'last';
  /** Negative: below the market. */
  readonly percent: bigint;
}

/** A limit far from the side of the quote it would meet; without that side, from the last price. */
export function farPriceOf(fields: TicketFields, quotes?: PreviewAnswer['quotes']): FarPrice | undefined {
  const found = fieldsShown(fields).price ? quoteOf(fields, quotes) : undefined;
  if (found === undefined) return undefined;
  const name = found.quote[found.side] === undefined ? 'last' : found.side;
  const [own, market = ''] = [plainNumber(fields.price), found.quote[name]];
  const [units, base] = [unitsOf(own), unitsOf(market)];
  if (units === undefined || base === undefined || base <= 0n) return undefined;
  const apart = (units - base) * 100n;
  return apart > far * base || apart < -far * base ? { own, market, name, percent: apart / base } : undefined;
}

/** The largest known quantity at work in the ticket's instrument; undefined: no order is known. */
export function largestKnown(fields: TicketFields, rows: Iterable<OrderRow>): string | undefined {
  const symbol = tradedIn(fields)?.symbol ?? '';
  if (symbol.trim() === '') return undefined;
  let largest: string | undefined;
  for (const { order } of rows) {
    const { instrument, working } = order;
    if (instrument.kind !== fields.kind) continue;
    const [traded, ...others] = fields.kind === 'option' ? (instrument.legs ?? []) : [instrument];
    if (traded === undefined || others.length > 0 || !sameSymbol(traded.symbol, symbol)) continue;
    if (compareDecimals(working.quantity, largest) > 0) largest = working.quantity;
  }
  return largest;
}

/** Whether the ticket asks for many times the largest known quantity. */
export function isWildSize({ quantity }: TicketFields, largest: string | undefined): boolean {
  const [own, known] = [unitsOf(plainNumber(quantity)), unitsOf(largest)];
  return own !== undefined && known !== undefined && known > 0n && own > manyTimes * known;
}
