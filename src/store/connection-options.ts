import type { ClientConfig } from 'pg';

/**
 * What every connection of the service has: a deadline for each thing that can hang, and a search_path in which nobody else can put a name.
 * Without `query_timeout` a half-open socket hangs for ever; the server's own limits are lower, so that its verdict comes first.
 *
 * `random_page_cost`: the default of 4 is that of a disk that turns. It makes the planner prefer to collect and sort the rows of a lane in a partition that was never
 * analysed (an equality is then taken to keep one row in 200) to walking the primary key, which has them in order (seen: 520 ms and 300,000 rows for the first 10,000).
 */
export function connectionOptions(url: string, applicationName: string): ClientConfig {
  return {
    connectionString: url,
    application_name: applicationName,
    options: '-c search_path=public,pg_temp -c random_page_cost=1',
    connectionTimeoutMillis: 5_000,
    query_timeout: 5_000,
    statement_timeout: 4_000,
    lock_timeout: 2_000,
    idle_in_transaction_session_timeout: 10_000,
    keepAlive: true,
  };
}
