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
import { directionOf } from './orders/order-row.ts';
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
export function quoteOf(fields: TicketFields, quotes: PreviewAnswer['quotes'] = []) {
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
