import type { LogRow } from '../domain/committed-batch.ts';
import { encodeContinuity } from '../domain/encode-continuity.ts';
import { encodeHeadJoin, encodeOrder, encodeUpdate } from '../domain/encode-update.ts';
import type { Head, Reduction } from '../domain/head.ts';
import type { ContinuityMark, Observation, Outcome, Unreadable } from '../domain/observation.ts';
import { orderKey } from '../domain/order.ts';
import { reduce } from '../domain/reduce.ts';
import type { Entry } from './entry.ts';
import type { HeadCache } from './head-cache.ts';
import type { HeadRow, QuarantineRow, UpdateRow } from './order-store.ts';

/** The largest normalised order that we take: Kafka's default record limit is 1 MB, and the relay must never meet a record that the broker refuses. */
const maxOrderBytes = 256 * 1024;

/** What one batch of entries comes to: the rows to write, and how each entry ends once they are committed. */
export interface PreparedBatch {
  readonly heads: readonly HeadRow[];
  readonly updates: readonly UpdateRow[];
  readonly quarantine: readonly QuarantineRow[];
  /** Beside the entries: how each ends. Undefined for barriers and continuity marks. */
  readonly outcomes: readonly (Outcome | undefined)[];
  /** Keys whose head in the cache is ahead of the database until this batch commits. Each is pinned once. */
  readonly touched: readonly string[];
  /** The log rows as the relay takes them, with the arrival of what caused each. */
  readonly rows: readonly LogRow[];
  readonly receivedMs: readonly number[];
  readonly streams: readonly UpdateRow['stream'][];
  readonly bytes: number;
}

export interface PrepareOptions {
  readonly generation: number;
}

/**
 * Reduces entries in their order against the cached heads, which must hold every known order among them. Changed heads go into the cache at
 * once and are pinned, so that the next batch can be reduced on top of this one while it is still in flight.
 */
export function prepareBatch(entries: readonly Entry[], cache: HeadCache, options: PrepareOptions): PreparedBatch {
  const batch = new BatchBuilder(cache, options);
  for (const entry of entries) {
    if (entry.kind === 'order') batch.addObservation(entry);
    else if (entry.kind === 'unreadable') batch.addUnreadable(entry);
    else if (entry.kind === 'continuity') batch.addMark(entry);
    else batch.outcomes.push(undefined);
  }
  return batch.finish();
}

class BatchBuilder {
  readonly outcomes: (Outcome | undefined)[] = [];
  private readonly newest = new Map<string, { head: Head; state: string | undefined }>();
  private readonly updates: UpdateRow[] = [];
  private readonly quarantine: QuarantineRow[] = [];
  private readonly rows: LogRow[] = [];
  private readonly receivedMs: number[] = [];
  private readonly streams: UpdateRow['stream'][] = [];
  private bytes = 0;
  private readonly cache: HeadCache;
  private readonly options: PrepareOptions;

  constructor(cache: HeadCache, options: PrepareOptions) {
    this.cache = cache;
    this.options = options;
  }

  addObservation(observation: Observation): void {
    const { view } = observation;
    const key = orderKey(view.stream, view.orderId);
    const reduction = reduce(this.cache.get(key), observation);
    if (reduction.outcome === 'applied') {
      this.outcomes.push(this.apply(key, observation, reduction));
    } else if (reduction.outcome === 'conflict') {
      this.quarantine.push(quarantined(observation, reduction.reason, reduction.detail));
      this.outcomes.push('conflict');
    } else {
      if (reduction.head !== undefined) this.remember(key, reduction.head, this.newest.get(key)?.state);
      this.outcomes.push(reduction.outcome);
    }
  }

  addUnreadable(item: Unreadable): void {
    const { stream, reason, detail, raw, observedAtMs } = item;
    this.quarantine.push({
      stream,
      accountId: item.accountId ?? null,
      orderId: item.orderId ?? null,
      reason,
      detail,
      raw,
      observedAtMs,
    });
    this.outcomes.push('quarantined');
  }

  addMark(mark: ContinuityMark): void {
    const payload = encodeContinuity(mark);
    this.append('continuity', mark.markId, mark.accountId, 1, mark.accountId, payload, Number.NaN);
    this.outcomes.push(undefined);
  }

  finish(): PreparedBatch {
    const heads: HeadRow[] = [];
    for (const { head, state } of this.newest.values()) heads.push(headRow(head, state ?? encodeOrder(head.order)));
    const { updates, quarantine, outcomes, rows, receivedMs, streams, bytes } = this;
    return { heads, updates, quarantine, outcomes, touched: [...this.newest.keys()], rows, receivedMs, streams, bytes };
  }

  private apply(key: string, observation: Observation, reduction: Extract<Reduction, { outcome: 'applied' }>): Outcome {
    const { head } = reduction;
    const { order } = head;
    const orderJson = encodeOrder(order);
    if (orderJson.length > maxOrderBytes / 4 && Buffer.byteLength(orderJson) > maxOrderBytes) {
      this.quarantine.push(quarantined(observation, 'too_large', `the normalised order exceeds ${maxOrderBytes} bytes`));
      return 'quarantined';
    }
    const payload = encodeUpdate({
      head,
      orderJson,
      generation: this.options.generation,
      cause: reduction.correction === true ? 'correction' : observation.cause,
      occurredAt: order.updatedAt,
      observedAt: new Date(observation.observedAtMs).toISOString(),
      changed: reduction.changed,
      ...(reduction.fill === undefined ? {} : { fill: reduction.fill }),
    });
    this.remember(key, head, orderJson);
    this.append(order.stream, order.orderId, order.accountId, head.revision, key, payload, observation.receivedMs);
    return 'applied';
  }

  private remember(key: string, head: Head, state: string | undefined): void {
    if (!this.newest.has(key)) this.cache.pin(key);
    this.newest.set(key, { head, state });
    this.cache.set(key, head);
  }

  private append(
    stream: UpdateRow['stream'],
    orderId: string,
    accountId: string,
    revision: number,
    key: string,
    payload: string,
    receivedMs: number,
  ): void {
    this.updates.push({ stream, orderId, accountId, revision, payload });
    this.rows.push({ topic: stream === 'continuity' ? 'continuity' : 'updates', key, payload });
    this.receivedMs.push(receivedMs);
    this.streams.push(stream);
    this.bytes += payload.length;
  }
}

function headRow(head: Head, state: string): HeadRow {
  const { order, revision, sourceVersion } = head;
  return {
    stream: order.stream,
    orderId: order.orderId,
    accountId: order.accountId,
    symbol: order.instrument.symbol,
    status: order.status,
    revision,
    sourceVersion: sourceVersion === undefined ? null : sourceVersion.toString(),
    state,
    join: encodeHeadJoin(head),
  };
}

/** The observation as evidence for a person: the normalised view is all that ingest has, and all that was compared. */
export function quarantined(observation: Observation, reason: string, detail: string): QuarantineRow {
  const { view, observedAtMs, sourceVersion } = observation;
  const raw = JSON.stringify({ ...view, ...(sourceVersion === undefined ? {} : { version: sourceVersion.toString() }) });
  const { stream, accountId, orderId } = view;
  return { stream, accountId, orderId, reason, detail, raw: raw.slice(0, 64 * 1024), observedAtMs };
}
