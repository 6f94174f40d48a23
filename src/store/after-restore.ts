import type { Pool } from 'pg';

export interface AfterRestoreOptions {
  /** Founded where the copy does not know it. */
  readonly lane: number;
  /** The new generation is this at least. */
  readonly least: number;
  readonly haltId: string;
  /** Who did it, for the halt. */
  readonly by: string;
  readonly partitionRows: number;
}

export interface AfterRestore {
  /** Of every lane from now on. */
  readonly generation: number;
  /** Attempts that were prepared when the copy was made, and count as sent now. */
  readonly attempts: number;
}

/**
 * Makes a database that is an older copy of itself fit to go on: see the function `after_restore` (drizzle/0007), for what and why. One transaction; a holder that
 * runs is fenced and begins again. The owner's alone: 42501 for a member of tidemark_app.
 */
export async function afterRestore(pool: Pool, options: AfterRestoreOptions): Promise<AfterRestore> {
  const { lane, least, haltId, by, partitionRows } = options;
  const { rows } = await pool.query<AfterRestore>('select generation, attempts from public.after_restore($1, $2, $3, $4)', [
    lane,
    least,
    haltId,
    by,
  ]);
  const [row] = rows;
  if (row === undefined) throw new Error('after_restore returned nothing');
  // The numbers of the log have jumped past its partitions; without a new one the first batch would wait for whoever keeps them.
  await pool.query('select public.ensure_log_partitions($1)', [partitionRows]);
  return row;
}
