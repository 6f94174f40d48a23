import type { Instrument, NormalisedOrder } from '../../../types/records.d.ts';
import { amountText } from '../state/text/decimal-text.ts';

/** An instrument in one line: `AAPL`, `RAIN-26 YES`, `SPX, 2 legs`. */
export function instrumentText(instrument: Instrument): string {
  const { outcome } = instrument;
  return `${instrumentParts(instrument).join('')}${outcome === undefined ? '' : ` ${outcome}`}`;
}

/** The quantity that the venue works on, or the amount of money: `100`, `250.00 USD`. */
export function sizeText({ working: { quantity }, notional }: Pick<NormalisedOrder, 'working' | 'notional'>): string {
  return quantity === undefined && notional !== undefined ? `${amountText(notional, 2)} USD` : amountText(quantity);
}

/** C or P and the strike of a contract. */
const endLength = 9;

/**
 * Its name without an outcome, in two parts: a narrow place may cut the first alone. The end tells
 * like contracts apart: a long symbol's last letters, the number of legs. The platform lists an
 * option with one leg under its underlying, so there the leg is the instrument.
 */
export function instrumentParts({ symbol, legs = [] }: Instrument): readonly [start: string, end: string] {
  const [only] = legs;
  if (legs.length > 1) return [symbol, `, ${legs.length} legs`];
  const name = only?.symbol ?? symbol;
  const cut = Math.max(name.length - endLength, Math.ceil(name.length / 2));
  return [name.slice(0, cut), name.slice(cut)];
}
