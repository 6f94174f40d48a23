import type { Clock } from '../../runtime/clock.ts';
import { ChangeList, present } from './change-list.ts';
import { encodeRow } from './encode-row.ts';
import { type ExchangeAccount, type ExchangeOrder, isClosed, type OrderTerms, type Stream } from './exchange-order.ts';
import type { Micros } from './wire-text.ts';

/**
 * Called after each change, in the changes' order. `step` names the change: `accepted`, `fill`,
 * `canceled` …
 */
export type ChangeListener = (order: ExchangeOrder, step: string) => void;

interface ExchangeOptions {
  /**
   * Orders kept at most. Beyond it the oldest closed ones are forgotten, as by a platform's own
   * retention.
   */
  readonly maxOrders: number;
}

/**
 * The venue's books: every account, every order, and each one's present truth. All changes go
 * through `change`, from every side (market, control port, order entry), so that lists, streams and
 * ledger agree.
 *
 * Invariant: `updatedAt` strictly rises over all changes in the exchange, even when the wall clock
 * steps back; a prediction order's version rises by at least one with each change, unless its store
 * was lost; a closed order has `closedAt` and no pending action.
 */
export class Exchange {
  readonly accounts = new Map<string, ExchangeAccount>();
  readonly orders = new Map<string, ExchangeOrder>();
  private readonly lists = new Map<ExchangeAccount, Readonly<Record<Stream, ChangeList>>>();
  /** A set only where several orders share a reference: most orders have one of their own. */
  private readonly byReference = new Map<string, ExchangeOrder | Set<ExchangeOrder>>();
  private readonly closed: ExchangeOrder[] = [];
  private firstClosed = 0;
  private lastAt: Micros = 0;
  private historyMs = 0;
  private historySince: Micros = 0;
  /** Orders. */
  forgotten = 0;
  private readonly clock: Clock;
  private readonly options: ExchangeOptions;
  private readonly listener: ChangeListener;
  private readonly onForgotten: ((order: ExchangeOrder) => void) | undefined;
  /** A new order's id, as the venue writes it. */
  readonly idOf: (given: string) => string;
  private readonly rowOf: (order: ExchangeOrder) => string;

  /**
   * `onForgotten`: for each open order that is forgotten. Its movers let go of it then. `idOf`: how
   * the platform writes a new order's id; left out: as it is given. `rowOf`: how lagging
   * lists show an order; left out: as the platform's do.
   */
  constructor(
    deps: {
      clock: Clock;
      onChange: ChangeListener;
      onForgotten?: (order: ExchangeOrder) => void;
      idOf?: (given: string) => string;
      rowOf?: (order: ExchangeOrder) => string;
    },
    options: ExchangeOptions,
  ) {
    this.clock = deps.clock;
    this.listener = deps.onChange;
    this.onForgotten = deps.onForgotten;
    this.idOf = deps.idOf ?? ((given) => given);
    this.rowOf = deps.rowOf ?? encodeRow;
    this.options = options;
  }

  addAccount(account: ExchangeAccount): void {
    this.accounts.set(account.id, account);
    this.lists.set(account, { account: new ChangeList(), prediction: new ChangeList() });
  }

  /** The account's orders by their last change. Throws for an account that was never added. */
  listOf(account: ExchangeAccount, stream: Stream): ChangeList {
    const lists = this.lists.get(account);
    if (lists === undefined) throw new Error(`account ${account.id} is not on this exchange`);
    return lists[stream];
  }

  /** The account's orders as they are now, the oldest change first. */
  ordersOf(account: ExchangeAccount, stream: Stream): ExchangeOrder[] {
    const orders: ExchangeOrder[] = [];
    this.listOf(account, stream).visit(0, present, ({ order }) => orders.push(order) > 0);
    return orders;
  }

  /** The account's order with this id. */
  orderOf(account: ExchangeAccount, stream: Stream, orderId: string): ExchangeOrder | undefined {
    const order = this.orders.get(orderId);
    return order?.terms.account === account && order.terms.stream === stream ? order : undefined;
  }

  /**
   * From now on keeps rows as they were up to `forMs` ago, so that lists can lag by as much; 0
   * stops it.
   */
  keepHistory(forMs: number): void {
    if (this.historyMs === 0) this.historySince = this.lastAt;
    this.historyMs = forMs;
  }

  /**
   * A list that lags by `lagMs` shows this instant: never before history was kept. `present`
   * without lag.
   */
  asOf(lagMs: number): Micros {
    if (lagMs === 0 || this.historyMs === 0) return present;
    return Math.max(this.historySince, Math.floor(this.clock.nowMs() * 1000) - lagMs * 1000);
  }

  /**
   * A new order; `setUp` may change it before it can be seen. With `createdAt` it is from before
   * the start: in lists, but never on a stream.
   */
  open(given: OrderTerms, step: string, setUp?: (order: ExchangeOrder) => void, createdAt?: Micros): ExchangeOrder {
    const at = this.tick(createdAt);
    const terms = { ...given, orderId: this.idOf(given.orderId) };
    const order: ExchangeOrder = {
      terms,
      createdAt: at,
      state: 'pending_new',
      pendingAction: 'none',
      asked: undefined,
      amended: undefined,
      workingQuantity: terms.quantity,
      workingPrice: terms.price,
      workingOrderType: terms.orderType,
      cumQty: 0n,
      notional: 0n,
      lastQuantity: 0n,
      lastPrice: 0n,
      version: terms.version ?? 1n,
      certainty: 'certain',
      certaintyReason: undefined,
      certainState: 'pending_new',
      rejectReason: undefined,
      rejectText: undefined,
      venueOrderId: undefined,
      updatedAt: at,
      sentAt: at,
      firstAckAt: undefined,
      closedAt: undefined,
      replacedBy: undefined,
      entry: undefined,
      marketSlot: -1,
    };
    setUp?.(order);
    if (isClosed(order.state)) this.close(order);
    this.orders.set(terms.orderId, order);
    this.enterReference(order);
    this.listOf(terms.account, terms.stream).push(order, undefined, this.horizon());
    if (createdAt === undefined) this.listener(order, step);
    return order;
  }

  /**
   * One change in one order. Its new `updatedAt` and `version` stand before `mutate` runs, and
   * `mutate` may raise the version further. A forgotten order does not change.
   */
  change(order: ExchangeOrder, step: string, mutate: (order: ExchangeOrder) => void): void {
    if (order.entry === undefined) return;
    const before = this.historyMs > 0 ? this.rowOf(order) : undefined;
    const wasClosed = isClosed(order.state);
    order.updatedAt = this.tick(undefined);
    order.version += 1n;
    mutate(order);
    const closes = isClosed(order.state) && !wasClosed;
    this.listOf(order.terms.account, order.terms.stream).push(order, before, this.horizon());
    // Behind the push: a full exchange may forget this very order, and then no list has it.
    if (closes) this.close(order);
    this.listener(order, step);
  }

  /** The orders with this `clOrdId` or `clientOrderRef`, oldest first. */
  byClientReference(reference: string): ExchangeOrder[] {
    const found = this.byReference.get(reference);
    if (found === undefined) return [];
    return found instanceof Set ? [...found] : [found];
  }

  private enterReference(order: ExchangeOrder): void {
    const reference = referenceOf(order);
    const known = this.byReference.get(reference);
    if (known instanceof Set) known.add(order);
    else this.byReference.set(reference, known === undefined ? order : new Set([known, order]));
  }

  private leaveReference(order: ExchangeOrder): void {
    const reference = referenceOf(order);
    const known = this.byReference.get(reference);
    if (known instanceof Set) known.delete(order);
    if (known === order || (known instanceof Set && known.size === 0)) this.byReference.delete(reference);
  }

  private close(order: ExchangeOrder): void {
    order.closedAt = order.updatedAt;
    order.pendingAction = 'none';
    order.asked = undefined;
    this.closed.push(order);
    while (this.orders.size > this.options.maxOrders && this.firstClosed < this.closed.length) this.forgetOldest();
  }

  private forgetOldest(): void {
    const order = this.closed[this.firstClosed] as ExchangeOrder;
    this.firstClosed += 1;
    if (this.firstClosed > 65_536) {
      this.closed.splice(0, this.firstClosed);
      this.firstClosed = 0;
    }
    // A correction may have brought it back to life.
    if (isClosed(order.state)) this.forget(order);
  }

  /** Drops an order for good, without a change or an event: it is in no list any more. */
  forget(order: ExchangeOrder): void {
    if (!this.orders.has(order.terms.orderId)) return;
    this.forgotten += 1;
    this.orders.delete(order.terms.orderId);
    this.leaveReference(order);
    this.listOf(order.terms.account, order.terms.stream).forget(order);
    // Market and venue have let go of a closed one already.
    if (!isClosed(order.state)) this.onForgotten?.(order);
  }

  /** Rows superseded up to here can be dropped. */
  private horizon(): Micros {
    return this.historyMs > 0 ? this.asOf(this.historyMs) : present;
  }

  private tick(wanted: Micros | undefined): Micros {
    this.lastAt = Math.max(wanted ?? Math.floor(this.clock.nowMs() * 1000), this.lastAt + 1);
    return this.lastAt;
  }
}

function referenceOf({ terms }: ExchangeOrder): string {
  return terms.clientOrderRef ?? terms.clOrdId;
}
