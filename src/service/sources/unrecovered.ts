import { type Clock, earlierOf, type Moment } from '../../runtime/clock.ts';
import type { OrderLooks } from './order-looks.ts';
import { restAfter } from './questions.ts';

/** With more orders than this, the whole account counts as unknown until a complete read. */
const maxOrders = 1_000;

interface Hole {
  /** Up to here none of its events is missing. */
  readonly upTo: Moment;
  /** The newest loss in it, by number: only a read that was asked for later can close it. */
  newest: number;
}

/**
 * One account's stream losses: unreadable frames, and gaps the platform reports. As long as one is
 * open, nothing after it is complete.
 *
 * A hole's states: open → closed, by a look at its order or by a complete read, if it began after
 * the newest lost frame and could read the order. Until then the order is looked at again, at
 * growing intervals.
 */
export class Unrecovered {
  private readonly orders = new Map<string, Hole>();
  /** A hole of no order we know. */
  private account: Hole | undefined;
  private lost = 0;
  private readonly deps: { readonly clock: Clock; readonly looks: OrderLooks };
  private readonly signal: AbortSignal;

  constructor(deps: { clock: Clock; looks: OrderLooks }, options: { signal: AbortSignal }) {
    this.deps = deps;
    this.signal = options.signal;
  }

  get count(): number {
    return this.orders.size + (this.account === undefined ? 0 : 1);
  }

  /** The number of the last loss: taken before a read begins, and handed back with its result. */
  get mark(): number {
    return this.lost;
  }

  /** The moment, or an earlier one up to which nothing is missing. */
  before(moment: Moment): Moment {
    let upTo = earlierOf(moment, this.account?.upTo ?? moment);
    for (const hole of this.orders.values()) upTo = earlierOf(upTo, hole.upTo);
    return upTo;
  }

  /** Whether any loss after `mark` is still open. */
  since(mark: number): boolean {
    if (this.account !== undefined && this.account.newest > mark) return true;
    for (const { newest } of this.orders.values()) if (newest > mark) return true;
    return false;
  }

  /**
   * A frame of the order was lost. `upTo`: what its connection had sent before then was read. The
   * frame may be as old as that, whenever it was read.
   */
  loseOrder(orderId: string, upTo: Moment): void {
    const hole = this.orders.get(orderId);
    if (hole === undefined) this.open(orderId, { upTo, newest: this.nextNumber() });
    else hole.newest = this.nextNumber();
  }

  /** A frame of an order we do not know was lost, or anything in a gap. */
  loseAnything(upTo: Moment): void {
    const newest = this.nextNumber();
    this.account = { upTo: earlierOf(upTo, this.account?.upTo ?? upTo), newest };
  }

  /**
   * A complete read, begun at `mark`, has ended. `unread`: the orders whose rows it could not read;
   * undefined stands for a row without a name.
   */
  readComplete(mark: number, unread: ReadonlySet<string | undefined>): void {
    if (unread.has(undefined)) return;
    for (const [orderId, { newest }] of this.orders)
      if (newest <= mark && !unread.has(orderId)) this.orders.delete(orderId);
    const { account } = this;
    if (account === undefined || account.newest > mark) return;
    this.account = undefined;
    // The lost frame may have been theirs.
    for (const orderId of unread)
      if (orderId !== undefined && !this.orders.has(orderId)) this.open(orderId, { ...account });
  }

  private nextNumber(): number {
    this.lost += 1;
    return this.lost;
  }

  private open(orderId: string, hole: Hole): void {
    if (this.orders.size >= maxOrders) {
      const account = this.account ?? hole;
      this.account = { upTo: earlierOf(hole.upTo, account.upTo), newest: Math.max(account.newest, hole.newest) };
      return;
    }
    this.orders.set(orderId, hole);
    void this.recover(orderId, hole);
  }

  private async recover(orderId: string, hole: Hole): Promise<void> {
    const { clock, looks } = this.deps;
    const { signal } = this;
    const isOpen = () => !signal.aborted && this.orders.get(orderId) === hole;
    for (let tries = 0; ; tries += 1) {
      const { newest } = hole;
      const look = await looks.lookAt(orderId, { question: 'frame', signal });
      if (isOpen() && look.kind === 'found' && hole.newest === newest) this.orders.delete(orderId);
      if (!isOpen()) return;
      await clock.sleep(restAfter('frame', tries), signal);
      if (!isOpen()) return;
    }
  }
}
