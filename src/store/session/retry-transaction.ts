import type { ClientBase, Pool, QueryConfig } from 'pg';
import type { Ambient } from '../../observability/ambient.ts';
import { Backoff } from '../../runtime/backoff.ts';

/** Our own codes, raised by the migration's functions. */
export const laneLost = 'TM001';
export const outOfOrder = 'TM002';
/** A batch was reduced from an old head; the head is read again. */
export const staleHead = 'TM003';
/**
 * The server takes no writes: it is a standby, or was a primary. The session is over
 * (`PrimarySession`), and another may reach the new primary.
 */
export const noWrites = '25006';

/**
 * Serialization failure, deadlock, lock not available, administrator and crash shutdown, cannot
 * connect now, canceled (statement deadline), idle in transaction, disk full, out of memory, too
 * many connections, no writes. In addition, the whole class 08, and the socket's errors (see
 * `isTransient`).
 */
const transient = new Set([
  noWrites,
  '40001',
  '40P01',
  '55P03',
  '57P01',
  '57P02',
  '57P03',
  '57014',
  '25P03',
  '53100',
  '53200',
  '53300',
]);

/**
 * True: the session lives, and the same call may pass with newer heads, one more partition, or
 * after some time. Otherwise the error's meaning is unknown.
 */
export function isKnownToPass(error: unknown): boolean {
  return isTransient(error) || isMissingPartition(error) || sqlstateOf(error) === staleHead;
}

/** A database error's five-character code, or undefined if the error came from elsewhere. */
export function sqlstateOf(error: unknown): string | undefined {
  const { code, severity } = rootOf(error);
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && severity !== undefined ? code : undefined;
}

/** A short word for any error: SQLSTATE, errno, or `CONNECTION`. */
export function describeCode(error: unknown): string {
  const { code } = rootOf(error);
  return typeof code === 'string' ? code : 'CONNECTION';
}

/** True: the same transaction may pass when it is tried again, whole. */
export function isTransient(error: unknown): boolean {
  const state = sqlstateOf(error);
  return state === undefined ? isConnectionError(error) : transient.has(state) || state.startsWith('08');
}

/**
 * True: Postgres will never take one of the rows. Class 22 (data), 23 (integrity), 54 (too deep,
 * too long for an index), 21000 (one order twice in a batch). A missing partition is class 23 as
 * well, but no row's fault: see `isMissingPartition`.
 */
export function isPoison(error: unknown): boolean {
  const state = sqlstateOf(error);
  return state !== undefined && (/^(22|23|54)/.test(state) || state === '21000') && !isMissingPartition(error);
}

/**
 * No partition of the log takes this seq: 23514 like a check constraint, but without the
 * constraint's name.
 */
export function isMissingPartition(error: unknown): boolean {
  return sqlstateOf(error) === '23514' && rootOf(error)['constraint'] === undefined;
}

/**
 * An error without SQLSTATE did not come from the server. It has the socket's errno, or it is one
 * of `pg`'s own messages without a code.
 */
function isConnectionError(error: unknown): boolean {
  const { code, message } = rootOf(error);
  if (typeof code === 'string') return /^(?!ERR_)E[A-Z]/.test(code);
  return (
    typeof message === 'string' &&
    /^(Connection terminated|Query read timeout|timeout e|Client (has|was) )/.test(message)
  );
}

/**
 * Drizzle wraps the driver's error, and Node wraps the errors from a connection attempt at several
 * addresses.
 */
function rootOf(error: unknown): { [name in 'code' | 'severity' | 'message' | 'constraint' | 'cause']?: unknown } {
  if (typeof error !== 'object' || error === null) return {};
  const cause = (error as { cause?: unknown }).cause;
  return 'code' in error || cause === undefined ? error : rootOf(cause);
}

/**
 * An error proves a rollback only when the session lived on. After FATAL and PANIC (a shutdown, a
 * full disk under the write-ahead log) the commit may have been durable already. The code does not
 * separate these cases, and the severity is translated to the server's language.
 */
export async function survived(client: ClientBase): Promise<boolean> {
  return client.query('select').then(
    () => true,
    () => false,
  );
}

interface RetryDeps extends Pick<Ambient, 'clock' | 'random'> {}

export interface PoolDeps extends RetryDeps {
  readonly pool: Pool;
}

interface RetryOptions {
  /** No new try begins later than this. Each try also has its connection's deadlines. */
  readonly forMs?: number;
}

/**
 * Repeats a whole transaction (or a single statement) while it fails with an error likely to pass:
 * see `isTransient`. A try whose answer was lost may have committed, so the work must be harmless
 * when done twice. Rejects with the last error.
 *
 * Not for `apply_batch`: there, a caller must first find out if a batch with a lost answer
 * committed.
 */
export async function retryTransaction<T>(
  deps: RetryDeps,
  work: () => Promise<T>,
  options: RetryOptions = {},
): Promise<T> {
  const backoff = new Backoff(deps.random, { firstMs: 20, maxMs: 500 });
  const lastStartMs = deps.clock.monotonicMs() + (options.forMs ?? 2_000);
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error) || deps.clock.monotonicMs() >= lastStartMs) throw error;
      await deps.clock.sleep(backoff.nextMs());
    }
  }
}

/** Makes a port's method from a read of a pool, repeated in the same way. */
export function repeated(deps: PoolDeps) {
  return <Args extends unknown[], Result>(read: (pool: Pool, ...args: Args) => Promise<Result>) =>
    (...args: Args) =>
      retryTransaction(deps, () => read(deps.pool, ...args));
}

/** The rows of one statement, repeated in the same way. */
export async function retryQuery<Row extends object>(
  deps: PoolDeps,
  statement: string | QueryConfig,
  values?: unknown[],
): Promise<Row[]> {
  const { rows } = await retryTransaction(deps, () =>
    deps.pool.query<Row & Record<string, unknown>>(statement, values),
  );
  return rows;
}
