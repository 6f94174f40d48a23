import { Client } from 'pg';
import type { Clock } from '../runtime/clock.ts';

export type PostgresAnswer =
  | { readonly answers: true; readonly version: string }
  | { readonly answers: false; readonly error: Error };

/** Connects once and asks for the server's version (as `18.4`), in at most `limitMs`. */
export async function postgresAnswers(url: string, limitMs: number): Promise<PostgresAnswer> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: limitMs, query_timeout: limitMs });
  // A connection that breaks between two statements is told here; the next statement fails as well.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ server_version: string }>('show server_version');
    return { answers: true, version: rows[0]?.server_version.split(' ')[0] ?? '' };
  } catch (error) {
    return { answers: false, error: error instanceof Error ? error : new Error(String(error)) };
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Asks until Postgres answers, `limitMs` have passed (the last error), or `ended` resolves. Resolves with the last answer. */
export async function awaitPostgres(
  deps: { readonly clock: Clock },
  options: { readonly url: string; readonly limitMs: number; readonly ended: Promise<unknown> },
): Promise<PostgresAnswer> {
  const deadline = deps.clock.monotonicMs() + options.limitMs;
  let over = false;
  void options.ended.then(() => {
    over = true;
  });
  for (;;) {
    const answer = await postgresAnswers(options.url, 2_000);
    if (answer.answers || over || deps.clock.monotonicMs() > deadline) return answer;
    await deps.clock.sleep(20);
  }
}
