import type {
  AccountScope,
  OrderFilter,
  Page,
  StoredOrder,
  StreamedUpdate,
} from '../../../src/store/orders/order-reads.ts';
import type { OrderUpdate } from '../../../types/records.d.ts';
import { MemoryReads } from '../../support/orders/memory-reads.ts';
import { sampleUpdate } from '../../support/orders/sample-update.ts';

/**
 * The log of updates keeps at least so many of the newest, so that a page which is cut can go on.
 */
const keptUpdates = 50_000;
const accounts = 20;
const symbols = 200;
/**
 * One update of so many ends an order, and the next begins
 * another: as many stay open as there were.
 */
const turnover = 50;

/** One open order, as far as its updates change it. */
interface Moving {
  readonly orderId: string;
  readonly number: number;
  revision: number;
  filled: number;
}

/**
 * Orders of a busy day in memory, for a console that is measured: `open` orders that change one
 * after the other, by a rule that gives the same changes in each run. The tables of a real service
 * are left out on purpose: the measured thing is the page.
 */
export class OrderSource extends MemoryReads {
  private readonly template = JSON.parse(sampleUpdate()) as OrderUpdate;
  /** Open orders at any place; a change takes one of them by chance. */
  private readonly moving: Moving[] = [];
  /** By number, which is their order in lists; undefined where an order is over. */
  private readonly byNumber: (Moving | undefined)[] = [];
  private log: StreamedUpdate[] = [];
  private last = 0n;
  private chance = 1;

  constructor(open: number) {
    super();
    for (let at = 0; at < open; at += 1) this.begin();
  }

  /** Makes `count` changes. */
  step(count: number): void {
    for (let at = 0; at < count; at += 1) {
      const turn = this.last % BigInt(turnover);
      if (turn === 0n) this.write(this.begin(), 'new', ['status']);
      else if (turn === 1n) this.write(this.end(), 'filled', ['status', 'cumQty', 'leavesQty']);
      else this.write(this.fillOne(), 'partially_filled', ['cumQty', 'leavesQty', 'avgPrice']);
    }
    if (this.log.length > 2 * keptUpdates) this.log = this.log.slice(-keptUpdates);
  }

  get changes(): number {
    return Number(this.last);
  }

  /** Revision and filled quantity of each open order, by its id. */
  newest(): Map<string, string> {
    return new Map(this.moving.map((order) => [order.orderId, `${order.revision} ${order.filled}`]));
  }

  override async listOrders(
    _scope: AccountScope,
    filter: OrderFilter,
    after: readonly string[] | undefined,
    limit: number,
  ): Promise<Page<StoredOrder>> {
    if (filter.open !== true) throw new Error('only open orders are kept here');
    const items: StoredOrder[] = [];
    for (let number = after === undefined ? 0 : Number(after[2]) + 1; number < this.byNumber.length; number += 1) {
      const order = this.byNumber[number];
      if (order === undefined) continue;
      const { accountId, order: state } = this.recordOf(order, order.filled === 0 ? 'new' : 'partially_filled', []);
      const { orderId, revision } = order;
      items.push({
        stream: 'account',
        orderId,
        accountId,
        revision,
        sourceVersion: undefined,
        state: JSON.stringify(state),
      });
      if (items.length === limit) return { items, next: [accountId, 'account', String(number)] };
    }
    return { items };
  }

  override async updatesAfter(_scope: AccountScope, afterSeq: bigint, limit: number) {
    const oldestSeq = this.log[0]?.seq ?? this.last + 1n;
    const from = afterSeq < oldestSeq ? 0 : Number(afterSeq - oldestSeq) + 1;
    const updates = this.log.slice(from, from + limit);
    return { updates, lastSeq: updates.at(-1)?.seq ?? afterSeq, oldestSeq };
  }

  override async newestSeq(): Promise<bigint> {
    return this.last;
  }

  private begin(): Moving {
    const number = this.byNumber.length;
    const order: Moving = { orderId: `open-${String(number).padStart(7, '0')}`, number, revision: 1, filled: 0 };
    this.moving.push(order);
    this.byNumber.push(order);
    return order;
  }

  private end(): Moving {
    const at = this.placeByChance();
    const order = this.moving[at] as Moving;
    this.moving[at] = this.moving.at(-1) as Moving;
    this.moving.pop();
    this.byNumber[order.number] = undefined;
    order.revision += 1;
    order.filled = 1000;
    return order;
  }

  private fillOne(): Moving {
    const order = this.moving[this.placeByChance()] as Moving;
    order.revision += 1;
    order.filled = Math.min(999, order.filled + 1);
    return order;
  }

  /** A generator of Park and Miller: the same places in each run. */
  private placeByChance(): number {
    this.chance = (this.chance * 48_271) % 2_147_483_647;
    return this.chance % this.moving.length;
  }

  private write(order: Moving, status: OrderUpdate['order']['status'], changed: readonly string[]): void {
    this.last += 1n;
    const record = this.recordOf(order, status, changed);
    const { orderId, accountId } = record;
    this.log.push({ seq: this.last, stream: 'account', orderId, accountId, payload: JSON.stringify(record) });
  }

  private recordOf(
    { orderId, number, revision, filled }: Moving,
    status: OrderUpdate['order']['status'],
    changed: readonly string[],
  ): OrderUpdate {
    const [accountId, symbol] = [`ACC-${number % accounts}`, `SYM${number % symbols}`];
    const now = new Date().toISOString();
    const order = {
      ...this.template.order,
      ...{
        orderId,
        accountId,
        status,
        statusRaw: status.toUpperCase(),
        side: number % 2 === 0 ? 'buy' : 'sell',
        updatedAt: now,
      },
      ...{
        instrument: { ...this.template.order.instrument, symbol },
        quantity: '1000',
        working: { quantity: '1000', price: '191.5' },
      },
      ...{
        cumQty: String(filled),
        leavesQty: String(1000 - filled),
        avgPrice: `191.${String(filled).padStart(3, '0')}1`,
      },
    };
    const eventId = `account:${orderId}:${revision}`;
    return {
      ...this.template,
      eventId,
      orderId,
      accountId,
      revision,
      changed,
      order,
      occurredAt: now,
      observedAt: now,
    };
  }
}
