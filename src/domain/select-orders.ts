import { orderWord } from './order.ts';
import { canonicalSymbol } from './symbol.ts';

/** An order, or its place, is selected by these fields. */
export interface Selectable {
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
   * Canonical, and compared to the letter, unlike the symbol of a list (`namesInstrument`): without
   * their signs the markets `T3.5` and `T35` are one, and a cancel must not reach the other.
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
    (symbol === undefined || canonicalSymbol(of.symbol) === symbol) &&
    (side === undefined || directionOf(of.side) === side) &&
    (principal === undefined || of.principal === principal) &&
    (reference === undefined || of.references.includes(reference))
  );
}

/** A short sale sells, and a buy to cover one buys. */
function directionOf(side: string): string | undefined {
  return /^(?:buy|sell)/.exec(orderWord(side))?.[0];
}
