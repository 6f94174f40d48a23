/** What an order, or the place of one, is selected by. */
export interface Selectable {
  readonly symbol: string;
  /** In the words of its stream. */
  readonly side: string;
  /** Who placed it; absent where it was not placed here. */
  readonly principal?: string;
  /** Its caller's reference, and the one that the platform has. */
  readonly references: readonly string[];
}

/** An order has to match every field that is there. */
export interface OrderSelection {
  /** In the platform's case. */
  readonly symbol?: string;
  readonly side?: 'buy' | 'sell';
  readonly principal?: string;
  readonly reference?: string;
}

/** An order and the place that it comes of are selected alike: what lands of a selected place needs no further look. */
export function isSelected(of: Selectable, { symbol, side, principal, reference }: OrderSelection = {}): boolean {
  return (
    (symbol === undefined || of.symbol.toUpperCase() === symbol) &&
    (side === undefined || directionOf(of.side) === side) &&
    (principal === undefined || of.principal === principal) &&
    (reference === undefined || of.references.includes(reference))
  );
}

/** The streams write sides in cases of their own. A short sale sells, and what covers one buys. */
function directionOf(side: string): string | undefined {
  return /^(?:buy|sell)/.exec(side.toLowerCase())?.[0];
}
