import type { Pool } from 'pg';
import type { Config } from '../../config/config.ts';
import type { Log } from '../../observability/log.ts';
import { measureStorage } from '../../store/measure-storage.ts';
import { createPool } from '../../store/pool.ts';
import { readSchemaVersion } from '../../store/schema-version.ts';
import { plural } from '../plural.ts';
import { sentenceOf } from '../report-error.ts';
import { checkGrants } from './check-grants.ts';
import { checkLanes } from './check-lanes.ts';
import { checkTransport } from './check-transport.ts';
import { checkVacuum } from './check-vacuum.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** On older ones everybody may make tables in schema `public`, and the roles of the migrations would be no fence. The tests run on 18. */
const oldestMajor = 15;

/** Reach, version, rights, durability and schema of the database, by one connection with the service's own deadlines. */
export async function checkDatabase(config: Config, log: Log): Promise<Finding[]> {
  if (config.databaseUrl === undefined)
    return [fail('database', 'DATABASE_URL is not set', 'Set it to the address of a Postgres database.')];
  const pool = createPool({ log }, { url: config.databaseUrl.reveal(), applicationName: 'tidemark-doctor', maxConnections: 1 });
  try {
    const facts = await readFacts(pool);
    const found = [reach(facts), ...(await checkTransport(pool)), rights(facts), durability(facts), await schema(pool)];
    // Of a database without our tables there is nothing more to say.
    if (found.at(-1)?.verdict !== 'ok') return found;
    for (const [part, look] of Object.entries({
      grants: checkGrants,
      lanes: checkLanes,
      vacuum: checkVacuum,
      disk: () => disk(pool, config),
    }))
      found.push(...(await look(pool).catch((error: unknown) => [unreadable(part, error)])));
    return found;
  } catch (error) {
    return [
      fail(
        'database',
        `does not answer: ${sentenceOf(error)}`,
        'Check DATABASE_URL, and that the server runs and lets this machine in.',
      ),
    ];
  } finally {
    await pool.end().catch(() => {});
  }
}

/** A right that is missing, or a deadline that has passed, ends one look at the database and not the others. */
function unreadable(part: string, error: unknown): Finding {
  return fail(part, `can't be read: ${sentenceOf(error)}`, 'Mend what the lines above name, then look again.');
}

interface Facts {
  readonly version: string;
  readonly major: number;
  readonly user: string;
  readonly isSuper: boolean;
  readonly isApp: boolean;
  readonly readOnly: boolean;
  readonly risky: readonly string[];
}

async function readFacts(pool: Pool): Promise<Facts> {
  const { rows } = await pool.query(`
    select current_setting('server_version') as version, current_setting('server_version_num')::int / 10000 as major,
      current_user as login, (select rolsuper from pg_roles where rolname = current_user) as is_super,
      coalesce((select pg_has_role(current_user, oid, 'usage') from pg_roles where rolname = 'tidemark_app'), false) as is_app,
      pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as read_only,
      array(select name || ' = ' || setting from pg_settings
        where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off' order by name) as risky`);
  const row = rows[0];
  return {
    version: String(row.version),
    major: Number(row.major),
    user: String(row.login),
    isSuper: row.is_super === true,
    isApp: row.is_app === true,
    readOnly: row.read_only === true,
    risky: row.risky,
  };
}

function reach({ version, major, readOnly }: Facts): Finding {
  if (major < oldestMajor) return fail('database', `Postgres ${version} is too old`, `Use Postgres ${oldestMajor} or newer.`);
  if (readOnly)
    return fail('database', `Postgres ${version} answers, read-only`, 'Name the primary in DATABASE_URL, not a replica.');
  return ok('database', `Postgres ${version} answers`);
}

function rights({ user, isSuper, isApp }: Facts): Finding {
  if (isSuper)
    return warn(
      'rights',
      `${user} is a superuser, who may do everything`,
      `Run the service as a login that is a member of tidemark_app.`,
    );
  if (isApp) return ok('rights', `${user} is a member of tidemark_app`);
  return fail(
    'rights',
    `${user} may not do what the service does`,
    `Run \`tidemark migrate\` as the owner, then: grant tidemark_app to "${user}"`,
  );
}

function durability({ risky }: Facts): Finding {
  if (risky.length === 0) return ok('durability', 'what is committed survives a crash of the server');
  return warn(
    'durability',
    `${risky.join(', ')}: a crash of the server may lose committed orders`,
    'Turn it on, unless this is a test.',
  );
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
      return fail('schema', 'migrated by a newer build than this one', 'Run the build that migrated it, or a newer one.');
    case 'foreign':
      return fail(
        'schema',
        version.detail,
        'Check that DATABASE_URL names the right database, and that this build was not altered.',
      );
    case 'unreadable':
      return fail(
        'schema',
        `can't be read: ${version.detail}`,
        'Run `tidemark migrate` as the owner, and use a member of tidemark_app here.',
      );
  }
}

/** The same bound as that of the alert on the disk. */
const fullFrom = 0.8;

async function disk(pool: Pool, { databaseBudgetMb }: Config): Promise<Finding[]> {
  if (databaseBudgetMb === 0) return [];
  const megabytes = (await measureStorage(pool)).databaseBytes / 1_000_000;
  const words = `the database takes ${Math.ceil(megabytes)} of ${databaseBudgetMb} MB`;
  if (megabytes < fullFrom * databaseBudgetMb) return [ok('disk', words)];
  return [warn('disk', words, 'Give it more, or lower TIDEMARK_RETENTION_DAYS (docs/sizing.md).')];
}
