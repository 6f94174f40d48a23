import type { NormalisedOrder } from '../../../types/records.d.ts';

const contract = /^(?:O:)?([A-Z0-9.]{1,6}) *(\d{6}[CP]\d{8})$/;

/**
 * The service's rule for the one form of a symbol (`domain/symbol.ts`), missing in the browser; a
 * test compares the two.
 */
export function canonicalSymbol(text: string): string {
  const plain = text.replace(/^ +| +$/g, '').toUpperCase();
  const [, root, rest] = contract.exec(plain) ?? [];
  return root === undefined ? plain : `${root}${rest}`;
}

/** The service's rule for comparing symbols in its lists; a test compares the two. */
export function symbolLetters(text: string): string {
  const plain = canonicalSymbol(text);
  return plain.replace(/[ -/:-@[-`{-~]/g, '') || plain;
}

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
