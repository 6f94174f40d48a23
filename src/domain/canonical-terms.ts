import { type AccountPlaceTerms, type PredictionPlaceTerms, platformCurrency, type ReplaceTerms } from './command.ts';
import { parseDecimal } from './decimal.ts';
import { canonicalInstant } from './instant.ts';
import type { Leg } from './order.ts';
import { present } from './present.ts';
import { canonicalSymbol } from './symbol.ts';

// The one form of a caller's terms. It is made once, where a body comes in. Four things are made
// from it: an Idempotency-Key's hash, the search for an unresolved command with the same terms, the
// window for duplicates in SQL, and the bytes for the platform. So two spellings the platform takes
// as one order are one order in each place, and the hashed text is also the one sent.

/**
 * The platform's default currency is left out, and so is an empty text. Legs have one order, see
 * `orderedLegs`.
 */
export function canonicalAccountTerms(terms: AccountPlaceTerms): AccountPlaceTerms {
  const { symbol, qty, price, stopPrice, currency, exDestination, extendedHours, legs = [], ...words } = terms;
  const money = currency?.toUpperCase();
  return {
    ...words,
    symbol: canonicalSymbol(symbol),
    qty: canonicalDecimal(qty),
    ...canonicalDecimals({ price, stopPrice }),
    ...(money !== undefined && money !== '' && money !== platformCurrency && { currency: money }),
    ...(exDestination !== undefined && exDestination !== '' && { exDestination: exDestination.toUpperCase() }),
    ...(extendedHours && { extendedHours }),
    ...(legs.length > 0 && { legs: orderedLegs(words.side, legs.map(canonicalLeg)) }),
  };
}

export function canonicalPredictionTerms(terms: PredictionPlaceTerms): PredictionPlaceTerms {
  const { symbol, quantity, ...rest } = terms;
  return { ...canonicalPrices(rest), symbol: canonicalSymbol(symbol), quantity: canonicalDecimal(quantity) };
}

export function canonicalReplaceTerms({ quantity, ...rest }: ReplaceTerms): ReplaceTerms {
  return { ...canonicalPrices(rest), ...canonicalDecimals({ quantity }) };
}

/**
 * A caller's own reference: composed letters (NFC), and no blanks around it. Two texts with equal
 * forms are shown alike, so they are one reference.
 */
export function canonicalReference(text: string): string {
  return text.normalize('NFC').trim();
}

interface Priced {
  readonly price?: string;
  readonly stopPx?: string;
  readonly expireTime?: string;
}

function canonicalPrices<T extends Priced>({ price, stopPx, expireTime, ...rest }: T): Omit<T, keyof Priced> & Priced {
  return {
    ...rest,
    ...canonicalDecimals({ price, stopPx }),
    ...(expireTime !== undefined && { expireTime: canonicalInstant(expireTime) ?? expireTime }),
  };
}

/**
 * A package is the same in any order of its legs, but the first leg gives the order its side. So
 * the legs on that side come first, each group by symbol.
 */
function orderedLegs(side: string, legs: readonly Leg[]): readonly Leg[] {
  const rank = (leg: Leg) =>
    JSON.stringify([leg.side === side ? 0 : 1, leg.symbol, leg.side, leg.positionEffect ?? '', leg.ratioQty]);
  return legs
    .map((leg) => ({ leg, at: rank(leg) }))
    .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
    .map(({ leg }) => leg);
}

function canonicalLeg(leg: Leg): Leg {
  return { ...leg, symbol: canonicalSymbol(leg.symbol), ratioQty: canonicalDecimal(leg.ratioQty) };
}

function canonicalDecimals<Name extends string>(
  given: Readonly<Record<Name, string | undefined>>,
): { readonly [K in Name]?: string } {
  const texts = Object.entries<string>(present(given)).map(([name, text]) => [name, canonicalDecimal(text)]);
  return Object.fromEntries(texts);
}

/** The door has proven that it parses. */
function canonicalDecimal(text: string): string {
  return parseDecimal(text) ?? text;
}
