import type { Config } from '../../config/config.ts';
import type { Ambient } from '../../observability/ambient.ts';
import { sentenceOf } from '../../runtime/program-error.ts';
import { loginPrefix, type StoredToken } from '../../runtime/token-store.ts';
import { sqlstateOf } from '../../store/session/retry-transaction.ts';
import { PostgresCredentialList, PostgresTokenStore } from '../../store/token-store.ts';
import { doctorPool, type Finding, fail, warn } from './finding.ts';

/** Logins checked at once, since each may wait for its venue's deadline. */
const atOnce = 8;

/** One login with its tokens, or why there are none. */
export type StoredLogin =
  | { readonly name: string; readonly token: StoredToken }
  | { readonly name: string; readonly finding: Finding };

/**
 * Looks at each linked login with one of `prefixes` in its stored name. `linkAgain`: its command.
 * `looked` is left out if none can be read; a silent database has its own line elsewhere.
 */
export async function lookAtLogins<Looked>(
  config: Config,
  deps: Ambient,
  { prefixes, linkAgain }: { readonly prefixes: readonly string[]; linkAgain(name: string): string },
  look: (login: StoredLogin) => Promise<Looked>,
): Promise<{ readonly findings: readonly Finding[]; readonly looked?: readonly Looked[] }> {
  const { databaseUrl, encryptionKey: key } = config;
  if (databaseUrl === undefined) return { findings: [] };
  const pool = doctorPool(deps, databaseUrl);
  try {
    const list = new PostgresCredentialList({ ...deps, pool });
    const rows = (await Promise.all(prefixes.map((prefix) => list.stored(prefix)))).flat();
    const stored = rows.map(({ credential }) => credential);
    if (key === undefined) return { findings: keyless(stored.map(nameOf)), ...(stored.length === 0 && { looked: [] }) };
    const store = new PostgresTokenStore({ ...deps, pool, key });
    const looked: Looked[] = [];
    const read = async (credential: string): Promise<StoredLogin> => {
      const name = nameOf(credential);
      const token = await store.load(credential);
      const again = `Link it again: \`${linkAgain(name)}\`.`;
      if (token === undefined) return { name, finding: warn(`login ${name}`, 'was removed just now', again) };
      if (!('unreadable' in token)) return { name, token };
      const fix = `Set the TIDEMARK_ENCRYPTION_KEY with which it was linked. ${again}`;
      return { name, finding: fail(`login ${name}`, `its tokens can't be read: ${token.unreadable}`, fix) };
    };
    for (let from = 0; from < stored.length; from += atOnce) {
      const some = stored.slice(from, from + atOnce).map(async (credential) => look(await read(credential)));
      looked.push(...(await Promise.all(some)));
    }
    return { findings: [], looked };
  } catch (error) {
    // The tables are not made, and the finding about the migrations says so.
    if (sqlstateOf(error) === '42P01') return { findings: [] };
    const fix = 'Fix the faults of the database, then run it again.';
    return { findings: [fail('logins', `can't be read: ${sentenceOf(error)}`, fix)] };
  } finally {
    await pool.end().catch(() => {});
  }
}

function nameOf(credential: string): string {
  return credential.replace(loginPrefix, '');
}

/**
 * Without the key only a login's name can be read: no process with these settings follows its
 * accounts.
 */
function keyless(names: readonly string[]): Finding[] {
  if (names.length === 0) return [];
  const fix =
    'Set the TIDEMARK_ENCRYPTION_KEY with which they were linked, or remove them: `tidemark link --remove NAME`.';
  const detail = `${names.join(', ')}: ${names.length === 1 ? 'it is' : 'they are'} linked, and TIDEMARK_ENCRYPTION_KEY is not set: their accounts are not followed`;
  return [fail('logins', detail, fix)];
}
