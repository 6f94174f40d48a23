import type { Clock } from '../../../src/runtime/clock.ts';
import type { ResultLog, ResultRow } from '../../../src/store/commands/result-log.ts';

/**
 * The outbox of the command side for tests of its relay: the steps are those that the test writes,
 * without commands. Where there are commands, in the simulator, the outbox is that of
 * `MemoryJournal`. Ids have holes: a transaction that rolled back took some.
 */
export class ScriptedResultLog implements ResultLog {
  readonly rows: ResultRow[] = [];
  readonly published = new Set<bigint>();
  /** Rejects such calls while true. */
  down = false;
  markingDown = false;
  reads = 0;
  marks = 0;
  delayMs = 1;
  private readonly versions = new Map<string, number>();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** The next step of a command, committed. */
  step(commandId: string): ResultRow {
    const version = (this.versions.get(commandId) ?? 0) + 1;
    this.versions.set(commandId, version);
    const id = BigInt(this.rows.length + 1) * 3n;
    const row: ResultRow = {
      shard: 0,
      id,
      key: commandId,
      version,
      payload: `${commandId}:${version}`,
      recordedMs: this.clock.nowMs(),
    };
    this.rows.push(row);
    return row;
  }

  async readUnpublished(
    limit: number,
    _shards: readonly number[],
    acknowledged: readonly ResultRow[] = [],
  ): Promise<ResultRow[]> {
    this.reads += 1;
    await this.clock.sleep(this.delayMs);
    if (this.down) throw new Error('the database cannot be reached');
    return this.rows.filter((row) => !this.published.has(row.id) && !acknowledged.includes(row)).slice(0, limit);
  }

  async markPublished(rows: readonly ResultRow[]): Promise<void> {
    this.marks += 1;
    await this.clock.sleep(this.delayMs);
    if (this.down || this.markingDown) throw new Error('the database cannot be reached');
    for (const { id } of rows) this.published.add(id);
  }
}
