import { numberOf } from './daily-bars.ts';
import type { DayPrices, LivePrice } from './day-prices.ts';
import { listingOf } from './listings.ts';
import { optionContract, theoreticalTicks } from './option-contracts.ts';

/** One chart quote item (specification, "Chart quote response"): prices as JSON numbers. */
interface ChartItem {
  readonly n: string;
  readonly s: string;
  readonly v: Readonly<Record<string, string | number>>;
}

/** A stock, or an option by its compact OCC symbol; undefined for a symbol not traded here. */
export function chartItem(prices: DayPrices, symbol: string): ChartItem | undefined {
  return stockItem(prices, symbol) ?? optionItem(prices, symbol);
}

function stockItem(prices: DayPrices, symbol: string): ChartItem | undefined {
  const live = prices.live(symbol);
  const listing = listingOf(symbol);
  if (live === undefined || listing === undefined) return undefined;
  return itemOf(symbol, listing.exchange, listing.name, live);
}

/**
 * An option follows its stock: its worth at the stock's price now, and at the open, high and low of
 * the stock's day.
 */
function optionItem(prices: DayPrices, symbol: string): ChartItem | undefined {
  const contract = optionContract(symbol);
  const stock = contract === undefined ? undefined : prices.live(contract.underlying);
  if (contract === undefined || stock === undefined || contract.expires < prices.today) return undefined;
  const last = theoreticalTicks(contract, stock.last, prices.today);
  const previousClose = theoreticalTicks(contract, stock.previousClose, prices.today - 1);
  const open = theoreticalTicks(contract, stock.open, prices.today);
  // A put is dearest when its stock is cheapest.
  const edges = [
    open,
    last,
    ...[stock.high, stock.low].map((ticks) => theoreticalTicks(contract, ticks, prices.today)),
  ];
  return itemOf(symbol, 'OPRA', `Option on ${contract.underlying}`, {
    ...{ last, previousClose, open, ask: last + 1, bid: last - 1, volume: contractsTraded(symbol, stock.volume) },
    ...{ high: Math.max(...edges), low: Math.min(...edges) },
  });
}

function itemOf(symbol: string, exchange: string, description: string, live: LivePrice): ChartItem {
  return {
    n: `${exchange}:${symbol}`,
    s: symbol,
    v: {
      ...changes(live.last, live.previousClose),
      ...{ ask: dollars(live.ask), bid: dollars(live.bid), description, exchange },
      ...{ high_price: dollars(live.high), low_price: dollars(live.low), open_price: dollars(live.open) },
      ...{ short_name: symbol, volume: live.volume },
    },
  };
}

/**
 * One contract for some ten thousand shares, by its symbol. It grows over the session with the
 * stock's volume.
 */
function contractsTraded(symbol: string, shares: number): number {
  return Math.floor(shares / (10_000 + (numberOf(symbol) % 90_000)));
}

function changes(last: number, previousClose: number): Record<'lp' | 'ch' | 'chp' | 'prev_close_price', number> {
  const percent = ((last - previousClose) / previousClose) * 100;
  return {
    lp: dollars(last),
    ch: dollars(last - previousClose),
    chp: Number(percent.toFixed(2)),
    prev_close_price: dollars(previousClose),
  };
}

/** The nearest double to a count of cents. Its shortest text is those cents again. */
export function dollars(ticks: number): number {
  return ticks / 100;
}
