import type { Pool, QueryConfig, QueryResultRow } from 'pg';
import { Backoff } from '../../runtime/backoff.ts';
import { isTransient, noWrites, type PoolDeps, sqlstateOf, survived } from './retry-transaction.ts';

/**
 * No new try begins later than this. A caller waits for it, and a marked attempt has a second to be
 * written.
 */
const retryForMs = 500;

const named: Readonly<Record<string, string>> = { TM011: 'FENCED', TM012: 'NO_SUCH_COMMAND' };

/**
 * One statement, so one transaction and one round trip. It is repeated only if the database said it
 * rolled it back, and only after an error that `repeats`: left out, one that is retryable. Rejects
 * only with `JournalError`, which explains each code.
 *
 * Not `retryTransaction`: it repeats a statement that may have committed, and a step or a mark done
 * twice is not the same as done once.
 */
export async function writeOnce<R extends QueryResultRow>(
  { pool, clock, random }: PoolDeps,
  statement: QueryConfig,
  repeats = ({ retryable }: JournalError) => retryable,
): Promise<R[]> {
  const backoff = new Backoff(random, { firstMs: 10, maxMs: 100 });
  const lastStartMs = clock.monotonicMs() + retryForMs;
  for (;;) {
    try {
      return await tryOnce<R>(pool, statement);
    } catch (error) {
      if (!(error instanceof JournalError) || !repeats(error) || clock.monotonicMs() >= lastStartMs) throw error;
      await clock.sleep(backoff.nextMs());
    }
  }
}

async function tryOnce<R extends QueryResultRow>(pool: Pool, statement: QueryConfig): Promise<R[]> {
  const client = await pool.connect().catch((error: unknown) => {
    throw new JournalError('STORE_UNAVAILABLE', true, error);
  });
  // A pool listens only to its idle connections. One that breaks while we use it would end the
  // process. The query rejects as well.
  const ignore = () => undefined;
  client.on('error', ignore);
  let broken = false;
  try {
    const { rows } = await client.query<R>(statement);
    return rows;
  } catch (error) {
    const state = sqlstateOf(error);
    // Only a session that lived on has certainly rolled back (see `survived`). A server that takes
    // no writes has written nothing; its session is over (see `PrimarySession`).
    const rolledBack = state === noWrites || (state !== undefined && (await survived(client)));
    broken = !rolledBack || state === noWrites;
    if (!rolledBack) throw new JournalError('COMMIT_UNKNOWN', false, error);
    throw new JournalError(named[state] ?? state, isTransient(error), error);
  } finally {
    client.off('error', ignore);
    client.release(broken);
  }
}

/** The unique index or the check that refused a write. */
export function constraintOf(error: unknown): string | undefined {
  const cause = error instanceof JournalError ? (error.cause as { readonly constraint?: unknown } | null) : undefined;
  return typeof cause?.constraint === 'string' ? cause.constraint : undefined;
}

/**
 * Why a call to the journal failed. `COMMIT_UNKNOWN`: the connection broke or the deadline passed
 * after the statement was sent; it may have committed, or may still do so. `STORE_UNAVAILABLE`:
 * nothing was sent. `FENCED`: a later holder has taken over. `NO_SUCH_COMMAND`. Otherwise the
 * database's SQLSTATE: certainly rolled back. `retryable`: nothing happened, and the same call is
 * likely to pass.
 */
export class JournalError extends Error {
  readonly code: string;
  readonly retryable: boolean;

  constructor(code: string, retryable: boolean, cause: unknown) {
    super(`the journal answered ${code}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = 'JournalError';
    this.code = code;
    this.retryable = retryable;
  }
}

/**
 * JSON that Postgres parses without an error: int64 as digits, and no text that it refuses
 * (`storable`). The platform's answer goes into evidence. If the database refused the text, the
 * command could never be resolved.
 */
export function storableJson(value: unknown): string {
  return JSON.stringify(storable(value), (_key, each: unknown) => (typeof each === 'bigint' ? each.toString() : each));
}

/** The value as it is read again: no NUL or lone surrogate in a text or name. */
export function storable<T>(value: T): T {
  return stored(value) as T;
}

function stored(value: unknown): unknown {
  if (typeof value === 'string') return storableColumn(value);
  if (Array.isArray(value)) return value.map(stored);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [storableColumn(name), stored(each)]));
}

/** The same for one text: its visible symbol and U+FFFD replace them. */
export function storableColumn(text: string): string {
  return text.replaceAll('\0', '\u2400').toWellFormed();
}
