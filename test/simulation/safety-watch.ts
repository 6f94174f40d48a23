import { compareDecimals } from '../../src/domain/decimal.ts';
import type { Order, OrderStatus } from '../../src/domain/order.ts';
import { isTerminal } from '../../src/domain/terminal.ts';
import type { Batch, HeadRow } from '../../src/ingest/order-store.ts';
import type { PublishRow } from '../../src/relay/publisher.ts';
import type { TopicName } from './memory-broker.ts';
import type { LogEntry } from './memory-database.ts';

interface Payload {
  readonly revision: number;
  readonly cause: string;
  readonly order: Order;
  readonly sourceVersion?: string;
  readonly changed: readonly string[];
}

const ownerFields: ReadonlySet<string> = new Set(['origin', 'clientOrderRef', 'commandId', 'callerRef']);

interface Known {
  revision: number;
  epoch: number;
  version: bigint;
  cumQty: string;
  status: OrderStatus;
}

interface Logged {
  readonly index: number;
  readonly key: string;
  readonly revision: number;
  onTopic: boolean;
}

/**
 * What must hold at every instant, faults or not (invariants.md 2, 3, 7, 8, 9, 24): looked at with every commit and every record. Each breach is a sentence;
 * the run goes on to its end, so that the first one can be read in its surroundings.
 */
export class SafetyWatch {
  readonly breaches: string[] = [];
  private lastEpoch = 0n;
  private readonly known = new Map<string, Known>();
  private readonly logged = new Map<string, Logged>();
  private readonly order: Logged[] = [];
  private firstMissing = 0;
  private readonly firstSeen = new Map<string, number>();
  private readonly flushed = new Map<string, number>();

  committed(batch: Batch, rows: readonly LogEntry[]): void {
    if (batch.epoch < this.lastEpoch) this.breach(`epoch ${batch.epoch} commits behind epoch ${this.lastEpoch}`);
    this.lastEpoch = batch.epoch;
    for (const row of rows) this.logRow(row);
    for (const head of batch.heads) this.head(head);
  }

  appended(topic: Exclude<TopicName, 'outcomes'>, row: PublishRow, from: string): void {
    const logged = this.logged.get(row.payload);
    if (logged === undefined || (row.topic === 'updates' && logged.key !== row.key)) {
      this.breach(`${from} put on ${topic} what is not in the log: ${row.key} ${row.payload.slice(0, 120)}`);
      return;
    }
    if (topic === 'state') this.stateRow(row, logged, from);
    else if (!logged.onTopic) this.firstOccurrence(topic, row, logged, from);
  }

  /** Log rows that are not on their topic. */
  missing(): string[] {
    return this.order.filter(({ onTopic }) => !onTopic).map(({ key, revision }) => `${key} revision ${revision}`);
  }

  private logRow({ topic, key, payload, revision }: LogEntry): void {
    const logged: Logged = { index: this.order.length, key, revision, onTopic: false };
    this.order.push(logged);
    if (this.logged.has(payload)) this.breach(`the log holds one payload twice: ${payload.slice(0, 120)}`);
    this.logged.set(payload, logged);
    if (topic === 'continuity') return;
    const { order, cause, sourceVersion, revision: inside, changed } = JSON.parse(payload) as Payload;
    const before = this.known.get(key);
    if (revision !== (before?.revision ?? 0) + 1 || inside !== revision) {
      this.breach(`${key} goes from revision ${before?.revision ?? 0} to ${revision} (payload: ${inside})`);
    }
    const now: Known = {
      revision,
      epoch: order.sourceEpoch ?? 0,
      version: sourceVersion === undefined ? -1n : BigInt(sourceVersion),
      cumQty: order.cumQty,
      status: order.status,
    };
    if (before !== undefined && cause !== 'correction')
      this.neverBack(key, before, now, order.stream === 'prediction' && { changed });
    this.known.set(key, now);
  }

  private neverBack(key: string, before: Known, now: Known, versioned: false | { readonly changed: readonly string[] }): void {
    if (versioned !== false) {
      const higher = now.epoch > before.epoch || (now.epoch === before.epoch && now.version > before.version);
      // Whose it is may be learnt late, and that is all that is new then.
      const same = now.epoch === before.epoch && now.version === before.version;
      const isOwner = same && versioned.changed.length > 0 && versioned.changed.every((field) => ownerFields.has(field));
      if (!higher && !isOwner)
        this.breach(`${key} goes from version ${before.epoch}/${before.version} to ${now.epoch}/${now.version}`);
      return;
    }
    if (compareDecimals(now.cumQty, before.cumQty) < 0)
      this.breach(`${key}: cumQty falls from ${before.cumQty} to ${now.cumQty}`);
    if (isTerminal(before.status) && !isTerminal(now.status)) this.breach(`${key} comes back from ${before.status}`);
  }

  private head({ stream, orderId, revision, state, sourceVersion }: HeadRow): void {
    const key = `${stream}:${orderId}`;
    const known = this.known.get(key);
    const newest = known?.revision === revision;
    if (!newest) this.breach(`the state of ${key} has revision ${revision}, the log ${known?.revision ?? 'none'}`);
    if (known !== undefined && stream === 'prediction' && BigInt(sourceVersion ?? -1) !== known.version) {
      this.breach(`the state of ${key} has version ${sourceVersion}, the log ${known.version}`);
    }
    if (newest && (JSON.parse(state) as Order).cumQty !== known?.cumQty) this.breach(`the state of ${key} is not the log's`);
  }

  private firstOccurrence(topic: TopicName, row: PublishRow, logged: Logged, from: string): void {
    logged.onTopic = true;
    while (this.order[this.firstMissing]?.onTopic === true) this.firstMissing += 1;
    if (topic === 'continuity') {
      if (this.firstMissing <= logged.index) this.breach(`${from} says complete before everything is there: ${row.payload}`);
      return;
    }
    const last = this.firstSeen.get(row.key) ?? 0;
    if (logged.revision !== last + 1) this.breach(`${from}: ${row.key} shows revision ${logged.revision} first behind ${last}`);
    this.firstSeen.set(row.key, logged.revision);
  }

  private stateRow(row: PublishRow, { revision }: Logged, from: string): void {
    const before = this.flushed.get(row.key) ?? 0;
    if (revision < before) this.breach(`${from} puts revision ${revision} of ${row.key} on the state topic behind ${before}`);
    this.flushed.set(row.key, revision);
  }

  private breach(what: string): void {
    this.breaches.push(what);
  }
}
