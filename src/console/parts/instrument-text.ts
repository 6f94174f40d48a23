import type { Instrument } from '../../../types/records.d.ts';

/** An instrument in one line: `AAPL`, `RAIN-26 YES`, `SPX, 2 legs`. */
export function instrumentText({ symbol, outcome, legs }: Instrument): string {
  if (outcome !== undefined) return `${symbol} ${outcome}`;
  return legs !== undefined && legs.length > 1 ? `${symbol}, ${legs.length} legs` : symbol;
}
