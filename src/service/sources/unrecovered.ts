import { type Clock, earlierOf, type Moment } from '../../runtime/clock.ts';
import type { OrderLooks } from './order-looks.ts';
import { restAfter } from './questions.ts';

/** With more orders than this, the whole account counts as unknown until a complete read. */
const maxOrders = 1_000;
/** A heartbeat names so many orders. */
const maxNamed = 100;
/** An order that the platform shows in no readable row holds "complete up to" back for so long. */
const namedAfterMs = 600_000;

interface Loss {
  /** Up to here none of its events is missing. */
  readonly upTo: Moment;
  /** The newest loss in it, by number: only a read that was asked for later can close it. */
  newest: number;
}

interface Hole {
  /** Of the stream. Undefined: only a list or a look has shown a row that can't be taken. */
  loss: Loss | undefined;
  readonly sinceMs: number;
  /** The newest row from REST not to be taken, by number; 0: none. */
  unread: number;
  /** The platform has answered the last look, and not with a usable row. */
  answered: boolean;
}

/**
 * What is missing in one account's log, though the platform has sent or shown it: unreadable
 * frames, gaps the platform reports, and rows that became dead letters. As long as a loss of the
 * stream is open, nothing after it is complete.
 *
 * A hole's states: open → closed, by a look at its order or by a complete read, if it began after
 * the newest lost frame and could take the order. Until then the order is looked at again, at
 * growing intervals. One that the platform itself shows in no readable row is named in the marks
 * instead of holding them back: at once if the stream has lost nothing of it, else after ten
 * minutes.
 */
export class Unrecovered {
  private readonly orders = new Map<string, Hole>();
  /** Lost: no order we know. */
  private account: Loss | undefined;
  private lost = 0;
  private readonly deps: { readonly clock: Clock; readonly looks: OrderLooks };
  private readonly signal: AbortSignal;

  constructor(deps: Unrecovered['deps'], options: { signal: AbortSignal }) {
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

  /** Whether "complete up to" waits for anything. */
  get holdsBack(): boolean {
    return this.account !== undefined || [...this.orders.values()].some((hole) => this.holding(hole) !== undefined);
  }

  /** The orders a mark does not speak for, the first few. */
  get unreadOrderIds(): readonly string[] {
    const named = [...this.orders].filter(([, hole]) => this.holding(hole) === undefined);
    return named.slice(0, maxNamed).map(([orderId]) => orderId);
  }

  /** The moment, or an earlier one up to which nothing is missing. */
  before(moment: Moment): Moment {
    let upTo = earlierOf(moment, this.account?.upTo ?? moment);
    for (const hole of this.orders.values()) upTo = earlierOf(upTo, this.holding(hole)?.upTo ?? upTo);
    return upTo;
  }

  /** Whether any loss after `mark` is still open. */
  since(mark: number): boolean {
    if (this.account !== undefined && this.account.newest > mark) return true;
    for (const hole of this.orders.values()) if ((this.holding(hole)?.newest ?? 0) > mark) return true;
    return false;
  }

  private holding({ loss, answered, sinceMs }: Hole): Loss | undefined {
    return answered && this.deps.clock.monotonicMs() - sinceMs >= namedAfterMs ? undefined : loss;
  }

  /**
   * A frame of the order was lost. `upTo`: what its connection had sent before then was read. The
   * frame may be as old as that, whenever it was read.
   */
  loseOrder(orderId: string, upTo: Moment): void {
    const newest = this.nextNumber();
    const hole = this.orders.get(orderId);
    if (hole?.loss !== undefined) hole.loss.newest = newest;
    else this.open(orderId, { upTo, newest }, hole?.unread);
  }

  /** A list or a look has shown the order, in a row not to be taken. */
  unread(orderId: string): void {
    const hole = this.orders.get(orderId);
    if (hole !== undefined) hole.unread = this.nextNumber();
    else if (this.orders.size < maxNamed) this.open(orderId, undefined, this.nextNumber());
  }

  /** A frame of an order we do not know was lost, or anything in a gap. */
  loseAnything(upTo: Moment): void {
    const newest = this.nextNumber();
    this.account = { upTo: earlierOf(upTo, this.account?.upTo ?? upTo), newest };
  }

  /**
   * A complete read, begun at `mark`, has ended. `isWhole`: each of its rows named its order, so
   * those that it could not take are known (`unread`).
   */
  readComplete(mark: number, isWhole: boolean): void {
    if (!isWhole) return;
    for (const [orderId, { loss, unread }] of this.orders)
      if (loss !== undefined && loss.newest <= mark && unread <= mark) this.orders.delete(orderId);
    const { account } = this;
    if (account === undefined || account.newest > mark) return;
    this.account = undefined;
    // The lost frame may have been theirs.
    for (const [orderId, { loss, unread }] of [...this.orders])
      if (loss === undefined && unread > mark) this.open(orderId, { ...account }, unread);
  }

  private nextNumber(): number {
    this.lost += 1;
    return this.lost;
  }

  private open(orderId: string, loss: Loss | undefined, unread = 0): void {
    if (loss !== undefined && this.orders.size >= maxOrders) {
      const account = this.account ?? loss;
      this.account = { upTo: earlierOf(loss.upTo, account.upTo), newest: Math.max(account.newest, loss.newest) };
      return;
    }
    const hole: Hole = { loss, sinceMs: this.deps.clock.monotonicMs(), unread, answered: false };
    this.orders.set(orderId, hole);
    void this.recover(orderId, hole);
  }

  private async recover(orderId: string, hole: Hole): Promise<void> {
    const { clock, looks } = this.deps;
    const { signal } = this;
    const isOpen = () => !signal.aborted && this.orders.get(orderId) === hole;
    for (let tries = 0; ; tries += 1) {
      const [newest, unread] = [hole.loss?.newest, hole.unread];
      const look = await looks.lookAt(orderId, { question: 'frame', signal });
      if (!isOpen()) return;
      hole.answered = look.kind !== 'failed';
      if (look.kind === 'found' && hole.loss?.newest === newest && hole.unread === unread) this.orders.delete(orderId);
      if (!isOpen()) return;
      await clock.sleep(restAfter('frame', tries), signal);
      if (!isOpen()) return;
    }
  }
}
