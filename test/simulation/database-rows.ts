import type { Head } from '../../src/domain/head.ts';
import { isTerminal } from '../../src/domain/order.ts';
import type { AccountRecord, OpenOrder } from '../../src/store/account-registry.ts';
import type { LaneHold, Takeover } from '../../src/store/lane-store.ts';
import type { BindingRow, HeadRow, QuarantineRow } from '../../src/store/order-store.ts';
import type { StoredLogRow } from '../../src/store/update-log.ts';

/** How often each thing goes wrong, as a probability a call. */
export interface DatabaseFaults {
  /** The transaction is refused before it does anything, and may be tried again. */
  readonly retry: number;
  /** The connection breaks; the transaction never reached the server. */
  readonly lostBefore: number;
  /** The connection breaks; the backend goes on by itself and may commit long after. */
  readonly orphan: number;
  /** The commit took place, its answer is lost. */
  readonly lostAnswer: number;
  /** Any other call fails. */
  readonly unreachable: number;
}

export const noDatabaseFaults: DatabaseFaults = { retry: 0, lostBefore: 0, orphan: 0, lostAnswer: 0, unreachable: 0 };

export interface LogEntry extends StoredLogRow {
  readonly lane: number;
  readonly stream: string;
  readonly orderId: string;
  readonly revision: number;
  readonly recordedMs: number;
}

/** The lane's connection of one client: batches go through it one behind the other. `cut`: the client is gone, and what it had not sent yet is lost. */
export interface LaneSession {
  tail: Promise<unknown>;
  cut: boolean;
}

export function takeoverOf({ holder: from, epoch }: LaneRow, holder: string, idleMs: number): Takeover {
  if (epoch === 0n) return { cause: 'first', from, idleMs: 0 };
  return { cause: from === undefined ? 'released' : from === holder ? 'own' : 'expired', from, idleMs };
}

export function laneSession(): LaneSession {
  return { tail: Promise.resolve(), cut: false };
}

export interface LaneRow {
  holder: string | undefined;
  epoch: bigint;
  batch: bigint;
  renewedMs: number;
  generation: number;
}

export type StoredHead = HeadRow & { readonly touchedMs: number };

type HeldOrder = Head & { readonly touchedMs: number };

interface OpenOrdersAsked {
  readonly touchedBeforeMs: number;
  readonly afterOrderId: string;
  readonly limit: number;
}

/** As `AccountRegistry.openOrders`, from the orders of one account on one stream. */
export function openOrdersOf(held: readonly HeldOrder[], { touchedBeforeMs, afterOrderId, limit }: OpenOrdersAsked): OpenOrder[] {
  return held
    .filter(({ order, touchedMs }) => touchedMs < touchedBeforeMs && order.orderId > afterOrderId && !isTerminal(order.status))
    .sort((a, b) => (a.order.orderId < b.order.orderId ? -1 : 1))
    .slice(0, limit)
    .map(({ order: { orderId, status, updatedAt }, sourceVersion }) => ({ orderId, status, sourceVersion, updatedAt }));
}

/** A copy of the database, as a standby has it that is behind. */
export interface DatabaseCopy {
  readonly lanes: ReadonlyMap<number, LaneRow>;
  readonly heads: Map<string, StoredHead>;
  readonly log: readonly LogEntry[];
  readonly quarantine: readonly QuarantineRow[];
  readonly bindings: Map<string, BindingRow>;
  readonly positions: ReadonlyMap<string, bigint>;
  readonly accounts: ReadonlyMap<string, AccountRecord>;
  readonly nextSeq: bigint;
}

/** What Kafka shows of one update. */
export interface PublishedRow {
  readonly key: string;
  readonly payload: string;
}

export function holdOf({ epoch, batch, generation }: LaneRow): Required<LaneHold> {
  return { epoch, batch, generation };
}

/** What a taking adds to the epoch besides one; differs from holder to holder. */
export function spreadOf(holder: string): number {
  let hash = 0;
  for (let i = 0; i < holder.length; i += 1) hash = (hash * 31 + holder.charCodeAt(i)) & 0xfffff;
  return hash;
}

/** Puts what `by` has in the place of all that `of` had. */
export function replace<K, V>(of: Map<K, V>, by: ReadonlyMap<K, V>): void;
export function replace<T>(of: Set<T>, by: ReadonlySet<T>): void;
export function replace(of: Map<unknown, unknown> | Set<unknown>, by: Iterable<unknown>): void {
  of.clear();
  for (const each of by) {
    if (of instanceof Set) of.add(each);
    else of.set(...(each as [unknown, unknown]));
  }
}

/** What is unique in the log. */
export function revisionKey(update: { readonly stream: string; readonly orderId: string; readonly revision: number }): string {
  return `${update.stream} ${update.orderId} ${update.revision}`;
}
