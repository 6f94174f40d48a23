import type { Pool } from 'pg';
import { type Finding, fail } from './finding.ts';

/**
 * Postgres takes the order of texts from the operating system or from ICU. A base backup that is
 * started on another system brings indexes in the old order: an order that is there is not found,
 * or comes twice. Silent if the order is the one that the indexes were made in.
 */
export async function checkCollation(pool: Pool): Promise<Finding[]> {
  const { rows } = await pool.query<{ name: string; made: string; now: string }>(
    `select quote_ident(datname) as name, datcollversion as made, pg_database_collation_actual_version(oid) as now
     from pg_database where datname = current_database() and datcollversion <> pg_database_collation_actual_version(oid)`,
  );
  return rows.map(({ name, made, now }) =>
    fail(
      'collation',
      `the indexes over texts were made with version ${made} of the system's sort order, and this server has ${now}: rows may not be found`,
      `Stop every instance. As the owner: reindex database ${name}; then alter database ${name} refresh collation version`,
    ),
  );
}
