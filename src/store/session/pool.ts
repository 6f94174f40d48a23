import pg from 'pg';
import type { Logger } from '../../observability/logger.ts';
import { DatabaseSession, type SessionConfig } from './database-session.ts';
import { PrimarySession } from './primary-session.ts';

/**
 * A deadline for each thing that can hang, on every connection of the service (for the settings of
 * all sessions: `DatabaseSession`). Without `query_timeout` a half-open socket hangs forever. The
 * server's own limits are lower, so its answer comes first.
 *
 * `random_page_cost`: the default 4 is for a spinning disk. In a partition never analysed, the
 * planner assumes an equality keeps one row in 200. With the default it then collects and sorts a
 * lane's rows instead of reading them in order from the primary key (seen: 520 ms and 300,000 rows
 * for the first 10,000).
 */
export function connectionOptions(url: string, applicationName: string): SessionConfig {
  return {
    connectionString: url,
    application_name: applicationName,
    settings: { random_page_cost: '1' },
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
    statement_timeout: 4_000,
    lock_timeout: 2_000,
    idle_in_transaction_session_timeout: 10_000,
    keepAlive: true,
  };
}

export interface PoolOptions {
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly maxConnections: number;
  /** The server's settings for each session, in addition to those all have. */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * How long a statement may take, in milliseconds; 4 s if left out. For statements that read a
   * whole table.
   */
  readonly statementMs?: number;
  /**
   * `any`: a server that takes no writes is good enough, for a person's look. Left out: see
   * `PrimarySession`.
   */
  readonly server?: 'any' | 'primary';
}

/** A client waits this much longer than the server allows, so the server's answer comes first. */
const answerMs = 1_000;

/**
 * Behind a pooler, a session that only reads can be moved to a server that takes no writes, and
 * nothing shows it. So none is older than this, and each new one asks first.
 */
const longestLifeSeconds = 60;

/**
 * A pool with all deadlines on every connection. Waiting for a free one counts against the connect
 * deadline, 5 s. Give the lane's store its own pool: a renewal must not queue behind a caller's
 * list of orders.
 */
export function createPool(deps: { readonly log: Logger }, options: PoolOptions): pg.Pool {
  const shared = connectionOptions(options.url, options.applicationName);
  const sessions: SessionConfig = { ...shared, settings: { ...shared.settings, ...options.settings } };
  const pool = new pg.Pool({
    ...sessions,
    ...(options.server === 'any'
      ? { Client: DatabaseSession }
      : { Client: PrimarySession, maxLifetimeSeconds: longestLifeSeconds }),
    ...(options.statementMs !== undefined && {
      statement_timeout: options.statementMs,
      query_timeout: options.statementMs + answerMs,
    }),
    max: options.maxConnections,
    idleTimeoutMillis: 30_000,
  });
  // The server ended an idle connection. The pool has dropped it already, and without a listener
  // the error would end the process.
  pool.on('error', (err) => deps.log.debug({ err }, 'an idle database connection was lost'));
  return pool;
}

/**
 * The pool for REST's reads. They all use an index, even against the statistics. Otherwise a
 * statement prepared while there were few orders would keep its sequential scan among a million.
 * Compiling such short statements costs more than it saves. So does planning a prepared one anew:
 * by its estimates Postgres did it for each page (2.1 ms of its processor; planned once 1.2).
 */
export function createReadPool(deps: { readonly log: Logger }, options: Omit<PoolOptions, 'settings'>): pg.Pool {
  return createPool(deps, {
    ...options,
    settings: {
      enable_seqscan: 'off',
      enable_hashjoin: 'off',
      enable_mergejoin: 'off',
      jit: 'off',
      plan_cache_mode: 'force_generic_plan',
    },
  });
}
