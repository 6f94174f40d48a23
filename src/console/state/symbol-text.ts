import type { NormalisedOrder } from '../../../types/records.d.ts';
import { canonicalSymbol, symbolLetters } from '../../domain/symbol.ts';
import type { OrderRow } from './orders/order-row.ts';

/** Typed text may break off within a contract; `O:` is no part of it. */
function lettersOf(text: string): string {
  const letters = symbolLetters(canonicalSymbol(text).replace(/^O:/, ''));
  return /[^ -/:-@[-`{-~]/.test(letters) ? letters : '';
}

/**
 * Whether the typed text begins a symbol of the order, in any spelling: its own, or a leg's. The
 * platform lists an option with one leg under its underlying, and the contract is the leg's symbol.
 */
export function symbolFilter(typed: string): (instrument: NormalisedOrder['instrument']) => boolean {
  const wanted = lettersOf(typed);
  // A text with signs alone names nothing; it would begin every symbol.
  if (wanted === '') return () => false;
  return ({ symbol, legs = [] }) =>
    lettersOf(symbol).startsWith(wanted) || legs.some((leg) => lettersOf(leg.symbol).startsWith(wanted));
}

/** The symbols of orders of one kind, or of their legs, each once and by the alphabet. */
export function symbolsOf(kind: string, rows: Iterable<OrderRow>, ofLegs = false): readonly string[] {
  const symbols = new Set<string>();
  for (const { order } of rows) {
    const { instrument } = order;
    if (instrument.kind === kind)
      for (const { symbol } of ofLegs ? (instrument.legs ?? []) : [instrument]) symbols.add(symbol);
  }
  return [...symbols].sort();
}
