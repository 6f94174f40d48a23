import type { Pool } from 'pg';
import type { ConfigWith } from '../config/config.ts';
import { exitCodes, ProgramError, sentenceOf } from '../runtime/program-error.ts';
import type { Secret } from '../runtime/secret.ts';
import { createPool, type PoolOptions } from '../store/session/pool.ts';
import { sqlstateOf } from '../store/session/retry-transaction.ts';
import { pooledRefusalFix, refusedLoginFix } from '../store/session/session-fault.ts';
import type { CliIo } from './io/io.ts';
import { commandLogger } from './io/read-config.ts';

/**
 * For reading millions of rows in a running service's database: one connection, and one process
 * behind it. Without this the planner uses two more workers for the larger reads, and spends 100 ms
 * to compile statements that take 30 ms.
 */
export const lightLoad = { maxConnections: 1, settings: { max_parallel_workers_per_gather: '0', jit: 'off' } } as const;

/**
 * Runs `work` with a pool to the service's database, and ends the pool. A refusal by the database
 * becomes a sentence with its meaning and its fix.
 */
export async function withDatabase<T>(
  io: CliIo,
  config: ConfigWith<'databaseUrl'>,
  options: Omit<PoolOptions, 'url'>,
  work: (pool: Pool) => Promise<T>,
): Promise<T> {
  const { databaseUrl } = config;
  const pool = createPool({ log: commandLogger(io, config) }, { url: databaseUrl.reveal(), server: 'any', ...options });
  try {
    // A refused connection certainly comes from the database here;
    // later it might come from another server.
    await pool.query('select 1').catch((error: unknown) => {
      throw unreachable(databaseUrl, error);
    });
    return await work(pool);
  } catch (error) {
    throw refused(error);
  } finally {
    await pool.end();
  }
}

/** `pg` has no code for it: the server said that it does no TLS, so it did answer. */
function lacksTls(error: unknown): boolean {
  return error instanceof Error && /does not support SSL/.test(error.message);
}

/** The next step after `databaseTrouble`. */
export function databaseFix(error: unknown): string {
  if (lacksTls(error))
    return 'Turn TLS on at the server (`ssl = on`), or name the server that has it; `?sslmode=disable` only where no one else is on the way.';
  return (
    pooledRefusalFix(error) ??
    refusedLoginFix(error) ??
    'Check DATABASE_URL, and that the server runs and accepts this machine; `tidemark doctor` checks more.'
  );
}

/** Whether the database can't be reached or does not let us in, and why. */
export function databaseTrouble(error: unknown): string {
  if (lacksTls(error)) return `answers, and has no TLS, which sslmode in DATABASE_URL asks for: ${sentenceOf(error)}`;
  return `${sqlstateOf(error) === undefined ? 'does not answer' : "can't be used"}: ${sentenceOf(error)}`;
}

/** The database can't be reached, or does not let us in. */
export function unreachable(url: Secret, error: unknown): ProgramError {
  return new ProgramError(`the database at ${placeOf(url)} ${databaseTrouble(error)}`, {
    code: 'DATABASE',
    exitCode: exitCodes.unavailable,
    fix: databaseFix(error),
    cause: error,
  });
}

function placeOf(url: Secret): string {
  const text = url.reveal();
  return URL.canParse(text) ? new URL(text).host || 'a local socket' : 'DATABASE_URL';
}

/** Codes for missing objects, columns or schemas. */
const notThere = new Set(['42P01', '42883', '42703', '3F000']);

function refused(error: unknown): unknown {
  const state = error instanceof ProgramError ? undefined : sqlstateOf(error);
  if (state === undefined) return error;
  if (notThere.has(state))
    return new ProgramError('the database is not migrated to this build', {
      code: 'NOT_MIGRATED',
      exitCode: exitCodes.config,
      fix: 'Run `tidemark migrate`, or name the right database in DATABASE_URL.',
      cause: error,
    });
  if (state !== '42501') return error;
  return new ProgramError(sentenceOf(error), {
    code: 'RIGHTS',
    exitCode: exitCodes.denied,
    fix: 'Tokens are made by the owner of the database: name that one in DATABASE_URL. For any other command, `tidemark doctor` names the right that is missing, and its GRANT.',
    cause: error,
  });
}
