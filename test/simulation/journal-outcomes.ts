import { encodeCommandOutcome } from '../../src/domain/encode-command-outcome.ts';
import type { Clock } from '../../src/runtime/clock.ts';
import type { Random } from '../../src/runtime/random.ts';
import type { OutcomeLog, OutcomeRow } from '../../src/store/commands/outcome-log.ts';
import type { MemoryJournal } from '../support/commands/memory-journal.ts';
import type { Host } from './host.ts';
import type { CrashPoints } from './plan/crash-points.ts';
import type { MemoryDatabase } from './world/memory-database.ts';

interface JournalOutcomesDeps {
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
export function journalOutcomes({
  journal,
  database,
  host,
  clock,
  random,
  points,
  published,
}: JournalOutcomesDeps): OutcomeLog {
  const call = async () => {
    await clock.sleep(random.next() * 3);
    if (database.down || random.next() < database.faults.unreachable) throw new Error('the database cannot be reached');
  };
  const readUnpublished = async (limit: number, shards: readonly number[]) => {
    await call();
    const rows = journal.events
      .filter(({ number, command }) => !published.has(number) && shards.includes(command.shard))
      .slice(0, limit);
    points.reach('outcomes_read', host);
    return rows.map(({ number, command }) => ({
      shard: command.shard,
      id: BigInt(number),
      key: command.commandId,
      version: command.version,
      payload: encodeCommandOutcome(command),
      recordedMs: command.updatedAtMs,
    }));
  };
  const markPublished = async (rows: readonly OutcomeRow[]) => {
    points.reach('outcomes_sent', host);
    await call();
    for (const { id } of rows) published.add(Number(id));
    points.reach('outcomes_marked', host);
    if (random.next() < database.faults.lostAnswer) throw new Error('the answer was lost');
  };
  return {
    readUnpublished: (...call) => host.answer(readUnpublished(...call)),
    markPublished: (rows) => host.answer(markPublished(rows)),
  };
}
