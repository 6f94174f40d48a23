import type { Instrument } from '../../../types/records.d.ts';

/** An instrument in one line: `AAPL`, `RAIN-26 YES`, `SPX, 2 legs`. */
export function instrumentText(instrument: Instrument): string {
  const { start, end } = instrumentParts(instrument);
  return `${start}${end}`;
}

/** C or P and the strike of a contract. */
const endLength = 9;

/**
 * The text in two parts, of which a narrow place may cut the first alone. The end says which of
 * two opposite contracts it is: the outcome, the last letters of a long symbol, the number of legs.
 * The platform lists an option of one leg under its underlying, so there the leg is the instrument.
 */
export function instrumentParts({ symbol, outcome, legs = [] }: Instrument): {
  readonly start: string;
  readonly end: string;
} {
  const [only] = legs;
  if (legs.length > 1) return { start: symbol, end: `, ${legs.length} legs` };
  const name = only?.symbol ?? symbol;
  const cut = Math.max(name.length - endLength, Math.ceil(name.length / 2));
  return { start: name.slice(0, cut), end: `${name.slice(cut)}${outcome === undefined ? '' : ` ${outcome}`}` };
}
