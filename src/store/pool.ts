import pg from 'pg';
import type { Log } from '../observability/log.ts';
import { connectionOptions } from './connection-options.ts';

export interface PoolOptions {
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly maxConnections: number;
  /** Settings of the server for each session, besides those that all have. */
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * A pool whose every connection has all deadlines; waiting for a free one counts against the connect deadline of 5 s. Give the lane's store
 * a pool of its own: a renewal must not queue behind somebody's list of orders.
 */
export function createPool(deps: { readonly log: Log }, options: PoolOptions): pg.Pool {
  const shared = connectionOptions(options.url, options.applicationName);
  const settings = Object.entries(options.settings ?? {}).map(([name, value]) => ` -c ${name}=${value}`);
  const pool = new pg.Pool({
    ...shared,
    options: `${shared.options}${settings.join('')}`,
    max: options.maxConnections,
    idleTimeoutMillis: 30_000,
  });
  // An idle connection that the server ended: the pool has dropped it already, and without a listener it would end the process.
  pool.on('error', (err) => deps.log.debug({ err }, 'an idle database connection was lost'));
  return pool;
}

/**
 * The pool of REST's reads. All of them go by an index, whatever the statistics say: a statement prepared while there were few orders would else keep its
 * sequential scan when there are a million. Compiling such short statements costs more than it saves.
 */
export function createReadPool(deps: { readonly log: Log }, options: Omit<PoolOptions, 'settings'>): pg.Pool {
  return createPool(deps, {
    ...options,
    settings: { enable_seqscan: 'off', enable_hashjoin: 'off', enable_mergejoin: 'off', jit: 'off' },
  });
}
