import type { PreviewAnswer } from '../../contract/preview-answer.ts';
import { sameSymbol } from '../../domain/symbol.ts';
import { fieldsShown, type TicketFields } from './commands/ticket-body.ts';
import type { OrderRow } from './orders/order-row.ts';
import { compareDecimals, plainNumber, unitsOf } from './text/decimal-text.ts';
import { quoteOf, tradedIn } from './ticket-preview.ts';

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
