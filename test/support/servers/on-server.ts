import type { Client } from 'pg';
import { DatabaseSession } from '../../../src/store/session/database-session.ts';

/**
 * Runs `work` on a connection of its own, without what the database of a test turned
 * (turned-settings.ts), to the database at `url`, and ends it.
 */
export async function onServer<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new DatabaseSession({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    query_timeout: 60_000,
    application_name: 'test-support',
  });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** `url` with another database's name. */
export function withDatabase(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}
