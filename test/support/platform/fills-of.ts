import { Decimal } from 'decimal.js';

/** What the fills on a list of updates come to, as a consumer would book them. */
// biome-ignore lint/suspicious/noExplicitAny: updates as they came
export function fillsOf(updates: readonly any[]): string {
  return updates.reduce((sum, { fill }) => sum.plus(fill?.quantity ?? 0), new Decimal(0)).toString();
}
