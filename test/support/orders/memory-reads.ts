import type { Command, CommandWithEvidence } from '../../../src/domain/command.ts';
import type { OrderStatus, Stream } from '../../../src/domain/order.ts';
import type {
  AccountRow,
  AccountScope,
  CommandFilter,
  EventHorizon,
  EventPage,
  EventPosition,
  ExposureRow,
  OrderCounts,
  OrderFilter,
  OrderReads,
  OrderSort,
  Page,
  StoredOrder,
  StreamedEvent,
  StreamedUpdate,
} from '../../../src/store/orders/order-reads.ts';
import { sampleUpdate } from './sample-update.ts';

const sees = (scope: AccountScope, accountId: string) => scope.kind === 'all' || scope.accountIds.includes(accountId);

/** The read side of REST in memory. */
export class MemoryReads implements OrderReads {
  orders: StoredOrder[] = [];
  commands: CommandWithEvidence[] = [];
  accountRows: AccountRow[] = [];
  exposureRows: ExposureRow[] = [];
  updates: StreamedUpdate[] = [];
  events: StreamedEvent[] = [];
  /** The first transaction that has not ended. */
  horizon = 100n;
  /** Events were deleted up to this transaction. */
  eventFloor = -1n;
  /** The seq below which the log has been dropped. */
  oldestSeq = 1n;
  /** Rows of the log that one read looks at, whosever they are. */
  lookedAt = 5000;
  /** Thrown by every read while it is set: the database is away. */
  failure: Error | undefined;
  /** Of the lists of orders that were asked for. */
  readonly filters: OrderFilter[] = [];
  /** Of the log, since the start. */
  logReads = 0;

  /** Stores an order in one more revision, with its update. Returns the update. */
  addUpdate(over: Parameters<typeof sampleUpdate>[0] = {}): StreamedUpdate {
    const payload = sampleUpdate(over);
    const record = JSON.parse(payload) as {
      stream: Stream;
      orderId: string;
      accountId: string;
      revision: number;
      order: unknown;
    };
    const { stream, orderId, accountId, revision } = record;
    const update = { seq: BigInt(this.updates.length + 1), stream, orderId, accountId, payload };
    this.updates.push(update);
    const state = JSON.stringify(record.order);
    this.orders = this.orders.filter((order) => order.stream !== stream || order.orderId !== orderId);
    this.orders.push({
      stream,
      orderId,
      accountId,
      revision,
      sourceVersion: stream === 'prediction' ? 7n : undefined,
      state,
    });
    return update;
  }

  async listOrders(
    scope: AccountScope,
    filter: OrderFilter,
    after: readonly string[] | undefined,
    limit: number,
    sort: OrderSort = 'orderId',
  ): Promise<Page<StoredOrder>> {
    this.reach();
    this.filters.push(filter);
    const key = ({ accountId, stream, orderId }: StoredOrder) => `${accountId}:${stream}:${orderId}`;
    const inScope = this.orders
      .filter((order) => sees(scope, order.accountId) && (filter.accountId ?? order.accountId) === order.accountId)
      .filter((order) => (filter.stream ?? order.stream) === order.stream);
    if (sort === '-updatedAt') {
      // Those that changed last stand last.
      const changed = (order: StoredOrder) =>
        `2026-11-21T14:30:01.${String(this.orders.indexOf(order)).padStart(6, '0')}Z`;
      const older = inScope.reverse().filter((order) => after === undefined || changed(order) < (after[0] ?? ''));
      return pageOf(older, limit, (last) => [changed(last), last.stream, last.orderId]);
    }
    const found = inScope
      .filter((order) => after === undefined || key(order) > after.join(':'))
      .sort((a, b) => (key(a) < key(b) ? -1 : 1));
    return pageOf(found, limit, (last) => [last.accountId, last.stream, last.orderId]);
  }

  async countOrders(scope: AccountScope, { accountId }: Pick<OrderFilter, 'accountId'>): Promise<OrderCounts> {
    this.reach();
    const seen = this.orders.filter(
      (order) => sees(scope, order.accountId) && (accountId ?? order.accountId) === order.accountId,
    );
    const counts = new Map<OrderStatus, number>();
    for (const { state } of seen) {
      const { status } = JSON.parse(state) as { readonly status: OrderStatus };
      counts.set(status, (counts.get(status) ?? 0) + 1);
    }
    return { items: [...counts].map(([status, orders]) => ({ status, orders })), complete: true };
  }

  async getOrder(scope: AccountScope, stream: Stream, orderId: string): Promise<StoredOrder | undefined> {
    this.reach();
    return this.orders.find(
      (order) => order.stream === stream && order.orderId === orderId && sees(scope, order.accountId),
    );
  }

  async history(scope: AccountScope, stream: Stream, orderId: string, afterRevision: number, limit: number) {
    if ((await this.getOrder(scope, stream, orderId)) === undefined) return undefined;
    return this.updates
      .filter((update) => update.stream === stream && update.orderId === orderId)
      .map((update) => ({ ...update, revision: (JSON.parse(update.payload) as { revision: number }).revision }))
      .filter(({ revision }) => revision > afterRevision)
      .slice(0, limit)
      .map((update) => ({ ...update, recordedAt: new Date(0) }));
  }

  async listCommands(
    scope: AccountScope,
    filter: CommandFilter,
    after: readonly string[] | undefined,
    limit: number,
  ): Promise<Page<Command>> {
    this.reach();
    const found = this.commands
      .map(({ command }) => command)
      .filter(({ request }) => sees(scope, request.accountId))
      .filter(({ state }) => (filter.state ?? state) === state)
      .filter(({ callerRef }) => (filter.callerRef ?? callerRef) === callerRef)
      .filter((command) => filter.q === undefined || namesOf(command).includes(filter.q))
      .filter(({ commandId }) => after === undefined || commandId > (after[1] ?? ''));
    return pageOf(found, limit, (last) => [String(last.createdAtMs * 1_000), last.commandId]);
  }

  async findCommand(scope: AccountScope, commandId: string): Promise<CommandWithEvidence | undefined> {
    this.reach();
    return this.commands.find(
      ({ command }) => command.commandId === commandId && sees(scope, command.request.accountId),
    );
  }

  async accounts(scope: AccountScope, after?: readonly string[], limit?: number): Promise<Page<AccountRow>> {
    this.reach();
    const placeOf = ({ accountId, stream }: AccountRow) => [accountId, stream];
    const rows = this.accountRows
      .filter(({ accountId }) => sees(scope, accountId))
      .filter((row) => after === undefined || placeOf(row).join(' ') > after.join(' '));
    return limit === undefined ? { items: rows } : pageOf(rows, limit, placeOf);
  }

  async exposure(scope: AccountScope, accountId: string | undefined): Promise<readonly ExposureRow[]> {
    this.reach();
    return this.exposureRows.filter(
      (row) => sees(scope, row.accountId) && (accountId ?? row.accountId) === row.accountId,
    );
  }

  async updatesAfter(scope: AccountScope, afterSeq: bigint, limit: number) {
    this.reach();
    this.logReads += 1;
    const there = this.updates.filter(({ seq }) => seq > afterSeq && seq >= this.oldestSeq).slice(0, this.lookedAt);
    const updates = there.filter(({ accountId }) => sees(scope, accountId)).slice(0, limit);
    const lastSeq = (updates.length === limit ? updates : there).at(-1)?.seq ?? afterSeq;
    return { updates, lastSeq, oldestSeq: this.oldestSeq };
  }

  async eventHorizon(): Promise<EventHorizon> {
    this.reach();
    return { horizon: this.horizon, end: this.horizon };
  }

  async eventsAfter(after: EventPosition, horizon: bigint, limit: number): Promise<EventPage> {
    this.reach();
    const isAbove = ({ tx, number }: EventPosition) => tx > after.tx || (tx === after.tx && number > after.number);
    const there = this.events.filter((event) => isAbove(event) && event.tx < horizon);
    const events = there.sort((a, b) => Number(a.tx - b.tx || a.number - b.number)).slice(0, limit);
    const last = events.length === limit ? events.at(-1) : undefined;
    const upTo = last === undefined ? { tx: horizon, number: 0n } : { tx: last.tx, number: last.number };
    return { events, upTo, complete: after.tx > this.eventFloor };
  }

  async newestSeq(): Promise<bigint> {
    this.reach();
    return this.updates.at(-1)?.seq ?? 0n;
  }

  private reach(): void {
    if (this.failure !== undefined) throw this.failure;
  }
}

function pageOf<T>(found: readonly T[], limit: number, position: (last: T) => readonly string[]): Page<T> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return found.length > limit && last !== undefined ? { items, next: position(last) } : { items };
}

/** The texts that name a command whole. */
function namesOf({ commandId, idempotencyKey, callerRef, orderId, attempts }: Command): (string | undefined)[] {
  return [commandId, idempotencyKey, callerRef, orderId, ...attempts.map(({ attemptId }) => attemptId)];
}
