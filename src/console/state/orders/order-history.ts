import { type Signal, signal } from '@preact/signals-core';
import type { OrderUpdate, Stream } from '../../../../types/records.d.ts';
import { type Answer, type Rest, sentenceOf } from '../rest.ts';
import { parseExact } from '../text/exact-json.ts';
import type { ListedOrder } from './order-row.ts';

type HistoryState =
  | { readonly kind: 'loading' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'failed'; readonly why: string }
  /**
   * Updates by revision, oldest first; the first ones may be missing, as the log is not kept for
   * ever.
   */
  | {
      readonly kind: 'shown';
      readonly order: ListedOrder;
      readonly updates: readonly OrderUpdate[];
      /** When each was stored, by `eventId`; those from the stream are not in it. */
      readonly recordedAt: ReadonlyMap<string, string>;
      readonly cut: boolean;
    };

interface UpdatePage {
  readonly items: readonly OrderUpdate[];
  readonly recordedAt: readonly string[];
  readonly next?: string;
}

const pageSize = '500';
const mostUpdates = 5_000;

/** One order with its whole history: read once, then kept up by the stream. */
export class OrderHistory {
  readonly state: Signal<HistoryState> = signal<HistoryState>({ kind: 'loading' });
  private readonly rest: Rest;
  private readonly stream: Stream;
  private readonly orderId: string;
  /** Updates that came during the read. */
  private early: OrderUpdate[] = [];
  /** Reads under way: a new one begins before the old one has ended. */
  private reads = 0;

  constructor(rest: Rest, { stream, orderId }: { readonly stream: Stream; readonly orderId: string }) {
    this.rest = rest;
    this.stream = stream;
    this.orderId = orderId;
  }

  /**
   * Reads it, or reads it again after the stream began anew: updates in between are then in what is
   * read, or come by the stream.
   */
  async load(signal: AbortSignal): Promise<void> {
    this.reads += 1;
    await this.read(signal);
    this.reads -= 1;
    if (this.reads > 0) return;
    for (const update of this.early.splice(0)) this.takeUpdate(update);
  }

  private async read(signal: AbortSignal): Promise<void> {
    const path = `/v1/orders/${this.stream}/${encodeURIComponent(this.orderId)}`;
    const updates: OrderUpdate[] = [];
    const recordedAt = new Map<string, string>();
    let after: string | undefined;
    do {
      const page = await this.rest.get<UpdatePage>(`${path}/updates`, { limit: pageSize, after }, signal, parseExact);
      if (page.kind !== 'ok') return this.fail(page, signal);
      const { items, recordedAt: times } = page.body;
      updates.push(...items);
      for (const [at, { eventId }] of items.entries()) recordedAt.set(eventId, times[at] ?? '');
      after = page.body.next;
    } while (after !== undefined && updates.length < mostUpdates);
    // Behind its updates, so that it is never older than they are: the stream brings what is newer.
    const order = await this.rest.get<ListedOrder>(path, {}, signal, parseExact);
    if (order.kind !== 'ok') return this.fail(order, signal);
    if (signal.aborted) return;
    this.state.value = { kind: 'shown', order: order.body, updates, recordedAt, cut: after !== undefined };
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
    const { revision, accountId, stream, orderId, sourceVersion } = update;
    const newest = {
      stream,
      orderId,
      accountId,
      revision,
      ...(sourceVersion !== undefined && { sourceVersion }),
      order: update.order,
    };
    this.state.value = { ...state, order: newest, updates: state.cut ? updates : [...updates, update] };
  }

  private fail(answer: Exclude<Answer<unknown>, { kind: 'ok' }>, signal: AbortSignal): void {
    if (signal.aborted) return;
    const missing = answer.kind === 'problem' && answer.status === 404;
    this.state.value = missing ? { kind: 'missing' } : { kind: 'failed', why: sentenceOf(answer) };
  }
}

function isKnown({ generation, revision }: OrderUpdate, last: OrderUpdate | undefined, orderRevision: number): boolean {
  if (last === undefined) return revision <= orderRevision;
  return generation < last.generation || (generation === last.generation && revision <= last.revision);
}
