import type { Pool } from 'pg';

export interface Storage {
  /** The database with everything in it; not the write-ahead log, nor what other databases of the server take. */
  readonly databaseBytes: number;
  /** The partitions of the log with their indexes, empty ones included. */
  readonly logBytes: number;
  /** Versions of the rows of lanes that are dead and still there. Pruning keeps them to a few, unless an old snapshot may still see them. */
  readonly laneDeadRows: number;
}

/** What is taken on the disk of the database, by its own count. Rejects when the database can't be reached. */
export async function measureStorage(pool: Pool): Promise<Storage> {
  const { rows } = await pool.query<{ database: string; log: string; dead: string }>(
    `select pg_database_size(current_database()) as database,
       (select coalesce(sum(pg_total_relation_size(inhrelid)), 0) from pg_inherits where inhparent = 'public.order_updates'::regclass) as log,
       coalesce(pg_stat_get_dead_tuples('public.lanes'::regclass), 0) as dead`,
  );
  const [{ database, log, dead } = { database: 0, log: 0, dead: 0 }] = rows;
  return { databaseBytes: Number(database), logBytes: Number(log), laneDeadRows: Number(dead) };
}
