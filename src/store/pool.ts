import pg from 'pg';
import type { Log } from '../observability/log.ts';
import { connectionOptions } from './connection-options.ts';

export interface PoolOptions {
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly maxConnections: number;
}

/**
 * A pool whose every connection has all deadlines; waiting for a free one counts against the connect deadline of 5 s. Give the lane's store
 * a pool of its own: a renewal must not queue behind somebody's list of orders.
 */
export function createPool(deps: { readonly log: Log }, options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    ...connectionOptions(options.url, options.applicationName),
    max: options.maxConnections,
    idleTimeoutMillis: 30_000,
  });
  // An idle connection that the server ended: the pool has dropped it already, and without a listener it would end the process.
  pool.on('error', (err) => deps.log.debug({ err }, 'an idle database connection was lost'));
  return pool;
}
