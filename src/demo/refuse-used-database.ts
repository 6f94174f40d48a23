import type { Logger } from '../observability/logger.ts';
import { exitCodes, ProgramError } from '../runtime/program-error.ts';
import { createPool } from '../store/session/pool.ts';

/**
 * Rejects with `DATABASE_USED` if a service has run on the given database: the demo would put
 * made-up orders beside real ones, and send waiting rows to topics of its own. Reads only, and
 * before anything is migrated.
 */
export async function refuseUsedDatabase(log: Logger, url: string): Promise<void> {
  const pool = createPool({ log }, { url, applicationName: 'tidemark-demo', maxConnections: 1, statementMs: 5_000 });
  try {
    const made = await pool.query<{ made: boolean }>(`select to_regclass('public.lanes') is not null as made`);
    if (made.rows[0]?.made !== true) return;
    const { rows } = await pool.query('select from public.lanes limit 1');
    if (rows.length === 0) return;
  } finally {
    await pool.end();
  }
  throw new ProgramError('the database in DATABASE_URL was used by a service before, and the demo makes up orders', {
    code: 'DATABASE_USED',
    exitCode: exitCodes.config,
    fix: 'Name an empty database, or unset DATABASE_URL: then the demo starts one of its own.',
  });
}
