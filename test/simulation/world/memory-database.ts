import { isDeepStrictEqual } from 'node:util';
import type { Head, UnreadableHead } from '../../../src/domain/head.ts';
import { decodeHead } from '../../../src/domain/head.ts';
import { orderKey, type Stream } from '../../../src/domain/order.ts';
import type { Checkpoint } from '../../../src/runtime/lease.ts';
import type { AccountRecord, AccountRegistry, OpenOrder } from '../../../src/store/fleet/account-registry.ts';
import type { FoundLoss } from '../../../src/store/fleet/lane-store.ts';
import type {
  ApplyResult,
  Batch,
  Binding,
  BindingRow,
  DeadLetterRow,
  HeadRow,
  OrderStore,
  Unproven,
} from '../../../src/store/orders/order-store.ts';
import type {
  NewestRead,
  RelayBacklog,
  RelayCursor,
  StoredLogRow,
  UpdateLog,
} from '../../../src/store/orders/update-log.ts';
import { staleHead } from '../../../src/store/session/retry-transaction.ts';
import { placesOf } from '../../support/orders/batch-places.ts';
import {
  type DatabaseCopy,
  type LaneSession,
  type LogEntry,
  laneSession,
  openOrdersOf,
  replace,
  revisionKey,
  type StoredHead,
  unprovenOf,
} from '../database-rows.ts';
import { MemoryLanes } from './memory-lanes.ts';

/**
 * Postgres as the lane's rules see it, in memory: a row lock that serialises batches, fences and
 * reclaims; transactions that happen whole or not at all; backends that outlive their client. It
 * survives the crashes of its clients.
 *
 * Invariant: everything inside `locked` happens in one turn of the lock; a batch is checked against
 * epoch and number only then, as `enter_lane` does.
 */
export class MemoryDatabase
  extends MemoryLanes
  implements OrderStore, UpdateLog, Omit<AccountRegistry, 'save' | 'ordersNamed'>
{
  readonly heads = new Map<string, StoredHead>();
  readonly log: LogEntry[] = [];
  readonly deadLetters: DeadLetterRow[] = [];
  /**
   * The journal's attempts, as ingest sees them: by attempt id. Whoever keeps the journal puts them
   * here when the attempt's row commits.
   */
  readonly attempts = new Map<string, Binding>();
  /** By order key: written in the transaction of the order's first revision. */
  readonly bindings = new Map<string, BindingRow>();
  /**
   * Rows that the cursor of the state topic jumped over when a generation began: it cannot bear an
   * older state. `tidemark verify --repair` writes them.
   */
  readonly passedOver = new Set<string>();
  /** Keys of orders whose states can't be read; with a new state they can be. */
  readonly damaged = new Set<string>();
  /** The payloads of rows that gave such an order a state again. */
  readonly healing = new Set<string>();
  /** What a correct client never asks for. */
  readonly violations: string[] = [];
  /**
   * How long an answer about the log is on its way back: it says what was there when it was read.
   */
  answerMs = 0;
  /** So few that states are often written of which the log has newer ones behind. */
  protected mostLookedAt = 20;
  /** From one row of the log to the next. Batches that are rolled back leave such holes. */
  protected seqStep = 1n;
  /** Told in the same instant as each commit, with the rows of the log that it made. */
  onCommit: (batch: Batch, rows: readonly LogEntry[]) => void = () => {};
  /** Told of each row that a generation gave another text before it was published. */
  onGivenAnew: (before: string, after: string, generation: number) => void = () => {};
  private readonly positions = new Map<string, bigint>();
  readonly accounts = new Map<string, AccountRecord>();
  /** Batches with a stored order that was taken for new. */
  refusals = 0;
  /** The epoch of such a batch, by lane, until the next commit. */
  private readonly refusedIn = new Map<number, bigint>();
  private readonly revisions = new Set<string>();
  private readonly onlySession = laneSession();
  protected nextSeq = 1n;

  protected hasUnpublished(lane: number): boolean {
    return this.backlogOf(lane).some(({ newest }) => newest !== undefined);
  }

  async readHeads(keys: readonly string[]): Promise<Map<string, Head | UnreadableHead>> {
    await this.call();
    const found = new Map<string, Head | UnreadableHead>();
    for (const key of keys) {
      const row = this.heads.get(key);
      if (row !== undefined) found.set(key, this.damaged.has(key) ? this.columnsOf(key, row) : decodeHead(row));
    }
    return found;
  }

  private columnsOf(key: string, { accountId, revision, sourceVersion }: StoredHead): UnreadableHead {
    const [{ attemptId } = { attemptId: undefined }] = this.bindingsOf(key);
    return {
      ...{ fault: 'it is nowhere', accountId, revision },
      ...(sourceVersion !== null && { sourceVersion: BigInt(sourceVersion) }),
      ...(attemptId !== undefined && { attemptId }),
    };
  }

  /** One for each order under the id, the oldest first. */
  bindingsOf(key: string): BindingRow[] {
    return [...this.bindings.values()].filter(({ stream, orderId }) => orderKey(stream, orderId) === key);
  }

  async readBindings(attemptIds: readonly string[]): Promise<Map<string, Binding>> {
    await this.call();
    const found = new Map<string, Binding>();
    for (const attemptId of attemptIds) {
      const attempt = this.attempts.get(attemptId);
      if (attempt !== undefined) found.set(attemptId, attempt);
    }
    return found;
  }

  async readUnproven(lane: number, generation: number): Promise<Unproven | undefined> {
    await this.call();
    return unprovenOf(
      this.log.filter((row) => row.lane === lane),
      generation,
    );
  }

  /**
   * Batches of one client go over one pipelined connection: the
   * second begins when the first has ended.
   */
  applyBatch(batch: Batch, session: LaneSession = this.onlySession): Promise<ApplyResult> {
    const { clock, faults } = this;
    const dice = this.random.next();
    const before = session.tail;
    const work = (async (): Promise<ApplyResult> => {
      await before;
      await clock.sleep(this.random.next() * 4);
      if (session.cut || this.down) return { kind: 'unknown', code: 'ECONNRESET' };
      if (dice < faults.retry) return { kind: 'retry', code: '40001' };
      if (dice < faults.retry + faults.lostBefore) return { kind: 'unknown', code: 'ECONNRESET' };
      return this.locked(() => this.transact(batch));
    })();
    const orphaned = dice >= 1 - faults.orphan;
    const answer = (async (): Promise<ApplyResult> => {
      if (orphaned) {
        await clock.sleep(this.random.next() * 3);
        return { kind: 'unknown', code: 'ECONNRESET' };
      }
      const result = await work;
      return dice >= 1 - faults.orphan - faults.lostAnswer ? { kind: 'unknown', code: 'ETIMEDOUT' } : result;
    })();
    session.tail = orphaned ? answer : work;
    return answer;
  }

  private async transact(batch: Batch): Promise<ApplyResult> {
    const { incarnation } = this;
    const row = this.laneRow(batch.lane);
    if (row.epoch !== batch.epoch) return { kind: 'lane_lost' };
    if (row.batch !== batch.number - 1n) return { kind: 'out_of_order' };
    // Also where the newest state of the order is clean again.
    if (batch.updates.some(({ payload }) => payload.includes('POISON')))
      return { kind: 'poison', code: '22P05', message: 'unsupported' };
    await this.clock.sleep(this.random.next() * 3);
    if (incarnation !== this.incarnation) return { kind: 'unknown', code: 'ECONNRESET' };
    if (batch.heads.some((head) => this.isTakenForNew(head))) return this.refuse(batch);
    const twice = batch.updates.find((update) => this.revisions.has(revisionKey(update)));
    if (twice !== undefined) {
      this.violations.push(`the log would hold ${twice.stream}:${twice.orderId} revision ${twice.revision} twice`);
      return { kind: 'poison', code: '23505', message: 'duplicate key' };
    }
    return { kind: 'committed', lastSeq: this.write(batch) };
  }

  /** The comparison that a correct client may fail: other old heads are left to the oracles. */
  isTakenForNew({ stream, orderId, reducedFrom }: HeadRow): boolean {
    return reducedFrom === 0 && this.heads.has(orderKey(stream, orderId));
  }

  private refuse({ lane, epoch }: Batch): ApplyResult {
    this.refusals += 1;
    if (this.refusedIn.get(lane) === epoch)
      this.violations.push(`lane ${lane} takes a stored order for new again, and has committed nothing in between`);
    this.refusedIn.set(lane, epoch);
    return { kind: 'retry', code: staleHead };
  }

  /**
   * All that the transaction of a batch does, in one instant.
   * Returns the seq of its last row in the log.
   */
  protected write(batch: Batch): bigint | undefined {
    const nowMs = this.clock.nowMs();
    const row = this.laneRow(batch.lane);
    row.batch = batch.number;
    this.refusedIn.delete(batch.lane);
    if (!isDeepStrictEqual(batch.places, placesOf(batch)))
      this.violations.push(`batch ${batch.number} has rows that name others than their own order's`);
    this.renewed(batch.lane, row);
    for (const head of batch.heads) this.heads.set(orderKey(head.stream, head.orderId), { ...head, touchedMs: nowMs });
    const first = this.log.length;
    for (const update of batch.updates) {
      const { stream, orderId, accountId, revision, payload } = update;
      this.revisions.add(revisionKey(update));
      const key = stream === 'watermarks' ? accountId : orderKey(stream, orderId);
      const topic = stream === 'watermarks' ? 'watermarks' : 'updates';
      const place = { lane: batch.lane, seq: this.nextSeq, batch: batch.number };
      this.log.push({ ...place, topic, key, payload, stream, orderId, revision, recordedMs: nowMs });
      if (this.damaged.delete(key)) this.healing.add(payload);
      this.nextSeq += this.seqStep;
    }
    this.deadLetters.push(...batch.deadLetters);
    for (const binding of batch.bindings ?? [])
      this.bindings.set(`${orderKey(binding.stream, binding.orderId)} ${binding.attemptId}`, binding);
    const rows = this.log.slice(first);
    this.onCommit(batch, rows);
    return rows.at(-1)?.seq;
  }

  /**
   * Everything that is committed, for a later `restore`. The journal of commands is no part of it.
   */
  copy(): DatabaseCopy {
    return {
      lanes: new Map([...this.lanes].map(([lane, row]) => [lane, { ...row }])),
      shards: this.shards.rows.map((row) => ({ ...row })),
      heads: new Map(this.heads),
      log: [...this.log],
      deadLetters: [...this.deadLetters],
      bindings: new Map(this.bindings),
      positions: new Map(this.positions),
      accounts: new Map(this.accounts),
      nextSeq: this.nextSeq,
    };
  }

  /**
   * A standby that has this and no more takes over: what was committed since never was.
   * Transactions that are under way end with their server.
   */
  restore(copy: DatabaseCopy): void {
    this.incarnation += 1;
    this.lanes.clear();
    for (const [lane, row] of copy.lanes) this.lanes.set(lane, { ...row });
    this.shards.rows = copy.shards.map((row) => ({ ...row }));
    replace(this.heads, copy.heads);
    replace(this.bindings, copy.bindings);
    replace(this.positions, copy.positions);
    replace(this.accounts, copy.accounts);
    this.log.splice(0, this.log.length, ...copy.log);
    this.deadLetters.splice(0, this.deadLetters.length, ...copy.deadLetters);
    replace(this.revisions, new Set(copy.log.map(revisionKey)));
    this.nextSeq = copy.nextSeq;
  }

  protected beginGeneration(): FoundLoss {
    const generation = 1 + Math.max(...[...this.lanes.values()].map((row) => row.generation));
    this.nextSeq += 1_000_000n;
    for (const [lane, row] of this.lanes) {
      Object.assign(row, { generation, holder: undefined, epoch: row.epoch + 1n });
      const written = this.positionOf(lane, 'state');
      const after = row.unpublishedAfter;
      this.positions.set(`${lane} state`, this.nextSeq - 1n);
      if (after !== undefined) this.positions.set(`${lane} state`, this.giveAnew(lane, after, generation));
      for (const update of this.log)
        if (update.lane === lane && update.seq > written && (after === undefined || update.batch <= after))
          this.passedOver.add(update.payload);
    }
    return { generation };
  }

  /** Puts the lane's rows above this batch under the generation; returns the seq before theirs. */
  private giveAnew(lane: number, after: bigint, generation: number): bigint {
    let behind = 0n;
    for (const [at, row] of this.log.entries()) {
      if (row.lane !== lane) continue;
      if (row.batch <= after) {
        behind = row.seq;
        continue;
      }
      const payload =
        row.topic === 'watermarks'
          ? row.payload.replace(/,"proof":\{[^}]*\}/, '')
          : row.payload.replace(/"generation":\d+/, `"generation":${generation}`);
      if (this.healing.delete(row.payload)) this.healing.add(payload);
      this.log[at] = { ...row, payload };
      this.onGivenAnew(row.payload, payload, generation);
    }
    return behind;
  }

  async readAfter(lane: number, afterSeq: bigint, limit: number): Promise<StoredLogRow[]> {
    await this.call();
    return this.answered(this.rowsAfter(lane, afterSeq, limit));
  }

  async readNewestAfter(lane: number, afterSeq: bigint, limit: number, maxBytes: number): Promise<NewestRead> {
    await this.call();
    const newestOf = new Map(this.log.map((row) => [row.key, row]));
    const rows = new Map<string, StoredLogRow>();
    let bytes = 0;
    let lastSeq = afterSeq;
    for (const { topic, key, seq } of this.rowsAfter(lane, afterSeq, Math.min(limit, this.mostLookedAt))) {
      const newest = newestOf.get(key);
      if (topic === 'updates' && newest?.lane === lane && !rows.has(key)) {
        if (bytes >= maxBytes) break;
        bytes += newest.payload.length;
        rows.set(key, newest);
      }
      lastSeq = seq;
    }
    return this.answered({ rows: [...rows.values()], lastSeq, endSeq: this.endOf(lane) });
  }

  /** As it stands, for whoever looks from outside. */
  positionOf(lane: number, cursor: RelayCursor): bigint {
    return this.positions.get(`${lane} ${cursor}`) ?? 0n;
  }

  async loadPosition(lane: number, cursor: RelayCursor): Promise<bigint> {
    await this.call();
    return this.answered(this.positionOf(lane, cursor));
  }

  async savePosition(lane: number, epoch: bigint, cursor: RelayCursor, seq: bigint): Promise<boolean> {
    await this.call();
    if (this.laneRow(lane).epoch !== epoch) return this.answered(false);
    if (seq <= this.positionOf(lane, cursor)) return this.answered(true);
    if (seq > this.endOf(lane)) return this.answered(false);
    this.positions.set(`${lane} ${cursor}`, seq);
    return this.answered(true);
  }

  async pendingAfter(lane: number, afterSeq: bigint): Promise<{ rows: number; oldestMs: number | undefined }> {
    await this.call();
    const rows = this.rowsAfter(lane, afterSeq);
    return this.answered({ rows: rows.length, oldestMs: rows[0]?.recordedMs });
  }

  async backlog(lane: number): Promise<RelayBacklog[]> {
    await this.call();
    return this.answered(this.backlogOf(lane));
  }

  /** As it stands, for whoever looks from outside. */
  backlogOf(lane: number): RelayBacklog[] {
    const last = this.endOf(lane);
    return (['log', 'state'] as const).map((cursor) => {
      const passed = this.positionOf(lane, cursor);
      return { lane, cursor, passed, newest: last > passed ? last : undefined };
    });
  }

  async load(): Promise<AccountRecord[]> {
    await this.call();
    return [...this.accounts.values()];
  }

  async save(record: AccountRecord, lane: number, checkpointed: Checkpoint | undefined): Promise<void> {
    await this.call();
    if (this.lacks(lane, checkpointed)) throw new Error('the database lost commits');
    this.accounts.set(`${record.stream} ${record.accountId}`, record);
  }

  async openOrders(
    stream: Stream,
    accountId: string,
    withinMs: number,
    afterOrderId: string,
    limit: number,
  ): Promise<OpenOrder[]> {
    await this.call();
    const rows = [...this.heads.values()].filter((row) => row.stream === stream && row.accountId === accountId);
    const held = rows.map((row) => ({ ...decodeHead(row), touchedMs: row.touchedMs }));
    return openOrdersOf(held, { withinMs, nowMs: this.clock.nowMs(), afterOrderId, limit });
  }

  private endOf(lane: number): bigint {
    return this.log.findLast((row) => row.lane === lane)?.seq ?? 0n;
  }

  private rowsAfter(lane: number, afterSeq: bigint, limit?: number): LogEntry[] {
    return this.log.filter((row) => row.lane === lane && row.seq > afterSeq).slice(0, limit);
  }

  private answered<T>(found: T): T | Promise<T> {
    return this.answerMs > 0 ? this.clock.sleep(this.answerMs).then(() => found) : found;
  }
}
