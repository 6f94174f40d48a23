import type { Head } from '../../src/domain/head.ts';
import { isTerminal } from '../../src/domain/order.ts';
import { addSums, hashOfValue } from '../../src/service/orders/prepare-batch.ts';
import type { AccountRecord, OpenOrder } from '../../src/store/fleet/account-registry.ts';
import type { LaneHold, Takeover } from '../../src/store/fleet/lane-store.ts';
import type { MemberIntroduction } from '../../src/store/fleet/shard-store.ts';
import type { BindingRow, DeadLetterRow, HeadRow, Unproven } from '../../src/store/orders/order-store.ts';
import type { StoredLogRow } from '../../src/store/orders/update-log.ts';

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

/**
 * The lane's connection of one client: batches go through it one behind the other. `cut`: the
 * client is gone, and what it had not sent yet is lost.
 */
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
  heldSinceMs: number;
  /** By an operator. */
  drained: boolean;
  introduction: MemberIntroduction;
  /** Nothing above this batch was published: Kafka could not be asked yet. */
  unpublishedAfter?: bigint | undefined;
}

/** How a process shows itself before it has introduced itself. */
export const unknownIntroduction: MemberIntroduction = { weight: 0, address: undefined, version: '', draining: false };

export interface ShardRow {
  readonly shard: number;
  lane: number | undefined;
  pinned: boolean;
  epoch: bigint;
  sinceMs: number;
}

export type StoredHead = HeadRow & { readonly touchedMs: number };

type HeldOrder = Head & { readonly touchedMs: number };

interface OpenOrdersAsked {
  readonly withinMs: number;
  readonly nowMs: number;
  readonly afterOrderId: string;
  readonly limit: number;
}

/** As `AccountRegistry.openOrders`, from the orders of one account on one stream. */
export function openOrdersOf(
  held: readonly HeldOrder[],
  { withinMs, nowMs, afterOrderId, limit }: OpenOrdersAsked,
): OpenOrder[] {
  return held
    .filter(
      ({ order, touchedMs }) =>
        (touchedMs < nowMs - withinMs || touchedMs > nowMs) &&
        order.orderId > afterOrderId &&
        !isTerminal(order.status),
    )
    .sort((a, b) => (a.order.orderId < b.order.orderId ? -1 : 1))
    .slice(0, limit)
    .map(heldOrder);
}

/** As an `AccountRegistry` shows it. */
export function heldOrder({ order, sourceVersion }: Head): OpenOrder {
  const { orderId, status, updatedAt, createdAt, sentAt, cumQty } = order;
  return {
    ...{ orderId, status, sourceVersion, updatedAt, cumQty },
    ...(createdAt !== undefined && { createdAt }),
    ...(sentAt !== undefined && { sentAt }),
  };
}

/** As `OrderStore.readUnproven`, from the rows of one lane. */
export function unprovenOf(rows: readonly LogEntry[], generation: number): Unproven | undefined {
  const proofs = rows.flatMap(({ topic, payload }) =>
    topic === 'watermarks' && payload.includes('"proof":{')
      ? [(JSON.parse(payload) as { proof: WrittenProof }).proof]
      : [],
  );
  const last = proofs.at(-1);
  if (last?.generation !== generation) return undefined;
  const after = BigInt(last.upTo);
  const left = rows.filter(({ topic, batch }) => topic === 'updates' && batch > after);
  return { after, count: left.length, sum: left.reduce((sum, { payload }) => addSums(sum, hashOfValue(payload)), 0) };
}

interface WrittenProof {
  readonly generation: number;
  readonly upTo: string;
}

/** A copy of the database, as a standby has it that is behind. */
export interface DatabaseCopy {
  readonly lanes: ReadonlyMap<number, LaneRow>;
  readonly shards: readonly ShardRow[];
  readonly heads: Map<string, StoredHead>;
  readonly log: readonly LogEntry[];
  readonly deadLetters: readonly DeadLetterRow[];
  readonly bindings: Map<string, BindingRow>;
  readonly positions: ReadonlyMap<string, bigint>;
  readonly accounts: ReadonlyMap<string, AccountRecord>;
  readonly nextSeq: bigint;
}

/** As `LaneStore.pick`. */
export function pickLane(
  lanes: ReadonlyMap<number, LaneRow>,
  shards: readonly ShardRow[],
  holder: string,
  isLive: (row: LaneRow) => boolean,
): number {
  const free = [...lanes].filter(([, row]) => row.holder === undefined || row.holder === holder || !isLive(row));
  const hasShards = (lane: number) => Number(shards.some((assignment) => assignment.lane === lane));
  free.sort(
    ([a, one], [b, other]) =>
      Number(other.holder === holder) - Number(one.holder === holder) || hasShards(b) - hasShards(a) || a - b,
  );
  return free[0]?.[0] ?? Math.max(-1, ...lanes.keys()) + 1;
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
export function revisionKey(update: {
  readonly stream: string;
  readonly orderId: string;
  readonly revision: number;
}): string {
  return `${update.stream} ${update.orderId} ${update.revision}`;
}
