import type { Clock, Timer } from '../../runtime/clock.ts';
import { present } from '../exchange/change-list.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ExchangeAccount } from '../exchange/exchange-order.ts';
import { type ExchangeOrder, isClosed } from '../exchange/exchange-order.ts';
import { loseSight, regainSight } from '../exchange/venue-steps.ts';

/**
 * Prediction orders that the platform cannot confirm for a while (specification, `certainty`).
 *
 * Invariant: an order made uncertain here becomes certain again after its time, or when it heals,
 * whichever is first; the market leaves it alone meanwhile.
 */
export class Uncertainty {
  private readonly lost = new Set<ExchangeOrder>();
  private readonly timers = new Set<Timer>();
  private readonly exchange: Exchange;
  private readonly clock: Clock;

  constructor(deps: { exchange: Exchange; clock: Clock }) {
    this.exchange = deps.exchange;
    this.clock = deps.clock;
  }

  /**
   * Something may have been missed: the account's open orders are unknown for `forMs`. Returns how
   * many.
   */
  gap(account: ExchangeAccount, forMs: number): number {
    const open = openOrders(this.exchange, account);
    for (const order of open) this.lose(order, 'unknown_gap', 'The order session had a gap; a recovery is running');
    this.restoreLater(open, forMs);
    return open.length;
  }

  /**
   * The store of prediction orders was lost. Every version on the account restarts at 1, the
   * `forgotten` oldest open orders are gone for good, the others say so for `forMs`. Closed orders
   * restart without an event: nothing about them changed but their number.
   */
  storeLost(account: ExchangeAccount, forMs: number, forgotten: number): number {
    const open = openOrders(this.exchange, account);
    for (const order of open.splice(0, forgotten)) this.exchange.forget(order);
    this.exchange.listOf(account, 'prediction').visit(0, present, (entry) => {
      if (entry.wasClosed) entry.order.version = 1n;
      return true;
    });
    for (const order of open) {
      order.version = 0n;
      this.lose(order, 'unknown_store_lost', 'The order store was lost; versions start again');
    }
    this.restoreLater(open, forMs);
    return open.length;
  }

  restoreAll(): void {
    this.restore([...this.lost]);
  }

  stop(): void {
    for (const timer of this.timers) timer.cancel();
    this.timers.clear();
  }

  private lose(order: ExchangeOrder, certainty: 'unknown_gap' | 'unknown_store_lost', reason: string): void {
    this.lost.add(order);
    loseSight(this.exchange, order, certainty, reason);
  }

  private restoreLater(orders: readonly ExchangeOrder[], forMs: number): void {
    const timer = this.clock.after(forMs, () => {
      this.timers.delete(timer);
      this.restore(orders);
    });
    this.timers.add(timer);
  }

  private restore(orders: readonly ExchangeOrder[]): void {
    for (const order of orders)
      if (this.lost.delete(order) && order.entry !== undefined) regainSight(this.exchange, order);
  }
}

function openOrders(exchange: Exchange, account: ExchangeAccount): ExchangeOrder[] {
  const open: ExchangeOrder[] = [];
  exchange.listOf(account, 'prediction').visit(0, present, ({ order }) => {
    if (!isClosed(order.state)) open.push(order);
    return true;
  });
  return open;
}
