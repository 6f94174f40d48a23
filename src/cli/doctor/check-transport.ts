import type { Pool } from 'pg';
import { type Finding, ok, warn } from './finding.ts';

/** Whether somebody on the way could read along, or answer in the server's place. Nothing to say of a connection that leaves this machine by no network. */
export async function checkTransport(pool: Pick<Pool, 'query'>): Promise<Finding[]> {
  const { rows } = await pool.query<{ encrypted: boolean; local: boolean }>(`
    select coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as encrypted,
      coalesce(inet_client_addr() <<= '127.0.0.0/8' or inet_client_addr() = '::1', true) as local`);
  if (rows[0]?.encrypted === true) return [ok('transport', 'the connection to Postgres is encrypted')];
  if (rows[0]?.local === true) return [];
  return [
    warn(
      'transport',
      'the connection to Postgres is not encrypted',
      'Add ?sslmode=verify-full&sslrootcert=/path/of/the/authority.pem to DATABASE_URL, and have the server ask for it (hostssl).',
    ),
  ];
}
