import { averageOfRest, compareDecimals, parseDecimal, subtractDecimals } from './decimal.ts';
import type { Fill } from './head.ts';
import type { Order } from './order.ts';

/**
 * What cumQty rose by between two revisions, or undefined when it did not rise (a correction takes back; it is not a fill of negative size).
 *
 * The price is exact arithmetic on what the platform said: (avgPrice · cumQty − earlier avgPrice · earlier cumQty) / rise, with the rounding of averages
 * taken back (`averageOfRest`). It is left out where either average is missing, and where rounding or a price correction would make it nonsense
 * (another sign than the average's).
 */
export function deriveFill(before: Order | undefined, after: Order, inferred: boolean): Fill | undefined {
  const earlierQty = before?.cumQty ?? '0';
  if (compareDecimals(after.cumQty, earlierQty) <= 0) return undefined;
  const quantity = subtractDecimals(after.cumQty, earlierQty);
  const price = fillPrice(before, after);
  return price === undefined ? { quantity, inferred } : { quantity, price, inferred };
}

function fillPrice(before: Order | undefined, after: Order): string | undefined {
  const average = after.avgPrice;
  if (average === undefined) return undefined;
  if (before === undefined || before.cumQty === '0' || before.avgPrice === average) return average;
  if (before.avgPrice === undefined) return undefined;
  const price = averageOfRest({ quantity: after.cumQty, average }, { quantity: before.cumQty, average: before.avgPrice });
  const withinLimits = parseDecimal(price);
  return withinLimits !== undefined && compareDecimals(withinLimits, '0') === compareDecimals(average, '0') ? price : undefined;
}
