import { encodeCommandResult } from '../../src/domain/encode-command-result.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import type { Random } from '../../src/runtime/random.ts';
import type { ResultLog, ResultRow } from '../../src/store/commands/result-log.ts';
import type { MemoryJournal } from '../support/commands/memory-journal.ts';
import type { Host } from './host.ts';
import type { CrashPoints } from './plan/crash-points.ts';
import type { MemoryDatabase } from './world/memory-database.ts';

interface JournalResultsDeps {
  readonly journal: MemoryJournal;
  readonly database: MemoryDatabase;
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly points: CrashPoints;
  /** Marks that outlive their process. */
  readonly published: Set<number>;
}

/** The outbox of the journal, as one process reads and marks it. */
export function journalResults({
  journal,
  database,
  host,
  clock,
  random,
  points,
  published,
}: JournalResultsDeps): ResultLog {
  const call = async () => {
    await clock.sleep(random.next() * 3);
    if (database.down || random.next() < database.faults.unreachable) throw new Error('the database cannot be reached');
  };
  const readUnpublished = async (limit: number, shards: readonly number[], acknowledged: readonly ResultRow[] = []) => {
    await call();
    const sent = new Set(acknowledged.map(({ id }) => Number(id)));
    const rows = journal.events
      .filter(({ number, command }) => !published.has(number) && !sent.has(number) && shards.includes(command.shard))
      .slice(0, limit);
    points.reach('results_read', host);
    return rows.map(({ number, command }) => ({
      shard: command.shard,
      id: BigInt(number),
      key: command.commandId,
      version: command.version,
      payload: encodeCommandResult(command),
      recordedMs: command.updatedAtMs,
    }));
  };
  const markPublished = async (rows: readonly ResultRow[]) => {
    points.reach('results_sent', host);
    await call();
    for (const { id } of rows) published.add(Number(id));
    points.reach('results_marked', host);
    if (random.next() < database.faults.lostAnswer) throw new Error('the answer was lost');
  };
  return {
    readUnpublished: (...call) => host.answer(readUnpublished(...call)),
    markPublished: (rows) => host.answer(markPublished(rows)),
  };
}
