import type { Stream } from '../../../src/domain/order.ts';
import type { AccountRecord, AccountRegistry, OpenOrder } from '../../../src/store/fleet/account-registry.ts';

/**
 * The accounts for tests of one step of the connectors: which orders are open is what the test
 * says. `ReducingSink` and `MemoryDatabase` find it out.
 */
export class ScriptedRegistry implements AccountRegistry {
  readonly records = new Map<string, AccountRecord>();
  readonly open = new Map<string, OpenOrder[]>();
  /** Every record as it was saved, oldest first. */
  readonly saves: AccountRecord[] = [];

  async load(): Promise<AccountRecord[]> {
    return [...this.records.values()];
  }

  async save(record: AccountRecord): Promise<void> {
    this.records.set(`${record.stream}:${record.accountId}`, record);
    this.saves.push(record);
  }

  async openOrders(
    stream: Stream,
    accountId: string,
    _withinMs: number,
    after: string,
    limit: number,
  ): Promise<OpenOrder[]> {
    const held = this.open.get(`${stream}:${accountId}`) ?? [];
    return held.filter(({ orderId }) => orderId > after).slice(0, limit);
  }

  async ordersNamed(stream: Stream, orderIds: readonly string[]): Promise<OpenOrder[]> {
    const held = [...this.open].flatMap(([key, orders]) => (key.startsWith(`${stream}:`) ? orders : []));
    return held.filter(({ orderId }) => orderIds.includes(orderId));
  }

  get(stream: Stream, accountId: string): AccountRecord | undefined {
    return this.records.get(`${stream}:${accountId}`);
  }
}
