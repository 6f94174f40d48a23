import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { systemClock } from '../../../src/runtime/clock.ts';
import { migrate } from '../../../src/store/migrate.ts';
import { type Migration, readMigrations } from '../../../src/store/migrations.ts';
import { testLog } from '../runs/test-log.ts';
import { emptyDatabase, type TestDatabase } from '../servers/database.ts';
import { onServer } from '../servers/on-server.ts';

/** Rows in a partition of the log, in the databases of before. */
export const partitionRows = 60;

/**
 * A database of the first build, with the rows of its service: it ran on the sandbox for half a
 * minute and was killed while a place was on its way. Orders of both streams, a log in four
 * partitions (eight more are empty), commands in most states, events of which the last six are not
 * published, halts, a cancel-all, limits, a token, the audit trail, the dead letters.
 *
 * The rows were written by the code of commit 1805caf8 and read back as literals. Numbers of
 * transactions are ranks: those of another server would lie in the future of this one.
 */
export async function firstBuildDatabase(): Promise<TestDatabase> {
  return databaseOf(await baseline(), readText('first-build.sql.gz'));
}

/**
 * The same of commit 7f45e156, whose baseline was edited in place later: its log is in five
 * partitions, ten rows of it and one event are not published. It also has a sealed platform token,
 * a timer, a job over dead letters, and a request for a second principal (which was written by
 * hand).
 */
async function earlierBuildDatabase(): Promise<TestDatabase> {
  const text = readText('earlier-build-baseline.sql.gz');
  const hash = createHash('sha256').update(text).digest('hex');
  return databaseOf({ ...(await baseline()), hash, statements: [text] }, readText('earlier-build-rows.sql.gz'));
}

export const buildsOfBefore = [
  { build: 'the first build', make: firstBuildDatabase },
  { build: 'commit 7f45e156', make: earlierBuildDatabase },
] as const;

/** What brings each of them to the schema of now. */
export const applied = ['0001_written_once', '0002_one_answer'];

const readText = (file: string) => gunzipSync(readFileSync(`${import.meta.dirname}/${file}`)).toString();

async function baseline(): Promise<Migration> {
  const [first] = await readMigrations();
  if (first === undefined) throw new Error('there is no migration');
  return first;
}

async function databaseOf(migration: Migration, rows: string): Promise<TestDatabase> {
  const database = await emptyDatabase();
  const options = { url: database.url, log: testLog, clock: systemClock, partitionRows };
  await migrate({ ...options, shards: 4, migrations: [migration] });
  await onServer(database.url, async (client) => {
    await client.query(
      `set role tidemark_owner; select public.ensure_log_partitions(${partitionRows}, 12); reset role`,
    );
    // As in a restore: the guards forbid rows that begin in another state than the first.
    await client.query(`set session_replication_role = replica; delete from public.shards; ${rows}`);
  });
  return database;
}

/** As `tidemark migrate` of this build does it. */
export function migrateFurther(database: TestDatabase): Promise<{ applied: string[] }> {
  return migrate({ url: database.url, log: testLog, clock: systemClock, partitionRows });
}
