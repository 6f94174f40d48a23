/** The data of a stock or index besides its price. */
interface Listing {
  readonly symbol: string;
  readonly name: string;
  readonly exchange: string;
  readonly type: 'stock' | 'index';
  /** The symbol search's category. */
  readonly tag: string;
  /** Thousands of shares; 0 for an index. */
  readonly thousandShares: number;
}

const rows: readonly (readonly [string, string, string, string, number])[] = [
  ['AAPL', 'Apple Inc.', 'NASDAQ', 'technology', 15_115_800],
  ['MSFT', 'Microsoft Corporation', 'NASDAQ', 'technology', 7_434_000],
  ['NVDA', 'NVIDIA Corporation', 'NASDAQ', 'technology', 24_490_000],
  ['AMZN', 'Amazon.com, Inc.', 'NASDAQ', 'consumer', 10_515_000],
  ['GOOG', 'Alphabet Inc. Class C', 'NASDAQ', 'technology', 12_190_000],
  ['TSLA', 'Tesla, Inc.', 'NASDAQ', 'consumer', 3_210_000],
  ['JPM', 'JPMorgan Chase & Co.', 'NYSE', 'financials', 2_815_000],
  ['XOM', 'Exxon Mobil Corporation', 'NYSE', 'energy', 4_395_000],
  ['KO', 'The Coca-Cola Company', 'NYSE', 'consumer', 4_310_000],
  ['F', 'Ford Motor Company', 'NYSE', 'consumer', 3_974_000],
  ['PLTR', 'Palantir Technologies Inc.', 'NASDAQ', 'technology', 2_278_000],
  ['BRK.B', 'Berkshire Hathaway Inc. Class B', 'NYSE', 'financials', 1_325_000],
];

export const stocks: readonly Listing[] = rows.map(([symbol, name, exchange, tag, thousandShares]) => ({
  symbol,
  name,
  exchange,
  type: 'stock',
  tag,
  thousandShares,
}));

/** Found by the search; not quoted or traded here. */
export const indices: readonly Listing[] = [
  { symbol: 'SPX', name: 'S&P 500 Index', exchange: 'CBOE', type: 'index', tag: 'index', thousandShares: 0 },
  { symbol: 'NDX', name: 'Nasdaq-100 Index', exchange: 'NASDAQ', type: 'index', tag: 'index', thousandShares: 0 },
  { symbol: 'VIX', name: 'Cboe Volatility Index', exchange: 'CBOE', type: 'index', tag: 'index', thousandShares: 0 },
];

/**
 * On the first trading day after the sandbox's past this stock went from one share to `into`: the
 * raw bars before are in old shares.
 */
export const split = { symbol: 'KO', into: 2 } as const;

const bySymbol = new Map([...stocks, ...indices].map((listing) => [listing.symbol, listing]));

export function listingOf(symbol: string): Listing | undefined {
  return bySymbol.get(symbol);
}
