import { signal } from '@preact/signals-core';
import type { OrderUpdate, Stream } from '../../../../types/records.d.ts';
import { type Followed, withFailure } from '../followed.ts';
import { pause } from '../ports.ts';
import type { Failure, Page, RestDeps } from '../rest.ts';
import { type ListedOrder, listedOf } from './order-row.ts';

/**
 * The parts of JSON that the compiler's library does not know yet (ECMAScript, "JSON.parse source
 * text access").
 */
interface ExactJson {
  parse(text: string, revive: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown;
  rawJSON(text: string): unknown;
}

/**
 * Parses a record for display. A number that a JavaScript number would change (an int64 among the
 * platform's own fields) keeps its digits, and `JSON.stringify` writes them again.
 */
function parseExact(text: string): unknown {
  const json = JSON as unknown as ExactJson;
  return json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? json.rawJSON(source) : value,
  );
}

/**
 * Updates by revision, oldest first; the first ones may be missing, as the log is not kept for
 * ever.
 */
type HistoryState = Followed<{
  readonly order: ListedOrder;
  readonly updates: readonly OrderUpdate[];
  /** When each was stored, by `eventId`; those from the stream are not in it. */
  readonly recordedAt: ReadonlyMap<string, string>;
  readonly cut: boolean;
}>;

interface UpdatePage extends Page<OrderUpdate> {
  readonly recordedAt: readonly string[];
}

const pageSize = '500';
const mostUpdates = 5_000;
const readAgainMs = 5_000;

/** One order with its whole history: read once, then kept up by the stream. */
export class OrderHistory {
  readonly state = signal<HistoryState>({ kind: 'loading' });
  private readonly deps: RestDeps;
  private readonly stream: Stream;
  private readonly orderId: string;
  /** Updates that came during the read. */
  private early: OrderUpdate[] = [];
  /** Reads under way: a new one begins before the old one has ended. */
  private reads = 0;

  constructor(deps: RestDeps, { stream, orderId }: { readonly stream: Stream; readonly orderId: string }) {
    this.deps = deps;
    this.stream = stream;
    this.orderId = orderId;
  }

  /**
   * Reads it, or reads it again after the stream began anew: updates in between are then in what is
   * read, or come by the stream. A read that failed is repeated until `signal` aborts.
   */
  async load(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.reads += 1;
      const isOver = await this.read(signal);
      this.reads -= 1;
      if (this.reads === 0) for (const update of this.early.splice(0)) this.takeUpdate(update);
      if (isOver) return;
      await pause(this.deps.ports, readAgainMs, signal);
    }
  }

  /** Resolves with false if another read may bring more. */
  private async read(signal: AbortSignal): Promise<boolean> {
    const path = `/v1/orders/${this.stream}/${encodeURIComponent(this.orderId)}`;
    const updates: OrderUpdate[] = [];
    const recordedAt = new Map<string, string>();
    let after: string | undefined;
    do {
      const page = await this.deps.rest.get<UpdatePage>(
        `${path}/updates`,
        { limit: pageSize, after },
        signal,
        parseExact,
      );
      if (page.kind !== 'ok') return this.fail(page, signal);
      const { items, recordedAt: times } = page.body;
      updates.push(...items);
      for (const [at, { eventId }] of items.entries()) recordedAt.set(eventId, times[at] ?? '');
      after = page.body.next;
    } while (after !== undefined && updates.length < mostUpdates);
    // Behind its updates, so that it is never older than they are: the stream brings what is newer.
    const order = await this.deps.rest.get<ListedOrder>(path, {}, signal, parseExact);
    if (order.kind !== 'ok') return this.fail(order, signal);
    if (signal.aborted) return true;
    this.state.value = { kind: 'shown', order: order.body, updates, recordedAt, cut: after !== undefined };
    return true;
  }

  /** For any order: those of others are passed over. */
  takeUpdate(update: OrderUpdate): void {
    if (update.stream !== this.stream || update.orderId !== this.orderId) return;
    const state = this.state.peek();
    if (this.reads > 0) this.early.push(update);
    else if (state.kind === 'shown') this.append(state, update);
  }

  private append(state: Extract<HistoryState, { kind: 'shown' }>, update: OrderUpdate): void {
    const { updates, order } = state;
    if (isKnown(update, updates.at(-1), order.revision)) return;
    this.state.value = { ...state, order: listedOf(update), updates: state.cut ? updates : [...updates, update] };
  }

  private fail(answer: Failure, signal: AbortSignal): boolean {
    if (signal.aborted) return true;
    const state = withFailure(this.state.peek(), answer);
    this.state.value = state;
    return state.kind === 'missing';
  }
}

function isKnown({ generation, revision }: OrderUpdate, last: OrderUpdate | undefined, orderRevision: number): boolean {
  if (last === undefined) return revision <= orderRevision;
  return generation < last.generation || (generation === last.generation && revision <= last.revision);
}
