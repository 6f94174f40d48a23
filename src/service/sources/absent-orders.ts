import type { Stream } from '../../domain/order.ts';
import type { Logger } from '../../observability/logger.ts';
import { absenceCauses } from '../../observability/source-metrics.ts';
import { BudgetedMap, type ByteBudget } from '../../runtime/byte-budget.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { OpenOrder } from '../../store/fleet/account-registry.ts';
import { restAfter } from './questions.ts';
import type { RowIntake } from './row-intake.ts';

/**
 * Why the platform answers 404 for an order we hold open. `store_lost`: it was in a store the
 * platform has lost since. `forgotten`: it is still unknown after a quarter hour.
 */
type AbsenceCause = (typeof absenceCauses)[number];

export interface Absence {
  readonly cause: AbsenceCause;
  readonly orders: number;
  /** The first of them, for people. */
  readonly orderIds: readonly string[];
}

interface Absent {
  answers: number;
  /** Monotonic time before which the order is not asked for again. */
  nextMs: number;
  readonly lostWithStore: boolean;
}

/** Asked for at 0, 1, 3, 7 and 15 minutes. */
const answersUntilForgotten = 5;
const named = 20;

const none: readonly Absence[] = Object.freeze([]);

/**
 * Orders we hold open and the platform does not know. Its answer proves nothing and changes
 * nothing. Each is asked for at growing intervals instead of with every read, and shown. It is
 * removed here as soon as any row names it, from any source. Without room for an order, every audit
 * asks for it.
 */
export class AbsentOrders {
  private readonly orders: BudgetedMap<Absent>;
  private readonly counts: Record<AbsenceCause, number> = { store_lost: 0, forgotten: 0 };
  private readonly deps: {
    readonly clock: Clock;
    readonly log: Logger;
    readonly intake: Pick<RowIntake, 'sourceEpoch'>;
    readonly budget: ByteBudget;
  };
  private readonly options: { readonly stream: Stream; readonly accountId: string };

  constructor(deps: AbsentOrders['deps'], options: { stream: Stream; accountId: string; signal: AbortSignal }) {
    const { signal, ...about } = options;
    this.deps = deps;
    this.options = about;
    this.orders = new BudgetedMap(deps.budget.share({ signal, lasting: true }));
  }

  /** Whether a read should ask for the order. */
  isDue(orderId: string): boolean {
    const known = this.orders.get(orderId);
    return known === undefined || this.deps.clock.monotonicMs() >= known.nextMs;
  }

  /** The orders here that a read should ask for. */
  due(): Pick<OpenOrder, 'orderId'>[] {
    return [...this.orders.keys()].filter((orderId) => this.isDue(orderId)).map((orderId) => ({ orderId }));
  }

  /**
   * The platform answered it does not know these orders. False: there was no room for some of them.
   */
  note(absent: readonly Pick<OpenOrder, 'orderId' | 'sourceEpoch'>[]): boolean {
    const before = this.shownCount;
    const { clock, intake, log } = this.deps;
    let allKept = true;
    for (const { orderId, sourceEpoch = 0 } of absent) {
      const known = this.orders.get(orderId);
      const order = known ?? { answers: 0, nextMs: 0, lostWithStore: sourceEpoch < intake.sourceEpoch };
      if (!this.orders.keep(orderId, order)) {
        allKept = false;
        continue;
      }
      if (known !== undefined) this.count(known, -1);
      order.nextMs = clock.monotonicMs() + restAfter('absent', order.answers);
      order.answers += 1;
      this.count(order, 1);
    }
    if (this.shownCount > before)
      log.warn(
        { ...this.options, absent: this.shown },
        'orders that we hold open are unknown to the platform: they stay as they are',
      );
    return allKept;
  }

  /** A row of the order came. Every row passes here: it costs nothing while no order is absent. */
  seen(orderId: string): void {
    if (this.orders.size === 0) return;
    const known = this.orders.get(orderId);
    if (known === undefined) return;
    this.count(known, -1);
    this.orders.delete(orderId);
  }

  get shown(): readonly Absence[] {
    // Each account is asked each second, and almost none has any.
    if (this.shownCount === 0) return none;
    return absenceCauses.flatMap((cause) => {
      const orders = this.counts[cause];
      return orders === 0 ? [] : [{ cause, orders, orderIds: this.firstOf(cause) }];
    });
  }

  private firstOf(cause: AbsenceCause): string[] {
    const orderIds: string[] = [];
    for (const [orderId, order] of this.orders) {
      if (causeOf(order) === cause) orderIds.push(orderId);
      if (orderIds.length === Math.min(named, this.counts[cause])) break;
    }
    return orderIds;
  }

  private get shownCount(): number {
    return this.counts.store_lost + this.counts.forgotten;
  }

  private count(order: Absent, by: 1 | -1): void {
    const cause = causeOf(order);
    if (cause !== undefined) this.counts[cause] += by;
  }
}

function causeOf({ answers, lostWithStore }: Absent): AbsenceCause | undefined {
  if (lostWithStore) return 'store_lost';
  return answers >= answersUntilForgotten ? 'forgotten' : undefined;
}
