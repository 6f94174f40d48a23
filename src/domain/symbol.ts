/**
 * Spellings of one symbol. An option contract has an OCC symbol: a root of one to six characters,
 * six date digits, C or P, eight strike digits. It is written compact (`AAPL261218C00200000`), with
 * its root padded to six by blanks (`AAPL 261218C00200000`), and with `O:` before it in options
 * quotes. The platform takes the compact form. `canonical_symbol` in Postgres follows the same
 * rule, and a test compares the two.
 */
const optionSymbol = /^(?:O:)?([A-Z0-9.]{1,6}) *(\d{6}[CP]\d{8})$/;

/**
 * The longest compact OCC symbol: an adjusted contract on a five-letter root
 * (`GOOGL1261218C00200000`).
 */
export const longestOptionSymbol = 21;

/** Most symbols are in their one form. An option's is longer, and would be looked at closer. */
const plainSymbol = /^[A-Z][A-Z0-9.-]{0,14}$/;

/**
 * A symbol's one form: upper case, no blanks around it, an option compact. Two texts with equal
 * forms name one instrument.
 */
export function canonicalSymbol(text: string): string {
  if (plainSymbol.test(text)) return text;
  const plain = text.replace(/^ +| +$/g, '').toUpperCase();
  const option = optionSymbol.exec(plain);
  return option === null ? plain : `${option[1]}${option[2]}`;
}

export function sameSymbol(a: string, b: string): boolean {
  return a === b || canonicalSymbol(a) === canonicalSymbol(b);
}

/** Blanks and the signs of ASCII. */
const signs = /[ -/:-@[-`{-~]/g;

/**
 * What a reader's symbol is compared by: the one form without its signs, since a share class is
 * `BRK.B`, `BRK/B` or `BRK B`, each at another venue. A text of signs alone stays as it is.
 * `symbol_letters` in Postgres follows the same rule, and a test compares the two.
 */
export function symbolLetters(text: string): string {
  const plain = canonicalSymbol(text);
  return plain.replace(signs, '') || plain;
}

/** Whether an account order's two symbols are one, also where they write its signs otherwise. */
export function sameLetters(a: string, b: string): boolean {
  return a === b || symbolLetters(a) === symbolLetters(b);
}

/** A contract has at least so many letters: a root of one, a date, C or P, and a strike. */
export const shortestContract = 16;

/**
 * Whether a reader's symbol names the instrument, in any spelling: its own symbol, or the contract
 * of a leg. The platform lists an option of one leg under its underlying.
 */
export function namesInstrument(
  wanted: string,
  {
    symbol,
    legs = [],
  }: { readonly symbol: string; readonly legs?: readonly { readonly symbol: string }[] | undefined },
): boolean {
  const letters = symbolLetters(wanted);
  const named = letters.length < shortestContract ? [symbol] : [symbol, ...legs.map((leg) => leg.symbol)];
  return named.some((each) => symbolLetters(each) === letters);
}

/**
 * A canonical OCC symbol's root: `AAPL` in `AAPL261218C00200000`. Undefined: it is not an option's
 * symbol.
 */
export function optionRoot(symbol: string): string | undefined {
  return optionSymbol.exec(symbol)?.[1];
}

/** The symbol over a contract: its root, or itself. */
export function contractRoot(contract: string): string {
  return optionRoot(contract) ?? contract;
}

/**
 * Limits know a leg by this underlying. It is `own`, the order's symbol, if the leg's root is that
 * symbol without its signs (`BRKB` for `BRK.B`), also with an adjusted contract's digit (`AAPL1`).
 * Any other root stands for itself: an order on AAPL may carry a leg on TSLA.
 */
export function underlyingOf(leg: string, own: string): string {
  const root = contractRoot(leg);
  const plain = own.replace(/[^A-Z0-9]/g, '');
  return [own, plain].some((each) => root === each || root.replace(/\d$/, '') === each) ? own : root;
}
