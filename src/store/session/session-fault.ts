import type { ClientBase, Pool, PoolClient } from 'pg';
import { sqlstateOf } from './retry-transaction.ts';

/**
 * Why no session of an address can be used, in plain words: `seen`, and `fix`, the one thing to do.
 */
interface SessionFault {
  readonly seen: string;
  readonly fix: string;
}

const moved: SessionFault = {
  seen: 'a pooler in transaction or statement mode is in between: the statements of one session run in different processes of the server, so prepared statements and locks get lost',
  fix: 'Name Postgres itself in DATABASE_URL, or set the pooler to session mode for this database (PgBouncer: pool_mode = session).',
};

const lockStubs: SessionFault = {
  seen: 'an advisory lock that one session holds was given to a second one, so a lock on this server keeps no other session out',
  fix: 'Use Postgres itself, 15 or newer. A server that only speaks its protocol may accept locks and not hold them.',
};

const otherEncoding = (encoding: string): SessionFault => ({
  seen: `the encoding of the database is ${encoding}, and UTF8 is expected: an order with a letter that ${encoding} lacks could not be stored`,
  fix: "Make another database by `create database … template template0 encoding 'UTF8' locale 'C'`, and restore this one into it (docs/runbooks/after-restore.md).",
});

const noTriggers: SessionFault = {
  seen: 'session_replication_role is replica for this login, and origin is expected: no trigger and no foreign key holds, so nothing guards the journal',
  fix: 'As a superuser: `alter role … reset session_replication_role`, or the same for the database or the server.',
};

/** Below this, a pooler may by chance give both sessions the same two processes each time. */
const rounds = 4;

/**
 * Compares two new sessions with one address. Each must have its own server process and keep it,
 * and a lock held by one must be refused to the other. Undefined: they can be used. Rejects if the
 * server does not answer; then nothing is known. Leaves no lock and no transaction behind in whole
 * sessions; end the others.
 */
export async function findSessionFault(first: ClientBase, second: ClientBase): Promise<SessionFault | undefined> {
  return (await movedOrNot(first, second)) ?? (await stubLocks(first, second)) ?? (await settingsFault(first));
}

/** With two sessions from `pool`, so it needs room for two. */
export async function findPoolFault(pool: Pool): Promise<SessionFault | undefined> {
  const first = await connectedTo(pool);
  let fault: SessionFault | undefined | 'unknown' = 'unknown';
  try {
    const second = await connectedTo(pool);
    try {
      fault = await findSessionFault(first, second);
      return fault;
    } finally {
      second.off('error', ignore);
      second.release(fault !== undefined);
    }
  } finally {
    first.off('error', ignore);
    first.release(fault !== undefined);
  }
}

const ignore = () => undefined;

/** A connection that breaks while it is idle here would end the process. The next query rejects. */
async function connectedTo(pool: Pool): Promise<PoolClient> {
  const client = await pool.connect();
  client.on('error', ignore);
  return client;
}

async function processOf(session: ClientBase): Promise<number> {
  const { rows } = await session.query<{ pid: number }>('select pg_backend_pid() as pid');
  return Number(rows[0]?.pid);
}

/**
 * One holds its process by a transaction while the other is asked for its own. A pooler in
 * transaction mode then has to give another one, or gave the first one's before. A session that
 * only waits would be given the same process again and again.
 */
async function movedOrNot(first: ClientBase, second: ClientBase): Promise<SessionFault | undefined> {
  const [ofFirst, ofSecond] = [await processOf(first), await processOf(second)];
  if (ofFirst === ofSecond) return moved;
  for (let round = 0; round < rounds; round += 1) {
    const [holder, asked] = round % 2 === 0 ? [second, first] : [first, second];
    const refused = await holder.query('begin').then(
      () => undefined,
      (error: unknown) => error,
    );
    // PgBouncer: "transaction blocks not allowed in statement pooling mode".
    if (refused !== undefined && sqlstateOf(refused)?.startsWith('08')) return moved;
    if (refused !== undefined) throw refused;
    const held = await processOf(holder);
    const other = await processOf(asked);
    await holder.query('commit');
    if (held !== (holder === first ? ofFirst : ofSecond) || other !== (asked === first ? ofFirst : ofSecond))
      return moved;
  }
  return undefined;
}

/**
 * A session lock (`migrate`) and a transaction lock (the journal). The key is made from the
 * session: two tests at once do not meet.
 */
async function stubLocks(first: ClientBase, second: ClientBase): Promise<SessionFault | undefined> {
  const key = `hashtext('tidemark self-test'), ${await processOf(first)}`;
  const isFree = async () =>
    (await second.query(`select pg_try_advisory_xact_lock(${key}) as free`)).rows[0]?.free === true;
  await first.query(`select pg_advisory_lock(${key})`);
  const freeForSession = await isFree();
  await first.query(`select pg_advisory_unlock(${key})`);
  await first.query('begin');
  await first.query(`select pg_advisory_xact_lock(${key})`);
  const freeForTransaction = await isFree();
  await first.query('commit');
  return freeForSession || freeForTransaction ? lockStubs : undefined;
}

/**
 * What a session can't set by itself: the encoding is fixed when a database is made, and the other
 * one is a superuser's.
 */
async function settingsFault(session: ClientBase): Promise<SessionFault | undefined> {
  const { rows } = await session.query<{ encoding: string; role: string | null }>(
    `select current_setting('server_encoding') as encoding, current_setting('session_replication_role', true) as role`,
  );
  const { encoding = 'UTF8', role } = rows[0] ?? {};
  if (encoding !== 'UTF8') return otherEncoding(encoding);
  return role === 'replica' ? noTriggers : undefined;
}

/**
 * A pooler refuses a session's startup parameters (PgBouncer, 08P01). Undefined: it is something
 * else.
 */
export function pooledRefusalFix(error: unknown): string | undefined {
  if (sqlstateOf(error) !== '08P01' || !String(error).includes('startup parameter')) return undefined;
  return 'A pooler is in between: name Postgres itself in DATABASE_URL, or set the pooler to session mode and add options, statement_timeout, lock_timeout and idle_in_transaction_session_timeout to its ignore_startup_parameters. Each session sets them again by a statement.';
}

const refusalFixes: Readonly<Record<string, string>> = {
  '28000': 'Correct the user in DATABASE_URL, or let it in at the server (pg_hba.conf).',
  '28P01': 'Correct the password in DATABASE_URL or its file, or that of the login at the server.',
  '3D000': 'Correct the name at the end of DATABASE_URL, or make that database.',
};

/**
 * The remedy where the server answers and does not let this login in: no wait ends that, only a
 * person does. Undefined: it is something else.
 */
export function refusedLoginFix(error: unknown): string | undefined {
  return refusalFixes[sqlstateOf(error) ?? ''];
}
