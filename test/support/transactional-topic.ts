import type { LogRow } from '../../src/domain/committed-batch.ts';
import { PublishError, type StatePublisher } from '../../src/publish/publisher.ts';
import type { Clock } from '../../src/runtime/clock.ts';

/** The compacted topic in memory: what is committed, in order, and who may write. Several publishers share it, as two processes would. */
export class TransactionalTopic {
  readonly committed: LogRow[] = [];
  writer = 0;

  /** What compaction leaves. */
  newest(): Map<string, LogRow> {
    return new Map(this.committed.map((row) => [row.key, row]));
  }
}

export type FlushFate = 'ok' | 'refused' | 'answer_lost';

export class TransactionalPublisher implements StatePublisher {
  fate: () => FlushFate = () => 'ok';
  delayMs = 5;
  flushes = 0;
  private writer = -1;
  private readonly clock: Clock;
  private readonly topic: TransactionalTopic;

  constructor(clock: Clock, topic: TransactionalTopic) {
    this.clock = clock;
    this.topic = topic;
  }

  async takeOver(): Promise<void> {
    await this.clock.sleep(this.delayMs);
    if (this.fate() === 'refused') throw new PublishError('connection', 'refused');
    this.topic.writer += 1;
    this.writer = this.topic.writer;
  }

  async flush(rows: readonly LogRow[]): Promise<void> {
    if (this.writer < 0) throw new Error('flush before takeOver');
    const fate = this.fate();
    await this.clock.sleep(this.delayMs);
    if (this.writer !== this.topic.writer) throw this.retired('fenced');
    if (fate !== 'refused') this.topic.committed.push(...rows);
    this.flushes += 1;
    if (fate !== 'ok') throw this.retired(fate);
  }

  async close(): Promise<void> {}

  private retired(code: string): PublishError {
    this.writer = -1;
    return new PublishError(code, `the flush was ${code}`);
  }
}
