import { hash } from 'node:crypto';
import type { BatchProof, LogRow } from '../../domain/committed-batch.ts';
import {
  encodeHeadJoin,
  encodeOrder,
  encodeUpdate,
  encodeWatermark,
  watermarkKey,
} from '../../domain/encode-update.ts';
import type { Doubt, Head, Reduction, UnreadableHead } from '../../domain/head.ts';
import { formatInstant } from '../../domain/instant.ts';
import type { Observation, ObservationResult, Unreadable, Watermark } from '../../domain/observation.ts';
import type { Order } from '../../domain/order.ts';
import { reduce, reduceOwned, reduceUnreadable } from '../../domain/reduce.ts';
import type { BoundOrder } from '../../domain/resolving.ts';
import type {
  ApplyResult,
  Binding,
  BindingRow,
  DeadLetterRow,
  HeadRow,
  Places,
  Unproven,
  UpdateRow,
} from '../../store/orders/order-store.ts';
import { deadLetter, digestOf } from './dead-letters.ts';
import type { Entry } from './entry.ts';
import type { HeadCache, Newest, Slot } from './head-cache.ts';
import { bindOrder, referenceToBind } from './load-known.ts';

/**
 * The largest normalised order. Kafka's default record limit is 1 MB, and the relay must never meet
 * a record that the broker refuses.
 */
const maxOrderBytes = 256 * 1024;

export const idGivenAgain = "the platform gave an order's id again: the one before is over, and this is another order";

type BegunOrder = Pick<Order, 'stream' | 'accountId' | 'orderId' | 'incarnation' | 'commandId'>;

interface RaisedDoubt {
  readonly observation: Observation;
  /** And our revision in that reduction. */
  readonly raised: readonly [Doubt | 'dead_lettered', revision: number];
}

/**
 * One batch after its reduction: the rows to write, and how each entry ends once they are
 * committed.
 */
export interface PreparedBatch {
  readonly heads: readonly HeadRow[];
  readonly updates: readonly UpdateRow[];
  readonly places: Places;
  readonly deadLetters: readonly DeadLetterRow[];
  /** By order: see `rememberDeadLetters`. */
  readonly kept: ReadonlyMap<string, string>;
  readonly bindings: readonly BindingRow[];
  /** How each entry ends, in the entries' order. Undefined for barriers and watermarks. */
  readonly results: readonly (ObservationResult | undefined)[];
  /** The applied ones with nothing but additions. */
  readonly learnt: ReadonlySet<Entry>;
  /** Their orders ought to be read from REST once this is committed. */
  readonly doubts: readonly RaisedDoubt[];
  /** Orders that began under ids of others: for the log, once this is committed. */
  readonly begun: readonly BegunOrder[];
  /** The cached heads ahead of the database until this batch commits. Each is pinned once. */
  readonly touched: readonly Slot[];
  /** The log rows as the relay takes them, each with its entry's arrival time. */
  readonly rows: readonly LogRow[];
  readonly receivedMs: readonly number[];
  readonly streams: readonly UpdateRow['stream'][];
  readonly bytes: number;
  /** The updates without a proof once this batch is committed. */
  readonly unproven: Unproven;
}

interface PrepareOptions {
  /** The entries', by `keysOf`. */
  readonly keys: readonly string[];
  readonly generation: number;
  readonly lane: number;
  /** The batch's number for its commit. */
  readonly number: bigint;
  /** Covers all batches before this one. */
  readonly unproven: Unproven;
  /** Our attempts by their ids, for the entries about unknown orders. */
  readonly bindings: ReadonlyMap<string, Binding>;
  /** Orders with an unreadable state, by key. */
  readonly unreadable: ReadonlyMap<string, UnreadableHead>;
}

/**
 * Reduces entries in their order against the cached heads. The cache must hold every known order
 * among them. Changed heads go into the cache at once and are pinned: so the next batch can be
 * reduced on top of this one while it is still in flight.
 */
export function prepareBatch(entries: readonly Entry[], cache: HeadCache, options: PrepareOptions): PreparedBatch {
  const { keys } = options;
  const batch = new BatchBuilder(cache, options);
  for (let i = 0; i < entries.length; i += 1) {
    const entry = entries[i] as Entry;
    if (entry.kind === 'order') batch.addObservation(entry, keys[i] as string);
    else if (entry.kind === 'unreadable') batch.addUnreadable(entry);
    else if (entry.kind === 'watermarks') batch.addMark(entry);
    else batch.results.push(undefined);
  }
  return batch.finish();
}

/** A batch, complete once it is finished. */
class BatchBuilder implements PreparedBatch {
  readonly results: (ObservationResult | undefined)[] = [];
  readonly learnt = new Set<Entry>();
  readonly doubts: RaisedDoubt[] = [];
  readonly begun: BegunOrder[] = [];
  readonly heads: HeadRow[] = [];
  readonly touched: Slot[] = [];
  readonly updates: UpdateRow[] = [];
  readonly places = { newest: [] as (number | null)[], before: [] as (number | null)[] };
  readonly deadLetters: DeadLetterRow[] = [];
  readonly kept = new Map<string, string>();
  readonly bindings: BindingRow[] = [];
  readonly rows: LogRow[] = [];
  readonly receivedMs: number[] = [];
  readonly streams: UpdateRow['stream'][] = [];
  bytes = 0;
  unproven: Unproven;
  private readonly newest: Newest[] = [];
  /** This batch's updates alone. The next batch with a mark proves them. */
  private count = 0;
  private sum = 0;
  private proves = false;
  private readonly cache: HeadCache;
  private readonly options: PrepareOptions;

  constructor(cache: HeadCache, options: PrepareOptions) {
    this.cache = cache;
    this.options = options;
    this.unproven = options.unproven;
  }

  addObservation(observation: Observation, key: string): void {
    const slot = this.cache.slot(key);
    const head = slot?.head;
    const stored = head === undefined ? this.options.unreadable.get(key) : undefined;
    const bound = this.bind(head, observation, stored);
    const reduction =
      stored !== undefined
        ? reduceUnreadable(stored, observation, bound?.own)
        : head === undefined || bound === undefined
          ? reduce(head, observation, bound?.own)
          : reduceOwned(head, observation, bound.own);
    if (reduction.result === 'applied') {
      const result = this.apply(key, slot, observation, reduction, bound?.row);
      if (bound !== undefined && result === 'applied') this.bindings.push(bound.row);
      if (reduction.learnt === true) this.learnt.add(observation);
      if (reduction.begins === true && result === 'applied') this.begun.push(begunOf(reduction.head.order));
      this.results.push(result);
    } else if (reduction.result === 'conflict') {
      this.keep(key, observation, reduction.reason, reduction.detail);
      this.results.push('conflict');
      // A read asks for no other read: that one would be refused as well, and confirm it for ever.
      if (stored !== undefined && observation.cause === 'stream')
        this.doubt(observation, 'contradicted', stored.revision);
    } else {
      if (reduction.head !== undefined) this.remember(key, slot, reduction.head);
      this.results.push(reduction.result);
    }
    if (reduction.result === 'conflict' || this.results.at(-1) === 'dead_lettered')
      this.doubt(observation, 'dead_lettered', (head ?? stored)?.revision ?? 0);
    else if (reduction.doubt !== undefined)
      this.doubt(observation, reduction.doubt, (reduction.head ?? head)?.revision ?? 0);
  }

  private keep(key: string, observation: Observation, reason: string, detail: string): void {
    const row = deadLetter(observation, reason, detail);
    if (observation.cause === 'snapshot') {
      const digest = digestOf(row);
      if ((this.kept.get(key) ?? this.cache.deadLetters.get(key)) === digest) return;
      this.kept.set(key, digest);
    }
    this.deadLetters.push(row);
  }

  private doubt(observation: Observation, ...raised: RaisedDoubt['raised']): void {
    if (observation.onDoubt !== undefined) this.doubts.push({ observation, raised });
  }

  addUnreadable(item: Unreadable): void {
    const { stream, reason, detail, raw, observedAtMs } = item;
    this.deadLetters.push({
      stream,
      accountId: item.accountId ?? null,
      orderId: item.orderId ?? null,
      reason,
      detail,
      raw,
      observedAtMs,
    });
    this.results.push('dead_lettered');
  }

  addMark(mark: Watermark): void {
    const key = watermarkKey(mark);
    const row = {
      stream: 'watermarks',
      orderId: mark.markId,
      accountId: key,
      revision: 1,
      payload: encodeWatermark(mark, this.proof()),
    } as const;
    this.places.before.push(null);
    this.append(row, key, Number.NaN);
    this.results.push(undefined);
  }

  finish(): PreparedBatch {
    for (const { slot, state, reducedFrom, update } of this.newest) {
      this.heads.push(headRow(slot.head, state ?? encodeOrder(slot.head.order), reducedFrom));
      this.places.newest.push(update);
      this.touched.push(slot);
      slot.newest = undefined;
    }
    const { count, sum } = this;
    const { number, unproven } = this.options;
    this.unproven = this.proves
      ? { after: number - 1n, count, sum }
      : { after: unproven.after, count: unproven.count + count, sum: addSums(unproven.sum, sum) };
    return this;
  }

  /**
   * A batch's first mark proves all batches before it. They may still be in flight: if one fails,
   * so does this one.
   */
  private proof(): BatchProof | undefined {
    if (this.proves) return undefined;
    this.proves = true;
    const { lane, generation, number, unproven } = this.options;
    return proofOf(unproven, { lane, generation, upTo: number - 1n });
  }

  private bind(
    head: Head | undefined,
    observation: Observation,
    stored: UnreadableHead | undefined,
  ): ReturnType<typeof bindOrder> {
    const reference = stored?.attemptId ?? referenceToBind(head, observation);
    if (reference === undefined) return undefined;
    return bindOrder(observation.view, reference, this.options.bindings.get(reference));
  }

  private apply(
    key: string,
    slot: Slot | undefined,
    observation: Observation,
    reduction: Extract<Reduction, { result: 'applied' }>,
    bound: BindingRow | undefined,
  ): ObservationResult {
    const { head } = reduction;
    const { order } = head;
    const orderJson = encodeOrder(order);
    if (orderJson.length > maxOrderBytes / 4 && Buffer.byteLength(orderJson) > maxOrderBytes) {
      this.keep(key, observation, 'too_large', `the normalised order exceeds ${maxOrderBytes} bytes`);
      return 'dead_lettered';
    }
    const payload = encodeUpdate({
      head,
      orderJson,
      generation: this.options.generation,
      batch: this.options,
      cause: reduction.correction === true ? 'correction' : observation.cause,
      occurredAt: order.updatedAt,
      observedAt: formatInstant(observation.observedAtMs),
      changed: reduction.changed,
      ...(reduction.fill !== undefined && { fill: reduction.fill }),
    });
    this.count += 1;
    this.sum = addSums(this.sum, hashOfValue(payload));
    const newest = this.remember(key, slot, head);
    this.places.before.push(newest.update ?? -newest.place);
    newest.update = this.updates.length + 1;
    newest.state = orderJson;
    const { stream, orderId, accountId } = order;
    this.append(
      { stream, orderId, accountId, revision: head.revision, payload },
      key,
      observation.receivedMs,
      bound,
      order.commandId,
    );
    return 'applied';
  }

  private remember(key: string, known: Slot | undefined, head: Head): Newest {
    const stored = known?.head ?? this.options.unreadable.get(key);
    const slot = this.cache.set(key, head, known);
    if (slot.newest !== undefined) return slot.newest;
    this.cache.pin(slot);
    const place = this.newest.length + 1;
    const newest: Newest = { slot, state: undefined, reducedFrom: stored?.revision ?? 0, place, update: null };
    slot.newest = newest;
    this.newest.push(newest);
    return newest;
  }

  private append(row: UpdateRow, key: string, receivedMs: number, bound?: BindingRow, commandId?: string): void {
    const { stream, payload, accountId } = row;
    this.updates.push(row);
    const plain: LogRow =
      stream === 'watermarks' ? { topic: 'watermarks', key, payload } : { topic: 'updates', key, payload, accountId };
    if (bound !== undefined) this.rows.push({ ...plain, commandId: bound.commandId, bound: boundOrderOf(bound) });
    else this.rows.push(commandId === undefined ? plain : { ...plain, commandId });
    this.receivedMs.push(receivedMs);
    this.streams.push(stream);
    this.bytes += payload.length;
  }
}

function begunOf({ stream, accountId, orderId, incarnation, commandId }: Order): BegunOrder {
  return { stream, accountId, orderId, incarnation, commandId };
}

function boundOrderOf({ attemptId, commandId, orderId, matches }: BindingRow): BoundOrder {
  return { attemptId, commandId, orderId, matches };
}

function headRow(head: Head, state: string, reducedFrom: number): HeadRow {
  const { order, revision, sourceVersion } = head;
  return {
    stream: order.stream,
    orderId: order.orderId,
    accountId: order.accountId,
    symbol: order.instrument.symbol,
    status: order.status,
    revision,
    reducedFrom,
    sourceVersion: sourceVersion === undefined ? null : sourceVersion.toString(),
    state,
    join: encodeHeadJoin(head),
  };
}

const modulus = 2 ** 48;

export function noneUnproven(after: bigint): Unproven {
  return { after, count: 0, sum: 0 };
}

/**
 * A sum, and not a chain of hashes: a topic's partitions have no common order, and a consumer need
 * not make one. 48 bits are exact in a double and in the numbers of every database and language.
 * The chance to miss an edit is 1 in 2.8e14. It takes about 1 µs an update (decision 037); 64
 * bits as bigints took 2.4.
 */
export function addSums(a: number, b: number): number {
  return (a + b) % modulus;
}

/** Hashes one value, as its bytes are on Kafka. */
export function hashOfValue(payload: string): number {
  return Number.parseInt(hash('sha256', payload).slice(0, 12), 16);
}

/** Proves all counted updates, up to and with the batch `upTo`. */
export function proofOf(unproven: Unproven, of: { lane: number; generation: number; upTo: bigint }): BatchProof {
  const { after, count, sum } = unproven;
  return { ...of, after, count, hash: sum.toString(16).padStart(12, '0') };
}

/** A batch sent to the store and not yet committed. */
export interface Flight {
  /** Undefined: it writes nothing, and only waits for the batches before it. */
  readonly number: bigint | undefined;
  /** Kept until the commit: after a failure they are reduced again. */
  readonly entries: readonly Entry[];
  readonly prepared: PreparedBatch;
  /** The updates without a proof before it. Restored if it fails. */
  readonly unprovenBefore: Unproven;
  readonly sentMs: number;
  /** Never rejects. */
  readonly answer: Promise<ApplyResult>;
  /** Set when the answer is here. */
  result: ApplyResult | undefined;
}
