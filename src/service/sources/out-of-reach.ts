import { isTerminal, type OrderStatus, type Stream } from '../../domain/order.ts';
import { isAddressable } from '../../domain/platform-id.ts';
import type { Logger } from '../../observability/logger.ts';
import { BudgetedMap, type ByteBudget } from '../../runtime/byte-budget.ts';

/** One account's open orders beyond the reach of requests. */
export interface OutOfReach {
  readonly orders: number;
  /** The first of them, for people. */
  readonly orderIds: readonly string[];
  /** Wall time: since the oldest is known here. */
  readonly sinceMs?: number;
}

const named = 3;
const none: OutOfReach = Object.freeze({ orders: 0, orderIds: Object.freeze([]) });

/**
 * Open orders with an id that can't be put in an address of the platform (`isAddressable`): they
 * are followed, and can't be looked at, replaced or cancelled. They are named as soon as one is
 * shown, since a kill switch is no time to learn it. Only rows with an odd id come here. Without
 * room for an order, it is not named.
 */
export class OrdersOutOfReach {
  private readonly orders: BudgetedMap<number>;
  private readonly deps: { readonly clock: { nowMs(): number }; readonly log: Logger };
  private readonly about: { readonly stream: Stream; readonly accountId: string };

  constructor(
    deps: OrdersOutOfReach['deps'] & { readonly budget: ByteBudget },
    { signal, ...about }: OrdersOutOfReach['about'] & { readonly signal: AbortSignal },
  ) {
    this.deps = deps;
    this.about = about;
    this.orders = new BudgetedMap(deps.budget.share({ signal, lasting: true }));
  }

  /** A row of the order came, or a read would ask for it: then it is held to be open. */
  note(orderId: string, status?: OrderStatus): void {
    if (status !== undefined && isTerminal(status)) {
      this.orders.delete(orderId);
      return;
    }
    if (this.orders.has(orderId) || isAddressable(orderId)) return;
    if (!this.orders.keep(orderId, this.deps.clock.nowMs())) return;
    this.deps.log.warn(
      { ...this.about, orderId },
      'the id of an open order could be read as another address on the way to the platform: it can be cancelled only there',
    );
  }

  get shown(): OutOfReach {
    const [oldest] = this.orders;
    if (oldest === undefined) return none;
    return { orders: this.orders.size, orderIds: [...this.orders.keys()].slice(0, named), sinceMs: oldest[1] };
  }
}
