import type { Clock, Timer } from '../../runtime/clock.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type ExchangeAccount, type ExchangeOrder, isClosed } from '../exchange/exchange-order.ts';
import { loseSight, regainSight } from '../exchange/venue-steps.ts';

/**
 * Prediction orders that the platform cannot confirm for a while (specification, `certainty`).
 *
 * Invariant: an order made uncertain here becomes certain again after its time, or when it heals,
 * whichever is first; the market leaves it alone meanwhile. Of two faults on one order, the time of
 * the later one counts.
 */
export class Uncertainty {
  /** Each with the orders that were lost together with it last: they come back together. */
  private readonly lost = new Map<ExchangeOrder, readonly ExchangeOrder[]>();
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
    const open = this.openOrders(account);
    this.lose(open, forMs, 'unknown_gap', 'The order session had a gap; a recovery is running');
    return open.length;
  }

  /**
   * The store of prediction orders was lost. Every version on the account restarts at 1, the
   * `forgotten` oldest open orders are gone for good, the others say so for `forMs`. Closed orders
   * restart without an event: nothing about them changed but their number.
   */
  storeLost(account: ExchangeAccount, forMs: number, forgotten: number): number {
    const open = this.openOrders(account);
    for (const order of open.splice(0, forgotten)) this.exchange.forget(order);
    for (const order of this.exchange.ordersOf(account, 'prediction')) order.version = isClosed(order.state) ? 1n : 0n;
    this.lose(open, forMs, 'unknown_store_lost', 'The order store was lost; versions start again');
    return open.length;
  }

  private openOrders(account: ExchangeAccount): ExchangeOrder[] {
    return this.exchange.ordersOf(account, 'prediction').filter(({ state }) => !isClosed(state));
  }

  restoreAll(): void {
    this.restore([...this.lost.keys()]);
  }

  stop(): void {
    for (const timer of this.timers) timer.cancel();
    this.timers.clear();
  }

  private lose(
    orders: readonly ExchangeOrder[],
    forMs: number,
    certainty: 'unknown_gap' | 'unknown_store_lost',
    reason: string,
  ): void {
    for (const order of orders) {
      this.lost.set(order, orders);
      loseSight(this.exchange, order, certainty, reason);
    }
    const timer = this.clock.after(forMs, () => {
      this.timers.delete(timer);
      this.restore(orders.filter((order) => this.lost.get(order) === orders));
    });
    this.timers.add(timer);
  }

  private restore(orders: readonly ExchangeOrder[]): void {
    for (const order of orders)
      if (this.lost.delete(order) && order.entry !== undefined) regainSight(this.exchange, order);
  }
}
