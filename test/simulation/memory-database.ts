import type { AccountRecord, AccountRegistry, OpenOrder } from '../../src/connectors/account-registry.ts';
import { decodeHead } from '../../src/domain/decode-head.ts';
import type { Head } from '../../src/domain/head.ts';
import { orderKey, type Stream } from '../../src/domain/order.ts';
import { isTerminal } from '../../src/domain/terminal.ts';
import type { AcquireResult, LaneHold, LaneStore, Takeover } from '../../src/ingest/lane-store.ts';
import type {
  ApplyResult,
  Batch,
  Binding,
  BindingRow,
  HeadRow,
  OrderStore,
  QuarantineRow,
} from '../../src/ingest/order-store.ts';
import type { RelayCursor, StoredLogRow, UpdateLog } from '../../src/relay/update-log.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import type { Random } from '../../src/runtime/random.ts';

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

function takeoverOf({ holder: from, epoch }: LaneRow, holder: string, idleMs: number): Takeover {
  if (epoch === 0n) return { cause: 'first', from, idleMs: 0 };
  return { cause: from === undefined ? 'released' : from === holder ? 'own' : 'expired', from, idleMs };
}

export function laneSession(): LaneSession {
  return { tail: Promise.resolve(), cut: false };
}

interface LaneRow {
  holder: string | undefined;
  epoch: bigint;
  batch: bigint;
  renewedMs: number;
}

/**
 * Postgres as the lane's rules see it, in memory: a row lock that serialises batches, fences and reclaims; transactions that happen whole or
 * not at all; backends that outlive their client. It survives the crashes of its clients.
 *
 * Invariant: everything inside `locked` happens in one turn of the lock; a batch is checked against epoch and number only then, as `enter_lane` does.
 */
export class MemoryDatabase implements OrderStore, LaneStore, UpdateLog, AccountRegistry {
  faults: DatabaseFaults = noDatabaseFaults;
  /** No call gets through while true. */
  down = false;
  readonly heads = new Map<string, HeadRow & { readonly touchedMs: number }>();
  readonly log: LogEntry[] = [];
  readonly quarantine: QuarantineRow[] = [];
  /** The journal's attempts, as ingest sees them: by attempt id. Whoever keeps the journal puts them here when the attempt's row commits. */
  readonly attempts = new Map<string, Binding>();
  /** By order key: written in the transaction of the order's first revision. */
  readonly bindings = new Map<string, BindingRow>();
  /** What a correct client never asks for. */
  readonly violations: string[] = [];
  /** Told in the same instant as each commit, with the rows of the log that it made. */
  onCommit: (batch: Batch, rows: readonly LogEntry[]) => void = () => {};
  private readonly lanes = new Map<number, LaneRow>();
  private readonly positions = new Map<string, bigint>();
  private readonly accounts = new Map<string, AccountRecord>();
  private lock: Promise<unknown> = Promise.resolve();
  /** By epoch: the monotonic time at which the row was last renewed under it. */
  readonly renewals = new Map<bigint, number>();
  private readonly revisions = new Set<string>();
  private readonly onlySession = laneSession();
  private nextSeq = 1n;
  private readonly clock: Clock;
  private readonly random: Random;

  constructor(clock: Clock, random: Random) {
    this.clock = clock;
    this.random = random;
  }

  async readHeads(keys: readonly string[]): Promise<Map<string, Head>> {
    await this.call();
    const found = new Map<string, Head>();
    for (const key of keys) {
      const row = this.heads.get(key);
      if (row !== undefined) found.set(key, decodeHead(row));
    }
    return found;
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

  /** Batches of one client go over one pipelined connection: the second begins when the first has ended. */
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
      return this.locked(() => this.commit(batch));
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

  private async commit(batch: Batch): Promise<ApplyResult> {
    const row = this.laneRow(batch.lane);
    if (row.epoch !== batch.epoch) return { kind: 'lane_lost' };
    if (row.batch !== batch.number - 1n) return { kind: 'out_of_order' };
    // Also where the newest state of the order is clean again.
    if (batch.updates.some(({ payload }) => payload.includes('POISON')))
      return { kind: 'poison', code: '22P05', message: 'unsupported' };
    await this.clock.sleep(this.random.next() * 3);
    const twice = batch.updates.find((update) => this.revisions.has(revisionKey(update)));
    if (twice !== undefined) {
      this.violations.push(`the log would hold ${twice.stream}:${twice.orderId} revision ${twice.revision} twice`);
      return { kind: 'poison', code: '23505', message: 'duplicate key' };
    }
    const nowMs = this.clock.nowMs();
    row.batch = batch.number;
    this.renewed(row);
    for (const head of batch.heads) this.heads.set(orderKey(head.stream, head.orderId), { ...head, touchedMs: nowMs });
    const first = this.log.length;
    for (const update of batch.updates) {
      const { stream, orderId, accountId, revision, payload } = update;
      this.revisions.add(revisionKey(update));
      const key = stream === 'continuity' ? accountId : orderKey(stream, orderId);
      const topic = stream === 'continuity' ? 'continuity' : 'updates';
      this.log.push({ lane: batch.lane, seq: this.nextSeq, topic, key, payload, stream, orderId, revision, recordedMs: nowMs });
      this.nextSeq += 1n;
    }
    this.quarantine.push(...batch.quarantine);
    for (const binding of batch.bindings ?? []) this.bindings.set(orderKey(binding.stream, binding.orderId), binding);
    this.onCommit(batch, this.log.slice(first));
    return { kind: 'committed', lastSeq: batch.updates.length > 0 ? this.nextSeq - 1n : undefined };
  }

  async acquire(lane: number, holder: string, expireAfterMs: number): Promise<AcquireResult> {
    await this.call();
    return this.locked(async () => {
      const row = this.laneRow(lane);
      const ageMs = Math.abs(this.clock.nowMs() - row.renewedMs);
      if (row.holder !== undefined && row.holder !== holder && ageMs < expireAfterMs)
        return { kind: 'busy', holder: row.holder, epoch: row.epoch, ageMs };
      const takeover = takeoverOf(row, holder, ageMs);
      row.holder = holder;
      row.epoch += 1n;
      this.renewed(row);
      return { kind: 'held', epoch: row.epoch, batch: row.batch, takeover };
    });
  }

  async renew(lane: number, epoch: bigint): Promise<boolean> {
    await this.call();
    const row = this.laneRow(lane);
    if (row.epoch !== epoch) return false;
    this.renewed(row);
    return true;
  }

  async reclaim(lane: number, epoch: bigint): Promise<LaneHold | undefined> {
    await this.call();
    return this.locked(async () => {
      const row = this.laneRow(lane);
      if (row.epoch !== epoch) return undefined;
      row.epoch += 1n;
      this.renewed(row);
      return { epoch: row.epoch, batch: row.batch };
    });
  }

  async release(lane: number, epoch: bigint): Promise<void> {
    await this.call();
    const row = this.laneRow(lane);
    if (row.epoch !== epoch) return;
    row.holder = undefined;
    row.epoch += 1n;
    row.renewedMs = this.clock.nowMs();
  }

  async readAfter(lane: number, afterSeq: bigint, limit: number): Promise<StoredLogRow[]> {
    await this.call();
    return this.log.filter((row) => row.lane === lane && row.seq > afterSeq).slice(0, limit);
  }

  async readNewestAfter(lane: number, afterSeq: bigint, limit: number): Promise<{ rows: StoredLogRow[]; lastSeq: bigint }> {
    const looked = await this.readAfter(lane, afterSeq, limit);
    const newest = new Map(looked.filter((row) => row.topic === 'updates').map((row) => [row.key, row]));
    return { rows: [...newest.values()], lastSeq: looked.at(-1)?.seq ?? afterSeq };
  }

  /** As it stands, for whoever looks from outside. */
  positionOf(lane: number, cursor: RelayCursor): bigint {
    return this.positions.get(`${lane} ${cursor}`) ?? 0n;
  }

  async loadPosition(lane: number, cursor: RelayCursor): Promise<bigint> {
    await this.call();
    return this.positions.get(`${lane} ${cursor}`) ?? 0n;
  }

  async savePosition(lane: number, epoch: bigint, cursor: RelayCursor, seq: bigint): Promise<boolean> {
    await this.call();
    if (this.laneRow(lane).epoch !== epoch) return false;
    const saved = this.positions.get(`${lane} ${cursor}`) ?? 0n;
    if (seq > saved) this.positions.set(`${lane} ${cursor}`, seq);
    return true;
  }

  async pendingAfter(lane: number, afterSeq: bigint): Promise<{ rows: number; oldestMs: number | undefined }> {
    await this.call();
    const rows = this.log.filter((row) => row.lane === lane && row.seq > afterSeq);
    return { rows: rows.length, oldestMs: rows[0]?.recordedMs };
  }

  async load(): Promise<AccountRecord[]> {
    await this.call();
    return [...this.accounts.values()];
  }

  async save(record: AccountRecord): Promise<void> {
    await this.call();
    this.accounts.set(`${record.stream} ${record.accountId}`, record);
  }

  async openOrders(
    stream: Stream,
    accountId: string,
    touchedBeforeMs: number,
    afterOrderId: string,
    limit: number,
  ): Promise<OpenOrder[]> {
    await this.call();
    return [...this.heads.values()]
      .filter((row) => row.stream === stream && row.accountId === accountId && row.touchedMs < touchedBeforeMs)
      .filter((row) => row.orderId > afterOrderId && !isTerminal(decodeHead(row).order.status))
      .sort((a, b) => (a.orderId < b.orderId ? -1 : 1))
      .slice(0, limit)
      .map((row) => {
        const { order, sourceVersion } = decodeHead(row);
        return { orderId: row.orderId, status: order.status, sourceVersion, updatedAt: order.updatedAt };
      });
  }

  /** The lane's row as it stands, for whoever looks from outside. */
  holdOf(lane: number): LaneHold {
    const { epoch, batch } = this.laneRow(lane);
    return { epoch, batch };
  }

  private renewed(row: LaneRow): void {
    row.renewedMs = this.clock.nowMs();
    this.renewals.set(row.epoch, this.clock.monotonicMs());
  }

  private laneRow(lane: number): LaneRow {
    const row = this.lanes.get(lane) ?? { holder: undefined, epoch: 0n, batch: 0n, renewedMs: Number.NEGATIVE_INFINITY };
    this.lanes.set(lane, row);
    return row;
  }

  private async call(): Promise<void> {
    await this.clock.sleep(this.random.next() * 3);
    if (this.down || this.random.next() < this.faults.unreachable) throw new Error('the database cannot be reached');
  }

  private locked<T>(work: () => Promise<T>): Promise<T> {
    const result = this.lock.then(work);
    this.lock = result.catch(() => undefined);
    return result;
  }
}

function revisionKey(update: { readonly stream: string; readonly orderId: string; readonly revision: number }): string {
  return `${update.stream} ${update.orderId} ${update.revision}`;
}
