import type { NormalisedOrder } from '../../../types/records.d.ts';

const contract = /^(?:O:)?([A-Z0-9.]{1,6}) *(\d{6}[CP]\d{8})$/;

/**
 * The service's rule for the one form of a symbol (`domain/symbol.ts`), which the browser does not
 * have; a test compares the two.
 */
export function canonicalSymbol(text: string): string {
  const plain = text.replace(/^ +| +$/g, '').toUpperCase();
  const [, root, rest] = contract.exec(plain) ?? [];
  return root === undefined ? plain : `${root}${rest}`;
}

/**
 * Letters and digits alone: a share class is `BRK.B`, `BRK/B` or `BRK B`, each at another venue.
 */
function lettersOf(text: string): string {
  return canonicalSymbol(text)
    .replace(/^O:/, '')
    .replace(/[^\p{L}\p{N}]/gu, '');
}

/**
 * Whether what a reader typed begins a symbol of the order, in any spelling: its
 * own, or that of a leg. The platform lists an option of one leg under its
 * underlying, and the contract is the leg's symbol.
 */
export function symbolFilter(typed: string): (instrument: NormalisedOrder['instrument']) => boolean {
  const wanted = lettersOf(typed);
  // A text of signs alone names nothing; it would begin every symbol.
  if (wanted === '') return () => false;
  return ({ symbol, legs = [] }) =>
    lettersOf(symbol).startsWith(wanted) || legs.some((leg) => lettersOf(leg.symbol).startsWith(wanted));
}
