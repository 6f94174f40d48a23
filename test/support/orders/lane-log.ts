import type { CommittedBatch, LogRow } from '../../../src/domain/committed-batch.ts';
import type { Stream } from '../../../src/domain/order.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import { seededRandom } from '../../../src/sandbox/seeded-random.ts';
import type { UpdateRow } from '../../../src/store/orders/order-store.ts';
import type { RelayCursor, StoredLogRow } from '../../../src/store/orders/update-log.ts';
import type { LogEntry } from '../../simulation/database-rows.ts';
import { MemoryDatabase } from '../../simulation/world/memory-database.ts';
import { placesOf } from './batch-places.ts';

const lane = 0;

/**
 * The simulator's database with one lane in the hand of a test, for what reads
 * the log: the test commits rows without ingest, and sets the epoch. A call takes
 * no time, unless the test sets `answerMs`.
 */
export class LaneLog extends MemoryDatabase {
  reads = 0;
  private readonly newestRevisions = new Map<string, number>();

  constructor(clock: Clock) {
    super(clock, seededRandom(1));
    this.callMs = () => 0;
    this.seqStep = 2n;
    this.mostLookedAt = Number.POSITIVE_INFINITY;
    this.epoch = 1n;
  }

  get rows(): readonly LogEntry[] {
    return this.log;
  }

  get epoch(): bigint {
    return this.laneRow(lane).epoch;
  }

  set epoch(epoch: bigint) {
    this.laneRow(lane).epoch = epoch;
  }

  /** The number of the last committed batch. */
  get batch(): bigint {
    return this.laneRow(lane).batch;
  }

  position(cursor: RelayCursor): bigint {
    return this.positionOf(lane, cursor);
  }

  override readAfter(...asked: Parameters<MemoryDatabase['readAfter']>): Promise<StoredLogRow[]> {
    this.reads += 1;
    return super.readAfter(...asked);
  }

  override readNewestAfter(...asked: Parameters<MemoryDatabase['readNewestAfter']>) {
    this.reads += 1;
    return super.readNewestAfter(...asked);
  }

  /**
   * One batch, committed, as ingest hands it over. Keys as in the log. Each payload says its seq,
   * so that a reader can tell what it got.
   */
  commit(rows: readonly Omit<LogRow, 'payload'>[]): CommittedBatch {
    const { batch, epoch, nextSeq, seqStep } = this;
    const updates = rows.map((row, i) => this.updateRow(row, String(nextSeq + BigInt(i) * seqStep)));
    const number = batch + 1n;
    const written = { heads: [], updates, deadLetters: [] };
    const lastSeq = this.write({ lane, epoch, number, ...written, places: placesOf(written) });
    const handed = this.log.slice(this.log.length - rows.length);
    const isMark = handed.map(({ topic }) => topic === 'watermarks');
    const nowMs = this.clock.monotonicMs();
    return {
      number,
      lastSeq,
      rows: handed.map(({ topic, key, payload }) => ({ topic, key, payload })),
      receivedMs: isMark.map((mark) => (mark ? Number.NaN : nowMs)),
      streams: isMark.map((mark) => (mark ? 'watermarks' : 'prediction')),
      committedMs: nowMs,
      bytes: handed.reduce((sum, { payload }) => sum + payload.length, 0),
    };
  }

  private updateRow({ topic, key }: Omit<LogRow, 'payload'>, payload: string): UpdateRow {
    if (topic === 'watermarks')
      return { stream: 'watermarks', orderId: `mark-${payload}`, accountId: key, revision: 1, payload };
    const colon = key.indexOf(':');
    const revision = (this.newestRevisions.get(key) ?? 0) + 1;
    this.newestRevisions.set(key, revision);
    return {
      stream: key.slice(0, colon) as Stream,
      orderId: key.slice(colon + 1),
      accountId: 'acct-1',
      revision,
      payload,
    };
  }
}
