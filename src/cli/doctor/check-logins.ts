import type { Config } from '../../config/config.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../../runtime/clock.ts';
import { jsonOrUndefined } from '../../runtime/json-or-undefined.ts';
import { plural } from '../../runtime/plural.ts';
import { sentenceOf } from '../../runtime/program-error.ts';
import type { Random } from '../../runtime/random.ts';
import type { Secret } from '../../runtime/secret.ts';
import { loginPrefix } from '../../runtime/token-store.ts';
import { createPool } from '../../store/session/pool.ts';
import { sqlstateOf } from '../../store/session/retry-transaction.ts';
import { PostgresCredentialList, PostgresTokenStore } from '../../store/token-store.ts';
import { accountsMaxBytes, accountsPath, userAccounts } from '../../venue/platform/wire/user.ts';
import { type Finding, fail, fixOfStatus, getSignedIn, ok, type SignedIn, warn } from './finding.ts';

interface LoginCheckDeps {
  readonly http: SignedIn['http'];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

interface LoginFindings {
  readonly findings: readonly Finding[];
  /** The token of the first signed-in login, for the later checks. */
  readonly accessToken?: Secret;
}

/**
 * Checks each linked login by itself, with its stored access token. The refresh token is not tried:
 * the platform would replace it, and doctor changes nothing. No finding while logins are not
 * followed. A silent database has its own line elsewhere.
 */
export async function checkLogins(config: Config, deps: LoginCheckDeps): Promise<LoginFindings> {
  const { databaseUrl, encryptionKey: key, platformUrl, platformCredentials } = config;
  if (databaseUrl === undefined || platformUrl === undefined || platformCredentials === 'client')
    return { findings: [] };
  const pool = createPool(deps, {
    url: databaseUrl.reveal(),
    applicationName: 'tidemark-doctor',
    maxConnections: 1,
    server: 'any',
  });
  try {
    if (key === undefined) return { findings: await checkKeyless(new PostgresCredentialList({ ...deps, pool })) };
    const store = new PostgresTokenStore({ ...deps, pool, key });
    const names = (await store.stored(loginPrefix)).map(({ credential }) => credential.slice(loginPrefix.length));
    const looked: Looked[] = [];
    for (let from = 0; from < names.length; from += atOnce) {
      const some = names.slice(from, from + atOnce).map((name) => checkLogin(name, store, { ...deps, platformUrl }));
      looked.push(...(await Promise.all(some)));
    }
    const signedIn = looked.find(({ accessToken }) => accessToken !== undefined);
    const none = platformCredentials === 'linked' && names.length === 0 ? [noLogin] : [];
    return { findings: [...none, ...looked.map(({ finding }) => finding)], ...pick(signedIn?.accessToken) };
  } catch (error) {
    // The tables are not made, and the finding about the migrations says so.
    if (sqlstateOf(error) === '42P01') return { findings: [] };
    const fix = 'Fix the faults of the database, then run it again.';
    return { findings: [fail('logins', `can't be read: ${sentenceOf(error)}`, fix)] };
  } finally {
    await pool.end().catch(() => {});
  }
}

/**
 * Without the key only a login's name can be read: no process with these settings follows its
 * accounts.
 */
async function checkKeyless(list: PostgresCredentialList): Promise<Finding[]> {
  const names = (await list.stored(loginPrefix)).map(({ credential }) => credential.slice(loginPrefix.length));
  if (names.length === 0) return [];
  const fix =
    'Set the TIDEMARK_ENCRYPTION_KEY with which they were linked, or remove them: `tidemark link --remove NAME`.';
  const detail = `${names.join(', ')}: ${names.length === 1 ? 'it is' : 'they are'} linked, and TIDEMARK_ENCRYPTION_KEY is not set: their accounts are not followed`;
  return [fail('logins', detail, fix)];
}

const noLogin = fail(
  'logins',
  'PLATFORM_CREDENTIALS is linked, so only linked logins are followed, and none is linked',
  'Run `tidemark link`, or set PLATFORM_CREDENTIALS to client or both.',
);

/** Logins checked at once, since each may wait for the platform's deadline. */
const atOnce = 8;

interface Looked {
  readonly finding: Finding;
  readonly accessToken?: Secret;
}

async function checkLogin(
  name: string,
  store: PostgresTokenStore,
  deps: LoginCheckDeps & { readonly platformUrl: string },
): Promise<Looked> {
  const part = `login ${name}`;
  const again = `Sign in again: \`tidemark link --name ${name}\`.`;
  const token = await store.load(`${loginPrefix}${name}`);
  if (token === undefined) return { finding: warn(part, 'was removed just now', again) };
  if ('unreadable' in token) {
    const fix = 'Set the TIDEMARK_ENCRYPTION_KEY with which it was linked, or link it again.';
    return { finding: fail(part, `its tokens can't be read: ${token.unreadable}`, fix) };
  }
  const { accessToken, expiresAtMs } = token;
  const minutes = Math.round((expiresAtMs - deps.clock.nowMs()) / 60_000);
  if (minutes < 0) {
    const detail = `its token ended ${-minutes} min ago, and no service has renewed it`;
    return {
      finding: warn(
        part,
        detail,
        `Start the service, which renews it; where \`tidemark status\` says LOGIN_REQUIRED: ${again}`,
      ),
    };
  }
  const url = `${deps.platformUrl}${accountsPath}`;
  const result = await getSignedIn({ ...deps, accessToken }, 'list_accounts', url, { maxBytes: accountsMaxBytes });
  if (result.kind === 'failed')
    return {
      finding: fail(
        part,
        `${url} does not answer: ${result.message}`,
        'Check PLATFORM_URL, and that this machine may reach it.',
      ),
    };
  if (result.status === 401 && token.refreshToken !== undefined) {
    const detail = 'the platform refuses its access token (401), and the service renews it when it meets this';
    const fix = `Where \`tidemark status\` says LOGIN_REQUIRED: ${again}`;
    return { finding: warn(part, detail, fix) };
  }
  if (result.status === 401) return { finding: fail(part, 'the platform refuses its token (401)', again) };
  if (result.status !== 200) {
    const fix = fixOfStatus(result.status, 'account:information', 'PLATFORM_URL');
    const then = result.status === 403 ? ` Then: ${again}` : '';
    return { finding: fail(part, `its list of accounts (${url}) is answered with ${result.status}`, `${fix}${then}`) };
  }
  const listed = userAccounts.safeParse(jsonOrUndefined(result.text));
  if (!listed.success) {
    const fix = 'Check that PLATFORM_URL is the base of the platform, without a path of its own.';
    return {
      finding: fail(
        part,
        `its list of accounts (${url}) is answered with 200, and has another shape than specified`,
        fix,
      ),
    };
  }
  const seen = plural(listed.data.accounts.length, 'account');
  return { finding: ok(part, `is signed in for ${minutes} min more, and sees ${seen}`), accessToken };
}

function pick(accessToken: Secret | undefined): { accessToken?: Secret } {
  return accessToken === undefined ? {} : { accessToken };
}
