import type { Client, ClientBase, QueryConfig } from 'pg';
import { defaultShardCount } from '../domain/partition.ts';
import type { Ambient } from '../observability/ambient.ts';
import { compareSchema, type Migration, readApplied, readMigrations } from './migrations.ts';
import { PrimarySession } from './session/primary-session.ts';
import { findSessionFault } from './session/session-fault.ts';

interface MigrateOptions extends Pick<Ambient, 'clock' | 'log'> {
  /** A superuser, or a login that may create roles and owns the database. */
  readonly url: string;
  /** Rows in one partition of the log. A later change holds for the partitions made after it. */
  readonly partitionRows?: number;
  /** How many shards a new database gets. Left out: 16, or as many as it has. */
  readonly shards?: number;
  /** Left out: this build's own. */
  readonly migrations?: readonly Migration[];
  /**
   * Makes the roles alone, with their rights on the schema, for a restore that brings everything
   * else.
   */
  readonly rolesOnly?: boolean;
  /** How long to wait for another migrating process. */
  readonly waitMs?: number;
}

/**
 * `SCHEMA_NEWER`, `SCHEMA_FOREIGN`: this build does not fit the database. `MIGRATION_BUSY`: another
 * process is migrating. `LANE_HELD`: an older build runs, and could not run on. `SHARDS_FIXED`: the
 * database has another number of shards. `OWNERS`: tables belong to another role. `SESSIONS`: a
 * session is not a real one (see `SessionFault`).
 */
export class MigrationError extends Error {
  readonly code: string;
  readonly retryable: boolean;
  /** Present if the fix depends on this case. */
  readonly fix: string | undefined;

  constructor(code: string, message: string, retryable: boolean, fix?: string) {
    super(message);
    this.name = 'MigrationError';
    this.code = code;
    this.retryable = retryable;
    this.fix = fix;
  }
}

export const defaultPartitionRows = 5_000_000;

/** For a statement that reads no rows. It waits 5 s for a lock of others, wherever it stands. */
const briefMs = 300_000;

/**
 * For a statement of a migration, and for the check of a constraint. One that copies a large table
 * reads and writes all the time. So only a fault ends it early: a lock, a full disk, a lost
 * connection.
 */
const longMs = 12 * 3_600_000;

/** The server is slower than this before the client gives up by itself. */
const answerMs = 5_000;

/**
 * An arbitrary number, the same in every build. The session with this lock is migrating its
 * database.
 */
const lockKey = 7_215_033_418;

/**
 * Brings a database to this build's schema: roles, the pending migrations (each in its own
 * transaction, as `tidemark_owner`), the log's first partitions, the shards. Safe to call again and
 * from several processes at once. Rejects with `MigrationError`, or with the database's own error.
 *
 * Older builds may not run beside some migrations. Such a migration is not applied while one of
 * these builds holds a lane. It takes the lanes from their former holders. So an instance frozen in
 * the meantime can't write to a schema it does not know.
 *
 * Not drizzle's migrator: it takes no lock, has no deadlines, and goes on when the database is
 * newer than the build.
 */
export async function migrate(options: MigrateOptions): Promise<{ applied: string[] }> {
  const client = await openSession(options);
  try {
    await assertWholeSession(client, options);
    await takeLock(client, options);
    await ensureRoles(client);
    if (options.rolesOnly === true) return { applied: [] };
    await assertOwned(client);
    await ensureBooks(client);
    const applied = await applyPending(client, options);
    await client.query('set role tidemark_owner');
    await validateConstraints(client);
    await client.query('select public.ensure_log_partitions($1)', [options.partitionRows ?? defaultPartitionRows]);
    await ensureShards(client, options.shards);
    return { applied };
  } finally {
    // Ends the session, and with it the lock and the role.
    await client.end().catch(() => {});
  }
}

async function openSession({ url, log }: MigrateOptions): Promise<PrimarySession> {
  const client = new PrimarySession({
    connectionString: url,
    application_name: 'tidemark-migrate',
    connectionTimeoutMillis: 5_000,
    lock_timeout: 5_000,
    statement_timeout: briefMs,
    query_timeout: briefMs + answerMs,
    idle_in_transaction_session_timeout: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    // A long statement ends soon after its process has.
    settings: { client_connection_check_interval: '5s' },
  });
  client.on('error', (err) => log.warn({ err }, 'the migration lost its connection'));
  await client.connect();
  return client;
}

/** Without this, two processes could migrate at once: no session would hold the lock. */
async function assertWholeSession(client: PrimarySession, options: MigrateOptions): Promise<void> {
  const beside = await openSession(options);
  try {
    const fault = await findSessionFault(client, beside);
    if (fault !== undefined) throw new MigrationError('SESSIONS', fault.seen, false, fault.fix);
  } finally {
    await beside.end().catch(() => {});
  }
}

async function takeLock(client: Client, { clock, waitMs = 60_000 }: MigrateOptions): Promise<void> {
  const giveUpMs = clock.monotonicMs() + waitMs;
  for (;;) {
    const { rows } = await client.query('select pg_try_advisory_lock($1) as held', [lockKey]);
    if (rows[0]?.held) return;
    if (clock.monotonicMs() > giveUpMs) {
      throw new MigrationError(
        'MIGRATION_BUSY',
        `another process has been migrating this database for ${waitMs} ms`,
        true,
      );
    }
    await clock.sleep(50);
  }
}

/**
 * A restore without its roles leaves other owners. A migration's statements would then fail one by
 * one, and none would name the reason.
 */
async function assertOwned(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string; owner: string; count: number }>(
    `select c.oid::regclass::text as name, pg_get_userbyid(c.relowner) as owner, count(*) over ()::integer as count from pg_class c
     where c.oid in (to_regclass('public.lanes'), to_regclass('public.orders'), to_regclass('public.order_updates'), to_regclass('public.commands'),
       to_regclass('drizzle.__drizzle_migrations')) and pg_get_userbyid(c.relowner) <> 'tidemark_owner' order by c.oid`,
  );
  const [first] = rows;
  if (first === undefined) return;
  const message = `table ${first.name} belongs to ${first.owner}, and tidemark_owner is expected`;
  throw new MigrationError(
    'OWNERS',
    message,
    false,
    'Restore again by the lines of docs/runbooks/after-restore.md, or run what `tidemark doctor` prints for each object.',
  );
}

/** Makes drizzle's table of applied migrations. */
async function ensureBooks(client: Client): Promise<void> {
  await client.query(`
    create schema if not exists drizzle authorization tidemark_owner;
    create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint);
    alter table drizzle.__drizzle_migrations add column if not exists needs bigint;
    alter table drizzle.__drizzle_migrations owner to tidemark_owner;
    grant usage on schema drizzle to tidemark_app, tidemark_reader;
    grant select on drizzle.__drizzle_migrations to tidemark_app, tidemark_reader`);
}

async function applyPending(client: Client, { log, clock, migrations }: MigrateOptions): Promise<string[]> {
  const version = compareSchema(migrations ?? (await readMigrations()), await readApplied(client));
  if (version.kind === 'newer') {
    throw new MigrationError('SCHEMA_NEWER', 'the database was migrated by a newer build than this one', false);
  }
  if (version.kind === 'foreign') throw new MigrationError('SCHEMA_FOREIGN', version.detail, false);
  if (version.kind !== 'behind') return [];
  for (const migration of version.pending) {
    const startMs = clock.monotonicMs();
    await applyOne(client, migration, { log, clock });
    log.info({ migration: migration.tag, ms: Math.round(clock.monotonicMs() - startMs) }, 'migration applied');
  }
  return version.pending.map((m) => m.tag);
}

async function applyOne(
  client: Client,
  migration: Migration,
  { log, clock }: Pick<MigrateOptions, 'log' | 'clock'>,
): Promise<void> {
  const { tag, statements, when, needs = when } = migration;
  await client.query('begin');
  try {
    await client.query('set local role tidemark_owner');
    if (needs === when) await fenceOlderBuilds(client);
    for (const [index, statement] of statements.entries()) {
      const startMs = clock.monotonicMs();
      await runLong(client, statement);
      const ms = Math.round(clock.monotonicMs() - startMs);
      if (ms > 5_000) log.info({ migration: tag, part: index + 1, of: statements.length, ms }, 'migrating');
    }
    await client.query('insert into drizzle.__drizzle_migrations (hash, created_at, needs) values ($1, $2, $3)', [
      migration.hash,
      when,
      needs,
    ]);
    const { command } = await client.query('commit');
    if (command !== 'COMMIT') throw new MigrationError('MIGRATION_ROLLED_BACK', `${tag} ended as ${command}`, true);
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

async function runLong(client: Client, text: string): Promise<void> {
  await client.query(`set statement_timeout = ${longMs}`);
  try {
    await client.query({ text, query_timeout: longMs + answerMs } as QueryConfig);
  } finally {
    // In a transaction that failed, its end brings the former limit back.
    await client.query(`set statement_timeout = ${briefMs}`).catch(() => {});
  }
}

/**
 * A migration adds a constraint to a large table as not valid: it holds for each new row from then
 * on. Here the older rows are read for it, beside sessions that read and write them; in the
 * migration itself these would have to wait. Cut off, it is done by the next call.
 */
async function validateConstraints(client: Client): Promise<void> {
  const { rows } = await client.query<{ statement: string }>(
    `select format('alter table %s validate constraint %I', conrelid::regclass, conname) as statement from pg_constraint c
     join pg_class t on t.oid = c.conrelid
     where connamespace = 'public'::regnamespace and not convalidated and pg_get_userbyid(t.relowner) = current_user`,
  );
  for (const { statement } of rows) await runLong(client, statement);
}

/**
 * In one statement, so all or none. With another number an account would have another shard, and
 * its commands another fence.
 */
async function ensureShards(client: Client, wanted?: number): Promise<void> {
  await client.query(
    `insert into public.shards (shard) select n from generate_series(0, $1::integer - 1) as n
     where not exists (select from public.shards)`,
    [wanted ?? defaultShardCount],
  );
  const { rows } = await client.query<{ count: number }>('select count(*)::integer as count from public.shards');
  const count = rows[0]?.count;
  if (wanted === undefined || count === wanted) return;
  const message = `the database was made with ${count} shards, and keeps this number`;
  throw new MigrationError('SHARDS_FIXED', message, false);
}

/**
 * Longer than a lease lasts by default, and a short wait for a person. A holder that renewed within
 * this time counts as running.
 */
const runningWithinMs = 10_000;

/** After this, no lane has a holder, and none can be taken before the transaction ends. */
async function fenceOlderBuilds(client: Client): Promise<void> {
  const { rows: made } = await client.query(`select to_regclass('public.lanes') is not null as yes`);
  if (!made[0]?.yes) return;
  await client.query('lock table public.lanes in exclusive mode');
  const { rows } = await client.query<{ lane: number; holder: string }>(
    `select lane, holder from public.lanes
     where holder is not null and abs(extract(epoch from clock_timestamp() - renewed_at)) * 1000 < $1 order by lane`,
    [runningWithinMs],
  );
  const [held] = rows;
  if (held !== undefined) {
    const message = `${held.holder} holds lane ${held.lane}, and its build cannot go on beside this migration`;
    throw new MigrationError('LANE_HELD', message, true);
  }
  await client.query('update public.lanes set holder = null, epoch = epoch + 1');
  // A process that was frozen writes no commands either.
  await client.query(
    `select pg_advisory_xact_lock(hashtext('tidemark fence'), shard) from public.shards order by shard`,
  );
  await client.query('update public.shards set epoch = epoch + 1');
}

const roles = ['tidemark_owner', 'tidemark_app', 'tidemark_reader'];

/**
 * Makes the three group roles if they are missing, and lets the owner create in this database.
 * Roles belong to the whole server, and another database may be migrated at the same moment. The
 * second process then finds the role was made between its check and its CREATE.
 */
async function ensureRoles(client: ClientBase): Promise<void> {
  for (const role of roles) {
    await client.query(`do $$ begin
      if not exists (select from pg_roles where rolname = '${role}') then create role ${role} nologin; end if;
    exception when duplicate_object or unique_violation then null;
    end $$`);
  }
  // A login that may create roles but is not a superuser is admin of the roles it created, not a
  // member. It may make itself one.
  await client.query(`do $$ begin
    if not (select rolsuper from pg_roles where rolname = current_user) then execute format('grant tidemark_owner to %I', current_user); end if;
  exception when insufficient_privilege or unique_violation then null;
  end $$`);
  await client.query('grant usage, create on schema public to tidemark_owner');
}
