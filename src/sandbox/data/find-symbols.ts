import type { FoundSymbol } from '../../venue/platform/wire/market-data.ts';
import type { DayPrices } from './day-prices.ts';
import { indices, stocks } from './listings.ts';
import { contractsAround, type OptionContract, optionContract } from './option-contracts.ts';
import { dayText } from './trading-days.ts';

/**
 * Stocks and indices with a symbol that begins with the query or a name that holds it, an exact
 * symbol first. With a leading `.`: options with a symbol that begins with the rest (specification,
 * "GET /v1/marketdata/search"). Case does not matter.
 */
export function findSymbols(prices: DayPrices, query: string, limit: number): FoundSymbol[] {
  return query.startsWith('.')
    ? findOptions(prices, query.slice(1).trim().toUpperCase(), limit)
    : findListings(query.trim().toUpperCase(), limit);
}

function findListings(query: string, limit: number): FoundSymbol[] {
  const rank = (symbol: string) => (symbol === query ? 0 : symbol.startsWith(query) ? 1 : 2);
  return [...stocks, ...indices]
    .filter(({ symbol, name }) => symbol.startsWith(query) || name.toUpperCase().includes(query))
    .sort((a, b) => rank(a.symbol) - rank(b.symbol))
    .slice(0, limit)
    .map(({ symbol, name, tag, type }) => ({ symbol, description: name, tag, type }));
}

function findOptions(prices: DayPrices, query: string, limit: number): FoundSymbol[] {
  const exact = optionContract(query);
  // A strike far from the price is listed, but not offered.
  if (exact !== undefined) return [describe(exact)];
  return stocks
    .filter(({ symbol }) => mayMatch(symbol.replace('.', ''), query))
    .flatMap(({ symbol }) => contractsAround(symbol, prices.live(symbol)?.last ?? 0, prices.today))
    .filter((contract) => contract.symbol.startsWith(query))
    .slice(0, limit)
    .map(describe);
}

function mayMatch(root: string, query: string): boolean {
  return query.startsWith(root) || root.startsWith(query);
}

function describe(contract: OptionContract): FoundSymbol {
  const { symbol, underlying, expires, right, strike } = contract;
  const description = `${underlying} ${dayText(expires)} ${strike / 100} ${right === 'C' ? 'Call' : 'Put'}`;
  return { symbol, description, tag: 'option', type: 'option' };
}
