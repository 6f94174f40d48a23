import type { Random } from '../../src/runtime/random.ts';
import { type ExchangeOrder, isClosed } from '../../src/sandbox/exchange/exchange-order.ts';
import { askVenue, refusePending } from '../../src/sandbox/exchange/venue-steps.ts';
import { oneOf } from '../../src/sandbox/market/instruments.ts';
import type { SimulatedWorld } from './simulated-world.ts';

const everyMs = 100;

/**
 * People who cancel an order of their own while a cancel of ours for it is on its way, and whose
 * cancel the venue refuses: what the order then shows looks like the refusal of ours. By the market
 * alone that meets once in many hundred runs.
 */
export class OwnersCancels {
  private readonly world: SimulatedWorld;
  private readonly random: Random;

  constructor(world: SimulatedWorld, random: Random) {
    this.world = world;
    this.random = random;
  }

  /** Until `goesOn` says no. */
  begin(goesOn: () => boolean): void {
    if (!goesOn()) return;
    this.act();
    this.world.clock.after(this.random.next() * everyMs * 2, () => this.begin(goesOn));
  }

  private act(): void {
    const { clock, platform } = this.world;
    const orders = this.contested();
    if (orders.length === 0) return;
    const order = oneOf(this.random, orders);
    askVenue(platform.exchange, order, 'cancel');
    clock.after(200 + this.random.next() * 1_000, () => {
      if (this.isOwners(order) && order.pendingAction === 'cancel')
        refusePending(platform.exchange, order, 'too_late_to_cancel', 'Too late to cancel');
    });
  }

  /** Orders at work of which a cancel of ours has left and has not arrived. */
  private contested(): ExchangeOrder[] {
    const { journal, platform } = this.world;
    const underway = [...journal.commands.values()].filter(
      ({ request, attempts }) =>
        request.kind === 'cancel' &&
        attempts.some(({ attemptId }) => platform.ledger.ofAttempt(attemptId).some(({ fate }) => fate === 'underway')),
    );
    return underway.flatMap(({ orderId = '' }) => {
      const order = platform.exchange.orders.get(orderId);
      const isQuiet = order?.certainty === 'certain' && order.pendingAction === 'none' && order.state !== 'pending_new';
      return order !== undefined && isQuiet && this.isOwners(order) ? [order] : [];
    });
  }

  /** From the moment that a cancel of ours arrives, the venue moves it (entered-orders.ts). */
  private isOwners(order: ExchangeOrder): boolean {
    return !isClosed(order.state) && !this.world.platform.entered.has(order);
  }
}
