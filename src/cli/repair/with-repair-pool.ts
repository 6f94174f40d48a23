import type { Pool } from 'pg';
import { createPool } from '../../store/pool.ts';
import type { CliIo } from '../io.ts';
import { readConfig } from '../read-config.ts';
import { commandLog } from '../start-log.ts';

/** Runs `work` with one connection to the service's database, and a signal that aborts when the person interrupts. */
export async function withRepairPool(io: CliIo, work: (pool: Pool, signal: AbortSignal) => Promise<void>): Promise<void> {
  const config = readConfig(io, ['databaseUrl']);
  const log = commandLog(io, config);
  const pool = createPool({ log }, { url: config.databaseUrl.reveal(), applicationName: 'tidemark-repair', maxConnections: 1 });
  const interrupted = new AbortController();
  const unsubscribe = io.onSignal(() => interrupted.abort());
  try {
    await work(pool, interrupted.signal);
  } finally {
    unsubscribe();
    await pool.end();
  }
}
