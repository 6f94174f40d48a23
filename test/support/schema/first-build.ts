import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { systemClock } from '../../../src/runtime/clock.ts';
import { migrate } from '../../../src/store/migrate.ts';
import { readMigrations } from '../../../src/store/migrations.ts';
import { testLog } from '../runs/test-log.ts';
import { emptyDatabase, type TestDatabase } from '../servers/database.ts';
import { onServer } from '../servers/on-server.ts';

/** Rows in a partition of the log, in `first-build.sql.gz`. */
export const partitionRows = 60;

/**
 * A database of the first build, with the rows of its service: it ran on the sandbox for half a
 * minute and was killed while a place was on its way. Orders of both streams, a log in four
 * partitions (eight more are empty), commands in most states, events of which the last six are not
 * published, halts, a cancel-all, limits, a token, the audit trail, the quarantine.
 *
 * The rows were written by the code of commit 1805caf8 and read back as literals. Numbers of
 * transactions are ranks: those of another server would lie in the future of this one.
 */
export async function firstBuildDatabase(): Promise<TestDatabase> {
  const database = await emptyDatabase();
  const [baseline] = await readMigrations();
  if (baseline === undefined) throw new Error('there is no migration');
  const options = { url: database.url, log: testLog, clock: systemClock, partitionRows };
  await migrate({ ...options, shards: 4, migrations: [baseline] });
  const rows = gunzipSync(readFileSync(`${import.meta.dirname}/first-build.sql.gz`)).toString();
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
