import { compareDecimals } from '../../../src/domain/decimal.ts';
import type { Order, OrderStatus } from '../../../src/domain/order.ts';
import { isTerminal } from '../../../src/domain/order.ts';
import { traits } from '../../../src/domain/streams.ts';
import type { PublishRow } from '../../../src/service/log/publisher.ts';
import type { Batch, HeadRow } from '../../../src/store/orders/order-store.ts';
import type { LogEntry } from '../database-rows.ts';
import type { TopicName } from '../world/memory-broker.ts';
import type { MemoryDatabase } from '../world/memory-database.ts';
import type { MemoryPlatform } from '../world/memory-platform.ts';
import { type LoggedChange, MarkWatch } from './mark-watch.ts';

interface Payload extends LoggedChange {
  readonly generation: number;
  readonly revision: number;
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
  incarnation: number;
  status: OrderStatus;
}

interface Logged {
  readonly lane: number;
  readonly accountIds: readonly string[];
  readonly index: number;
  readonly key: string;
  generation: number;
  readonly revision: number;
  onTopic: boolean;
  /** The database lost it. It may be on its way to Kafka, or not. */
  lost: boolean;
}

/** A shard, and the lane that has it. `lost`: the database lost commits, so nothing can be said. */
export interface Assignment {
  readonly shard: number;
  readonly lane: number | undefined;
  readonly lost: boolean;
}

/** The first of two positions is the newer one, or the same. */
function isAtLeast(a: Position, b: Position): boolean {
  return a.generation > b.generation || (a.generation === b.generation && a.revision >= b.revision);
}

type Position = Pick<Logged, 'generation' | 'revision'>;
const before: Position = { generation: 0, revision: 0 };

/**
 * What must hold at every instant, faults or not (docs/guarantees.md 2, 3, 7, 8, 9, 24): looked at
 * with every commit and every record. Each breach is a sentence; the run goes on to its end, so
 * that the first one can be read in its surroundings.
 */
export class SafetyWatch {
  readonly breaches: string[] = [];
  private readonly lastEpochs = new Map<number, bigint>();
  private readonly known = new Map<string, Known>();
  private readonly logged = new Map<string, Logged>();
  private readonly order: Logged[] = [];
  private firstMissing = 0;
  private readonly firstSeen = new Map<string, Position>();
  private readonly flushed = new Map<string, Position>();
  /** By order, generation and revision: the one content that consumers were given. */
  private readonly given = new Map<string, string>();
  private readonly marks = new MarkWatch();

  private readonly assignmentOf: (accountId: string) => Assignment;
  /** It knows whether it took back what it had shown of an order. */
  private readonly platform: Pick<MemoryPlatform, 'takesBack' | 'reused'>;
  private readonly database: Pick<MemoryDatabase, 'healing'>;

  constructor(
    assignmentOf: (accountId: string) => Assignment,
    platform: Pick<MemoryPlatform, 'takesBack' | 'reused'>,
    database: Pick<MemoryDatabase, 'healing'>,
  ) {
    this.assignmentOf = assignmentOf;
    this.platform = platform;
    this.database = database;
  }

  committed(batch: Batch, rows: readonly LogEntry[]): void {
    const { lane, epoch } = batch;
    const last = this.lastEpochs.get(lane) ?? 0n;
    if (epoch < last) this.breach(`epoch ${epoch} commits behind epoch ${last}`);
    this.lastEpochs.set(lane, epoch);
    for (const accountId of new Set(
      batch.updates.filter(({ stream }) => stream !== 'watermarks').map((update) => update.accountId),
    ))
      this.holdsAlone(lane, accountId);
    for (const row of rows) this.logRow(row);
    for (const head of batch.heads) this.head(head);
  }

  appended(topic: Exclude<TopicName, 'results'>, row: PublishRow, from: string): void {
    const logged = this.logged.get(row.payload);
    if (logged === undefined || (row.topic === 'updates' && logged.key !== row.key)) {
      this.breach(`${from} put on ${topic} what is not in the log: ${row.key} ${row.payload.slice(0, 120)}`);
      return;
    }
    if (topic !== 'watermarks') this.giveOnce(row, logged, from);
    if (topic === 'state') this.stateRow(row, logged, from);
    else if (!logged.onTopic) this.firstOccurrence(topic, row, logged, from);
  }

  /** Log rows that are not on their topic. */
  missing(): string[] {
    return this.missingRows().map(({ key, revision }) => `${key} revision ${revision}`);
  }

  /** The database came back with this log and no more. */
  lost(log: readonly LogEntry[]): void {
    const kept = new Set(log.map(({ payload }) => payload));
    for (const [payload, logged] of this.logged) if (!kept.has(payload)) logged.lost = true;
    this.lastEpochs.clear();
    this.marks.forget();
    this.known.clear();
    for (const row of log)
      if (row.topic === 'updates') this.known.set(row.key, knownOf(JSON.parse(row.payload) as Payload));
  }

  /** A generation that began gave a row another text, for nobody had published it. */
  givenAnew(before: string, after: string, generation: number): void {
    const logged = this.logged.get(before);
    if (logged === undefined) return;
    this.logged.delete(before);
    this.logged.set(after, Object.assign(logged, { generation }));
  }

  /** A record that the database lost after it was committed. */
  wasLost(payload: string): boolean {
    return this.logged.get(payload)?.lost === true;
  }

  /**
   * A shard changes hands only when all that its last holder committed is on Kafka, and that one
   * commits nothing of it any more (docs/decisions/036).
   */
  private holdsAlone(lane: number, accountId: string): void {
    const { shard, lane: holder, lost } = this.assignmentOf(accountId);
    if (lost) return;
    if (holder !== lane) this.breach(`lane ${lane} commits for shard ${shard}, which lane ${holder ?? 'none'} holds`);
    for (const logged of this.missingRows())
      if (logged.lane !== lane && logged.accountIds.includes(accountId))
        this.breach(
          `lane ${lane} commits for ${accountId} before ${logged.key} revision ${logged.revision} of lane ${logged.lane} is on its topic`,
        );
  }

  private missingRows(): Logged[] {
    return this.order.slice(this.firstMissing).filter(({ onTopic, lost }) => !onTopic && !lost);
  }

  private logRow({ topic, key, payload, revision, lane }: LogEntry): void {
    const update = JSON.parse(payload) as Payload & { readonly accountIds?: readonly string[] };
    const { generation } = update;
    const accountIds = topic === 'watermarks' ? (update.accountIds ?? []) : [update.accountId];
    const logged: Logged = {
      lane,
      accountIds,
      index: this.order.length,
      key,
      generation,
      revision,
      onTopic: false,
      lost: false,
    };
    this.order.push(logged);
    if (this.logged.get(payload)?.lost === false)
      this.breach(`the log holds one payload twice: ${payload.slice(0, 120)}`);
    this.logged.set(payload, logged);
    if (topic === 'watermarks') {
      this.marks.mark(JSON.parse(payload));
      return;
    }
    const overtaken = this.marks.breachOf(update);
    if (overtaken !== undefined) this.breach(overtaken);
    const { order, cause, revision: inside, changed } = update;
    const before = this.known.get(key);
    if (revision !== (before?.revision ?? 0) + 1 || inside !== revision) {
      this.breach(`${key} goes from revision ${before?.revision ?? 0} to ${revision} (payload: ${inside})`);
    }
    const now = knownOf(update);
    // The service calls its own step a correction: it is one only where the platform agrees, and
    // never where versions order the steps.
    const corrects = cause === 'correction' && isJoined(order) && this.platform.takesBack(order.orderId);
    const begins = before !== undefined && now.incarnation === before.incarnation + 1 && this.platform.reused.has(key);
    // Nobody can know what a state was that can't be read; its version stands beside it.
    const heals = this.database.healing.has(payload);
    if (before !== undefined && !begins && !heals && now.incarnation !== before.incarnation)
      this.breach(`${key} is order ${now.incarnation} under its id, and the platform did not give that again`);
    const isVersioned = before !== undefined && !isJoined(order) && now.epoch === 0;
    if (heals && isVersioned && now.version < before.version)
      this.breach(`${key} begins again at version ${now.version}, below ${before.version}`);
    if (before !== undefined && !corrects && !heals && !begins)
      this.neverBack(key, before, now, !isJoined(order) && { changed });
    this.known.set(key, now);
  }

  private neverBack(
    key: string,
    before: Known,
    now: Known,
    versioned: false | { readonly changed: readonly string[] },
  ): void {
    if (versioned !== false) {
      const higher = now.epoch > before.epoch || (now.epoch === before.epoch && now.version > before.version);
      // Whose it is may be learnt late, and that is all that is new then.
      const same = now.epoch === before.epoch && now.version === before.version;
      const isOwner =
        same && versioned.changed.length > 0 && versioned.changed.every((field) => ownerFields.has(field));
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
    if (known !== undefined && !isJoined({ stream }) && BigInt(sourceVersion ?? -1) !== known.version) {
      this.breach(`the state of ${key} has version ${sourceVersion}, the log ${known.version}`);
    }
    if (newest && (JSON.parse(state) as Order).cumQty !== known?.cumQty)
      this.breach(`the state of ${key} is not the log's`);
  }

  private firstOccurrence(topic: TopicName, row: PublishRow, logged: Logged, from: string): void {
    logged.onTopic = true;
    for (let next = this.order[this.firstMissing]; next?.onTopic || next?.lost; next = this.order[this.firstMissing])
      this.firstMissing += 1;
    if (topic === 'watermarks') {
      const promised = ({ index, lane, accountIds }: Logged) =>
        index <= logged.index && (lane === logged.lane || accountIds.some((id) => logged.accountIds.includes(id)));
      if (this.missingRows().some(promised))
        this.breach(`${from} says complete before everything is there: ${row.payload}`);
      return;
    }
    const last = this.firstSeen.get(row.key) ?? before;
    // What was lost may arrive late, behind the generation that has begun: consumers drop it.
    if (logged.lost && isAtLeast(last, logged)) return;
    const follows =
      logged.generation > last.generation
        ? last.generation > 0 || logged.revision === 1
        : logged.revision === last.revision + 1;
    if (!follows) this.breach(`${from}: ${row.key} shows revision ${logged.revision} first behind ${last.revision}`);
    this.firstSeen.set(row.key, logged);
  }

  /** Within a generation a revision has one content for ever (docs/guarantees.md 29). */
  private giveOnce(row: PublishRow, { generation, revision }: Logged, from: string): void {
    const position = `${row.key} revision ${revision} of generation ${generation}`;
    const given = this.given.get(position);
    if (given !== undefined && given !== row.payload) this.breach(`${from} gives ${position} again with other content`);
    this.given.set(position, given ?? row.payload);
  }

  private stateRow(row: PublishRow, logged: Logged, from: string): void {
    const last = this.flushed.get(row.key) ?? before;
    if (!isAtLeast(logged, last))
      this.breach(`${from} puts revision ${logged.revision} of ${row.key} on the state topic behind ${last.revision}`);
    this.flushed.set(row.key, logged);
  }

  private breach(what: string): void {
    this.breaches.push(what);
  }
}

/** Otherwise versions order its steps. */
function isJoined({ stream }: Pick<Order, 'stream'>): boolean {
  return traits[stream].reduction === 'join';
}

function knownOf({ revision, order, sourceVersion }: Payload): Known {
  return {
    revision,
    epoch: order.sourceEpoch ?? 0,
    version: sourceVersion === undefined ? -1n : BigInt(sourceVersion),
    cumQty: order.cumQty,
    incarnation: order.incarnation ?? 1,
    status: order.status,
  };
}
