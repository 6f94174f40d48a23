import { Exchange } from '../../../src/sandbox/exchange/exchange.ts';
import type { ExchangeAccount, ExchangeOrder, Stream } from '../../../src/sandbox/exchange/exchange-order.ts';
import { Market, type MarketOptions } from '../../../src/sandbox/market/market.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import { VirtualClock } from '../runs/virtual-clock.ts';

interface Change {
  readonly order: ExchangeOrder;
  readonly step: string;
}

/**
 * An exchange with one account of each kind and a market that moves
 * by hand, on a virtual clock; no sockets.
 */
export function book(options: Partial<MarketOptions> & { seed?: number; maxOrders?: number } = {}) {
  const clock = new VirtualClock();
  const changes: Change[] = [];
  const listeners: ((change: Change) => void)[] = [(change) => changes.push(change)];
  const tell = (change: Change) => {
    for (const listener of listeners) listener(change);
  };
  const exchange = new Exchange(
    { clock, onChange: (order, step) => tell({ order, step }) },
    { maxOrders: options.maxOrders ?? 1_000_000 },
  );
  const account: ExchangeAccount = { id: 'A-1', owner: 'alice', traded: true, predictions: true, status: 'OPEN' };
  exchange.addAccount(account);
  const random = seededRandom(options.seed ?? 1);
  const market = new Market({ exchange, random, clock }, { openOrders: 20, predictionShare: 0.5, ...options });
  const open = (stream: Stream = 'prediction') =>
    exchange.open(market.inventor.invent(stream, account, clock.nowMs() * 1000), 'opened');
  return {
    clock,
    exchange,
    account,
    market,
    random,
    changes,
    open,
    onChange: (listener: (change: Change) => void) => listeners.push(listener),
  };
}
