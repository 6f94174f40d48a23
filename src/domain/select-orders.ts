import { orderWord, type Stream } from './order.ts';
import { traits } from './streams.ts';
import { canonicalSymbol, sameLetters } from './symbol.ts';

/** An order, or its place, is selected by these fields. */
export interface Selectable {
  readonly stream: Stream;
  readonly symbol: string;
  /** As an order writes it, or as a place asked for it. */
  readonly side: string;
  /** The principal that placed it; absent if it was not placed here. */
  readonly principal?: string;
  /** Its caller's reference, and the platform's reference. */
  readonly references: readonly string[];
}

/** An order has to match every field present. */
export interface OrderSelection {
  /**
   * Canonical. A share class is one in each spelling, since the platform may show `BRK.B` as
   * `BRK/B`, and no order may stay open for that. A market's signs are part of its name: without
   * them `T3.5` and `T35` are one, and a cancel must not reach the other.
   */
  readonly symbol?: string;
  readonly side?: 'buy' | 'sell';
  readonly principal?: string;
  readonly reference?: string;
}

/**
 * An order and its place are selected by the same fields: if the place was selected, its order
 * needs no further check.
 */
export function isSelected(of: Selectable, { symbol, side, principal, reference }: OrderSelection = {}): boolean {
  return (
    (symbol === undefined || hasSymbol(of, symbol)) &&
    (side === undefined || directionOf(of.side) === side) &&
    (principal === undefined || of.principal === principal) &&
    (reference === undefined || of.references.includes(reference))
  );
}

function hasSymbol({ stream, symbol }: Selectable, wanted: string): boolean {
  return traits[stream].market === 'securities' ? sameLetters(symbol, wanted) : canonicalSymbol(symbol) === wanted;
}

/** A short sale sells, and a buy to cover one buys. */
function directionOf(side: string): string | undefined {
  return /^(?:buy|sell)/.exec(orderWord(side))?.[0];
}
