import type { Pool } from 'pg';
import type { CliIo } from '../io.ts';
import { readConfig } from '../read-config.ts';
import { withDatabase } from '../with-database.ts';

/** Runs `work` with one connection to the service's database, and a signal that aborts when the person interrupts. */
export async function withRepairPool(io: CliIo, work: (pool: Pool, signal: AbortSignal) => Promise<void>): Promise<void> {
  const config = readConfig(io, ['databaseUrl']);
  const interrupted = new AbortController();
  const unsubscribe = io.onSignal(() => interrupted.abort());
  try {
    await withDatabase(io, config, { applicationName: 'tidemark-repair', maxConnections: 1 }, (pool) =>
      work(pool, interrupted.signal),
    );
  } finally {
    unsubscribe();
  }
}
