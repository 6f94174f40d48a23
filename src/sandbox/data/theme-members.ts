import type { Theme } from '../../platform/wire/investment-theme.ts';
import { stocks } from './listings.ts';
import { noise, numberOf } from './noise.ts';

/** The stocks of a theme: two to six of those that are traded here, by the seed. */
export function membersOf(seed: number, theme: Theme): string[] {
  const id = numberOf(theme);
  const count = 2 + Math.floor(noise(seed, id) * 5);
  const rank = (symbol: string) => noise(seed, id, numberOf(symbol));
  return stocks
    .map(({ symbol }) => symbol)
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, count);
}
