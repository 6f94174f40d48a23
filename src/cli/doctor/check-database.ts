import type { Pool } from 'pg';
import type { Config } from '../../config/config.ts';
import type { Clock } from '../../runtime/clock.ts';
import { plural } from '../../runtime/plural.ts';
import { sentenceOf } from '../../runtime/program-error.ts';
import { measureStorage } from '../../store/maintenance.ts';
import { foreignSchemaFix, readSchemaVersion } from '../../store/migrations.ts';
import { ownershipFaults } from '../../store/ownership.ts';
import { type GrantedRole, missingGrants } from '../../store/role-grants.ts';
import { databaseTimeMs } from '../../store/session/database-clock.ts';
import { askNoWrites, type NoWrites, noWritesWords } from '../../store/session/primary-session.ts';
import { findPoolFault } from '../../store/session/session-fault.ts';
import { clockReading } from '../../venue/platform/clock-reading.ts';
import { databaseFix, databaseTrouble } from '../with-database.ts';
import { clockFinding } from './check-platform.ts';
import { type CheckDeps, doctorPool, type Finding, fail, ok, warn } from './finding.ts';
import { checkCollation, checkConnections, checkReach, checkVacuum } from './silent-checks.ts';

/**
 * On older ones every role may create tables in schema `public`, so the roles of the migrations
 * would not protect it. The tests run on 18.
 */
const oldestMajor = 15;

/**
 * Checks reach, clock, version, rights, sessions, durability and schema of the
 * database, over one or two connections with the service's own deadlines.
 */
export async function checkDatabase(
  config: Config,
  { log, clock }: Pick<CheckDeps, 'log' | 'clock'>,
): Promise<Finding[]> {
  if (config.databaseUrl === undefined)
    return [fail('database', 'DATABASE_URL is not set', 'Set it to the address of a Postgres database.')];
  const pool = doctorPool({ log }, config.databaseUrl, 2);
  try {
    const facts = await readFacts(pool);
    const found = [
      reach(facts),
      ...(await checkSessions(pool)),
      await checkClock(pool, clock),
      ...(await checkTransport(pool)),
      rights(facts),
      durability(facts),
      ...upkeep(facts),
      ...(await checkConnections(pool, config)),
      ...(facts.major < oldestMajor ? [] : await checkCollation(pool)),
      await schema(pool),
    ];
    // A database without our tables needs no more checks. If they are there but can't be read, the
    // owners say why.
    if (!(await hasTables(pool))) return found;
    const ofMigrated = {
      lanes: checkLanes,
      accounts: checkFollowing,
      'order ids': checkReach,
      vacuum: checkVacuum,
      disk: () => disk(pool, config),
    };
    const isMigrated = found.at(-1)?.verdict === 'ok';
    const looks = { owners: checkOwners, grants: checkGrants, ...(isMigrated && ofMigrated) };
    for (const [part, look] of Object.entries(looks))
      found.push(...(await look(pool).catch((error: unknown) => [unreadable(part, error)])));
    return found;
  } catch (error) {
    return [
      fail('database', databaseTrouble(error), databaseFix(error).replace('; `tidemark doctor` checks more', '')),
    ];
  } finally {
    await pool.end().catch(() => {});
  }
}

/** Silent if they are whole. */
async function checkSessions(pool: Pool): Promise<Finding[]> {
  const fault = await findPoolFault(pool);
  return fault === undefined ? [] : [fail('sessions', fault.seen, fault.fix)];
}

const seenSkewMs = 1_000;

async function checkClock(pool: Pool, clock: Clock): Promise<Finding> {
  const beganMs = clock.monotonicMs();
  const theirsMs = await databaseTimeMs(pool);
  const reading = clockReading(clock.nowMs(), clock.monotonicMs() - beganMs, theirsMs);
  return { ...clockFinding(reading, 'Postgres', seenSkewMs), part: 'database clock' };
}

/** A missing right or a passed deadline ends one check, and not the others. */
function unreadable(part: string, error: unknown): Finding {
  return fail(part, `can't be read: ${sentenceOf(error)}`, 'Fix the faults in the lines above, then run it again.');
}

interface Facts {
  readonly version: string;
  readonly major: number;
  readonly user: string;
  readonly isSuper: boolean;
  readonly isApp: boolean;
  readonly isOwner: boolean;
  readonly noWrites: NoWrites | null;
  readonly risky: readonly string[];
  readonly untended: readonly string[];
}

async function readFacts(pool: Pool): Promise<Facts> {
  const { rows } = await pool.query<Facts>(`
    select current_setting('server_version') as version, current_setting('server_version_num')::int / 10000 as major,
      current_user as user, (select rolsuper from pg_roles where rolname = current_user) as "isSuper",
      coalesce((select pg_has_role(current_user, oid, 'usage') from pg_roles where rolname = 'tidemark_app'), false) as "isApp",
      (select pg_has_role(current_user, datdba, 'usage') from pg_database where datname = current_database()) as "isOwner",
      (${askNoWrites}) as "noWrites",
      array(select name || ' = ' || setting from pg_settings
        where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off' order by name) as risky,
      array(select name || ' = ' || setting from pg_settings
        where name in ('autovacuum', 'track_counts') and setting = 'off' order by name) as untended`);
  return rows[0] as Facts;
}

const noWritesFixes: Readonly<Record<NoWrites, string>> = {
  standby: 'Name the primary in DATABASE_URL, not a replica, or promote this server. The service goes on by itself.',
  read_only:
    'Where a failover goes on, wait until the address leads to the new primary. Otherwise turn default_transaction_read_only off for the server, the database and the login.',
};

function reach({ version, major, noWrites }: Facts): Finding {
  if (major < oldestMajor)
    return fail('database', `Postgres ${version} is too old`, `Use Postgres ${oldestMajor} or newer.`);
  if (noWrites !== null)
    return fail('database', `Postgres ${version} answers, but ${noWritesWords[noWrites]}`, noWritesFixes[noWrites]);
  return ok('database', `Postgres ${version} answers`);
}

function rights({ user, isSuper, isApp, isOwner }: Facts): Finding {
  if (isSuper)
    return warn(
      'rights',
      `${user} is a superuser, who may do everything`,
      `Run the service as a login that is a member of tidemark_app.`,
    );
  if (isOwner)
    return warn(
      'rights',
      `${user} owns the database, and may do more than the service needs`,
      `Run the service as a login of its own that is a member of tidemark_app.`,
    );
  if (isApp) return ok('rights', `${user} is a member of tidemark_app`);
  return fail(
    'rights',
    `${user} is not a member of tidemark_app, which has the rights that the service needs`,
    `Run \`tidemark migrate\` as the owner, then: grant tidemark_app to "${user}"`,
  );
}

function durability({ risky }: Facts): Finding {
  if (risky.length === 0) return ok('durability', 'commits survive a crash of the server');
  return warn(
    'durability',
    `${risky.join(', ')}: a crash of the server may lose committed orders`,
    'Turn it on, unless this is a test.',
  );
}

/** Silent if Postgres cleans up by itself. */
function upkeep({ untended }: Facts): Finding[] {
  if (untended.length === 0) return [];
  const detail = `${untended.join(', ')}: nothing removes dead rows, so tables grow and each batch gets slower`;
  return [warn('upkeep', detail, 'Turn it on for the server and the database: autovacuum needs both settings.')];
}

async function schema(pool: Pool): Promise<Finding> {
  const version = await readSchemaVersion(pool).catch((error: unknown) => ({
    kind: 'unreadable' as const,
    detail: sentenceOf(error),
  }));
  switch (version.kind) {
    case 'current':
      return ok('schema', 'migrated to this build');
    case 'behind':
      return fail(
        'schema',
        `${plural(version.pending.length, 'migration is', 'migrations are')} pending`,
        'Run `tidemark migrate`.',
      );
    case 'ahead':
      return ok('schema', 'migrated by a newer build, beside which this one may run');
    case 'newer':
      return fail(
        'schema',
        'migrated by a newer build than this one',
        'Run the build that migrated it, or a newer one.',
      );
    case 'foreign':
      return fail('schema', version.detail, foreignSchemaFix);
    case 'unreadable':
      return fail(
        'schema',
        `can't be read: ${version.detail}`,
        'Run `tidemark migrate` as the owner, and use a member of tidemark_app here.',
      );
  }
}

/** The same bound as in the alert on the disk. */
const fullFrom = 0.8;

async function disk(pool: Pool, { databaseBudgetMb }: Config): Promise<Finding[]> {
  if (databaseBudgetMb === 0) return [];
  const megabytes = (await measureStorage(pool)).databaseBytes / 1_000_000;
  const words = `the database takes ${Math.ceil(megabytes)} of ${databaseBudgetMb} MB`;
  if (megabytes < fullFrom * databaseBudgetMb) return [ok('disk', words)];
  return [warn('disk', words, 'Give it more, or lower TIDEMARK_RETENTION_DAYS (docs/capacity.md).')];
}

async function hasTables(pool: Pool): Promise<boolean> {
  // By the catalog: to resolve a name needs a right on the schema, and that may be the fault.
  const { rows } = await pool.query(
    `select exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'public' and c.relname = 'lanes') as yes`,
  );
  return rows[0]?.yes === true;
}

/** Each object not owned by tidemark_owner, and each right given by no migration, one line each. */
async function checkOwners(pool: Pool): Promise<Finding[]> {
  const faults = await ownershipFaults(pool);
  if (faults.length === 0)
    return [ok('owners', 'everything belongs to tidemark_owner, and no role may do more than is planned')];
  return faults.map(({ part, detail, statement }) =>
    fail(part, detail, `As the login that migrates, or a superuser: ${statement}`),
  );
}

const granted: readonly GrantedRole[] = ['tidemark_app', 'tidemark_reader'];

/** Each right lost since the migrations, one line an object, with the GRANT to give it back. */
async function checkGrants(pool: Pool): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const role of granted)
    for (const [on, grants] of Map.groupBy(await missingGrants(pool, role), (grant) => grant.on)) {
      const privileges = grants.map(({ privilege }) => privilege).join(', ');
      found.push(
        fail(
          'grants',
          `${role} may not ${privileges} on ${on.replace(/^[A-Z]+ /, (kind) => kind.toLowerCase())}`,
          `As the owner: GRANT ${privileges} ON ${on} TO ${role};`,
        ),
      );
    }
  return found.length > 0 ? found : [ok('grants', 'tidemark_app and tidemark_reader have every right that they need')];
}

/**
 * Rows of a lane without a holder are not published, and keep the log from being dropped. Lanes in
 * order have no finding.
 */
async function checkLanes(pool: Pool): Promise<Finding[]> {
  const { rows } = await pool.query<{ lane: number }>(
    `select l.lane from public.lanes l
     where (l.holder is null or l.renewed_at < clock_timestamp() - interval '1 minute') and exists (
       select from public.order_updates u where u.lane = l.lane and u.seq > (
         select min(coalesce(r.seq, 0)) from (values ('log'), ('state')) as c(cursor)
         left join public.relay_positions r on r.lane = l.lane and r.cursor = c.cursor)
     ) order by l.lane`,
  );
  return rows.map(({ lane }) =>
    warn(
      `lane ${lane}`,
      'no process holds it, and it has updates that are not on Kafka',
      'A running service publishes them within seconds, unless Kafka is away: see its log. If none runs, start one.',
    ),
  );
}

/**
 * Reports of the running processes on their accounts (domain/member-report.ts). No finding if there
 * are none, or each account is followed.
 */
async function checkFollowing(pool: Pool): Promise<Finding[]> {
  const { rows } = await pool.query<{ streams: number; logins: number; follows: boolean }>(
    `select coalesce(sum((report ->> 'unfollowed')::int), 0)::int as streams, coalesce(max((report ->> 'unusableLogins')::int), 0) as logins,
       bool_or((report ->> 'follows')::boolean) as follows
     from public.lanes where holder is not null and renewed_at >= clock_timestamp() - interval '1 minute' and report <> '{}'
     having count(*) > 0`,
  );
  const [row] = rows;
  if (row === undefined) return [];
  const found: Finding[] = [];
  if (!row.follows) found.push(warn('accounts', 'no running process follows any account', unfollowedFix));
  if (row.streams > 0)
    found.push(
      fail(
        'accounts',
        `${plural(row.streams, 'account stream')} followed by no process or listed by no login, though they ought to be`,
        unfollowedFix,
      ),
    );
  if (row.logins > 0)
    found.push(
      fail(
        'logins in use',
        `${plural(row.logins, 'login')} can't be used by a running process`,
        'Sign in again where `tidemark status` says LOGIN_REQUIRED, and give every process the same TIDEMARK_ENCRYPTION_KEY.',
      ),
    );
  return found;
}

const unfollowedFix =
  'Read the log of the service, which names them and says why (docs/runbooks/AccountsUnfollowed.md).';

/**
 * Whether a third party on the network could read the traffic, or answer in the server's place. A
 * connection within this machine has no finding.
 */
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
