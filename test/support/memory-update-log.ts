import type { CommittedBatch, LogRow } from '../../src/domain/committed-batch.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import type { RelayCursor, StoredLogRow, UpdateLog } from '../../src/store/update-log.ts';

/** The log and the relay's positions as Postgres keeps them, in memory: what was committed is there for the next read, and only the epoch in force may save. */
export class MemoryUpdateLog implements UpdateLog {
  epoch = 1n;
  /** Rejects every call while true. */
  down = false;
  /** Each call answers this much later; what it reads is read at once. */
  delayMs = 0;
  readonly rows: StoredLogRow[] = [];
  readonly positions = new Map<RelayCursor, bigint>();
  reads = 0;
  batch = 0n;
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** One batch, committed. Each payload says its seq, so that a reader can tell what it got. */
  commit(rows: readonly Omit<LogRow, 'payload'>[]): CommittedBatch {
    this.batch += 1n;
    const stored = rows.map((row, i) => {
      const seq = BigInt(this.rows.length + i + 1) * 2n;
      return { ...row, seq, batch: this.batch, payload: String(seq) };
    });
    this.rows.push(...stored);
    return {
      number: this.batch,
      lastSeq: stored.at(-1)?.seq,
      rows: stored.map(({ topic, key, payload }) => ({ topic, key, payload })),
      receivedMs: stored.map((row) => (row.topic === 'continuity' ? Number.NaN : this.clock.monotonicMs())),
      streams: stored.map((row) => (row.topic === 'continuity' ? 'continuity' : 'prediction')),
      committedMs: this.clock.monotonicMs(),
      bytes: stored.reduce((sum, row) => sum + row.payload.length, 0),
    };
  }

  async readAfter(_lane: number, afterSeq: bigint, limit: number): Promise<StoredLogRow[]> {
    this.reads += 1;
    return this.answer(this.rows.filter((row) => row.seq > afterSeq).slice(0, limit));
  }

  async readNewestAfter(_lane: number, afterSeq: bigint, limit: number): Promise<{ rows: StoredLogRow[]; lastSeq: bigint }> {
    this.reads += 1;
    const looked = this.rows.filter((row) => row.seq > afterSeq).slice(0, limit);
    const newest = new Map(looked.map((row) => [`${row.topic} ${row.key}`, row]));
    return this.answer({ rows: [...newest.values()], lastSeq: looked.at(-1)?.seq ?? afterSeq });
  }

  async loadPosition(_lane: number, cursor: RelayCursor): Promise<bigint> {
    return this.answer(this.positions.get(cursor) ?? 0n);
  }

  async savePosition(_lane: number, epoch: bigint, cursor: RelayCursor, seq: bigint): Promise<boolean> {
    if (this.down) throw new Error('the database is down');
    const before = this.positions.get(cursor) ?? 0n;
    const ours = epoch === this.epoch && (seq <= before || seq <= (this.rows.at(-1)?.seq ?? 0n));
    if (ours && seq > before) this.positions.set(cursor, seq);
    return this.answer(ours);
  }

  async pendingAfter(_lane: number, afterSeq: bigint): Promise<{ rows: number; oldestMs: number | undefined }> {
    const rows = this.rows.filter((row) => row.seq > afterSeq).length;
    return this.answer({ rows, oldestMs: rows === 0 ? undefined : this.clock.nowMs() });
  }

  private async answer<T>(value: T): Promise<T> {
    if (this.down) throw new Error('the database is down');
    if (this.delayMs > 0) await this.clock.sleep(this.delayMs);
    return value;
  }
}
