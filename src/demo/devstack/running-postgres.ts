import { Client } from 'pg';
import type { Clock } from '../../runtime/clock.ts';

/** A Postgres that answers. */
export interface RunningPostgres {
  /** Its source: a given address, a container, or our own process. */
  readonly kind: 'given' | 'container' | 'embedded';
  /**
   * Connection URL of an existing database; its user owns the database (embedded and container: a
   * superuser). Holds the password.
   */
  readonly url: string;
  /** One phrase for people, without the password: the kind of server, and its address. */
  readonly describe: string;
  /** The postmaster's process id, for signals; embedded only. */
  readonly pid?: number;
  /**
   * Stops it and removes its data (unless `dataDir` was given). Does nothing to a given one. Safe
   * to call again.
   */
  stop(): Promise<void>;
}

/** Our own Postgres process: it can be killed, and started again on the same data and port. */
export interface EmbeddedPostgres extends RunningPostgres {
  readonly kind: 'embedded';
  /** Changes with `restart`. */
  readonly pid: number;
  /**
   * Ends the rest of the process and starts a new one on the same data and port. Resolves when it
   * answers.
   */
  restart(): Promise<void>;
}

/**
 * The server settings for an embedded or contained Postgres, as `-c` arguments: those for a small
 * production server, so that a measured figure means something. Durability is full: fsync and
 * synchronous_commit stay on.
 *
 * `fast` turns fsync off. A machine crash can then ruin the data. A server kill cannot, since
 * synchronous_commit still hands each commit to the kernel. So a test that kills Postgres still
 * proves its point.
 */
export function postgresSettings(fast: boolean): string[] {
  const settings: Record<string, string | number> = {
    shared_buffers: '256MB',
    max_connections: 200,
    // A checkpoint in the middle of a bench costs a quarter of the throughput for seconds; by size
    // it comes late enough.
    max_wal_size: '4GB',
    min_wal_size: '2GB',
    checkpoint_timeout: '15min',
    // Nothing here runs long enough to earn back the compilation.
    jit: 'off',
    timezone: 'UTC',
    log_checkpoints: 'off',
    log_autovacuum_min_duration: -1,
    // Tests may have their files in memory, and write gigabytes of log in a run.
    ...(fast ? { fsync: 'off', full_page_writes: 'off', max_wal_size: '512MB', min_wal_size: '128MB' } : {}),
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

type PostgresAnswer =
  | { readonly answers: true; readonly version: string }
  | { readonly answers: false; readonly error: Error };

/** Connects once and asks for the server's version (as `18.4`), in at most `limitMs`. */
export async function postgresAnswers(url: string, limitMs: number): Promise<PostgresAnswer> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: limitMs, query_timeout: limitMs });
  // A connection that breaks between two statements is reported here; the next statement fails as
  // well.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ server_version: string }>('show server_version');
    return { answers: true, version: rows[0]?.server_version.split(' ')[0] ?? '' };
  } catch (error) {
    return { answers: false, error: error instanceof Error ? error : new Error(String(error)) };
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * Asks until Postgres answers, `limitMs` have passed (the last error), or `ended` resolves.
 * Resolves with the last answer.
 */
export async function awaitPostgres(
  deps: { readonly clock: Clock },
  options: { readonly url: string; readonly limitMs: number; readonly ended: Promise<unknown> },
): Promise<PostgresAnswer> {
  const deadline = deps.clock.monotonicMs() + options.limitMs;
  let over = false;
  void options.ended.then(() => {
    over = true;
  });
  for (;;) {
    const answer = await postgresAnswers(options.url, 2_000);
    if (answer.answers || over || deps.clock.monotonicMs() > deadline) return answer;
    await deps.clock.sleep(20);
  }
}
