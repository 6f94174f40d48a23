import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { fields, maybe, text } from '../domain/shape.ts';
import { jsonOrUndefined } from '../runtime/json-or-undefined.ts';
import { Secret } from '../runtime/secret.ts';
import type {
  CredentialList,
  StoredCredential,
  StoredToken,
  Token,
  TokenStore,
  UnreadableToken,
} from '../runtime/token-store.ts';
import { and, asc, type Database, drizzle, eq, isNotNull, sql } from './drizzle.ts';
import { credentials } from './schema/accounts.ts';
import { type PoolDeps, retryQuery, retryTransaction } from './session/retry-transaction.ts';

const nonceBytes = 12;
const tagBytes = 16;
const version = 1;

/**
 * The key is not 32 bytes of base64. Or the stored value was sealed with another key or for another
 * place, or was changed.
 */
class SealError extends Error {
  readonly code: 'BAD_KEY' | 'UNREADABLE';
  readonly retryable = false;

  constructor(code: 'BAD_KEY' | 'UNREADABLE', message: string) {
    super(message);
    this.name = 'SealError';
    this.code = code;
  }
}

/**
 * AES-256-GCM: one version byte, nonce, ciphertext, tag. `place` is authenticated too. So a sealed
 * value can't be moved to another row, and an old one can't replace a newer one.
 */
export function seal(key: Secret, place: string, text: string): Buffer {
  // Not the injected randomness: a nonce a seed could repeat would reveal the key.
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', keyBytes(key), nonce).setAAD(Buffer.from(place));
  return Buffer.concat([Buffer.of(version), nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

/** The text sealed with this key for this place. Throws a `SealError` otherwise. */
export function unseal(key: Secret, place: string, sealed: Buffer): string {
  const bytes = keyBytes(key);
  if (sealed[0] !== version || sealed.length < 1 + nonceBytes + tagBytes) throw unreadable(place);
  const nonce = sealed.subarray(1, 1 + nonceBytes);
  const ciphertext = sealed.subarray(1 + nonceBytes, sealed.length - tagBytes);
  const decipher = createDecipheriv('aes-256-gcm', bytes, nonce, { authTagLength: tagBytes })
    .setAAD(Buffer.from(place))
    .setAuthTag(sealed.subarray(sealed.length - tagBytes));
  try {
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
  } catch {
    throw unreadable(place);
  }
}

function unreadable(place: string): SealError {
  return new SealError('UNREADABLE', `what is stored for ${place} was not sealed with this key, or was changed`);
}

function keyBytes(key: Secret): Buffer {
  const bytes = Buffer.from(key.reveal(), 'base64');
  if (bytes.length !== 32) throw new SealError('BAD_KEY', 'the encryption key must be 32 bytes in base64');
  return bytes;
}

/** What the tokens of one client may be sealed with. */
interface KeySettings {
  readonly encryptionKey?: Secret | undefined;
  readonly platformClientSecret?: Secret | undefined;
}

/**
 * Keys for the client's own token: `key` seals, `otherKey` may have sealed it. Without an
 * encryption key it is made from the client's secret, which every process that signs in as this
 * client has, and the database has not (docs/decisions/093-one-token-for-all-processes.md).
 * Undefined: there is neither.
 */
export function tokenKeys({ encryptionKey, platformClientSecret }: KeySettings): TokenKeys | undefined {
  const own = platformClientSecret === undefined ? undefined : keyFrom(platformClientSecret);
  if (encryptionKey === undefined) return own === undefined ? undefined : { key: own };
  return { key: encryptionKey, ...(own !== undefined && { otherKey: own }) };
}

/** RFC 5869. A client secret is drawn by the platform, and no password that can be guessed. */
function keyFrom(secret: Secret): Secret {
  const bytes = hkdfSync('sha256', secret.reveal(), '', 'tidemark: the token of a client', 32);
  return new Secret(Buffer.from(bytes).toString('base64'));
}

/**
 * The port `CredentialList` in Postgres. Listing and forgetting need no key: tokens are identified
 * by their credential's name, and stay sealed.
 */
export class PostgresCredentialList implements CredentialList {
  protected readonly deps: PoolDeps;
  protected readonly db: Database;

  constructor(deps: PoolDeps) {
    this.deps = deps;
    this.db = drizzle(deps.pool);
  }

  stored(prefix: string): Promise<StoredCredential[]> {
    const { credential, generation, sealed } = credentials;
    return retryTransaction(this.deps, async () =>
      this.db
        .select({ credential, generation })
        .from(credentials)
        .where(and(isNotNull(sealed), sql`starts_with(${credential}, ${prefix})`))
        .orderBy(asc(credential)),
    );
  }

  /**
   * The row stays, for the process with the claim. Generation 0 makes every save under way come too
   * late.
   */
  async forget(name: string): Promise<boolean> {
    const { credential, sealed } = credentials;
    const { rowCount } = await retryTransaction(this.deps, async () =>
      this.db
        .update(credentials)
        .set({ sealed: null, generation: 0, updatedAt: sql`now()` })
        .where(and(eq(credential, name), isNotNull(sealed))),
    );
    return rowCount === 1;
  }
}

const databaseNow = '(extract(epoch from clock_timestamp()) * 1000)::float8';

interface Sealed {
  readonly accessToken: string;
  /**
   * By the database's clock: a process whose own is an hour ahead would take each stored token for
   * one that has ended, and its new one may end it.
   */
  readonly expiresAtMs: number;
  readonly refreshToken?: string;
  readonly scope?: string;
}

const isSealed = fields({
  ...{ accessToken: text, expiresAtMs: Number.isSafeInteger, refreshToken: maybe(text), scope: maybe(text) },
}) as (value: unknown) => value is Sealed;

/** Each 32 bytes in base64. */
interface TokenKeys {
  readonly key: Secret;
  /** Opens what `key` does not. */
  readonly otherKey?: Secret;
}

type TokenStoreDeps = PoolDeps & TokenKeys;

/**
 * The port `TokenStore` in Postgres, with the list of the tokens it holds. Every write is one
 * statement. A claim is a name and a time in the row, never a lock held while another system
 * answers. Tokens are sealed for their credential and generation. A row sealed with another key is
 * an `UnreadableToken`.
 */
export class PostgresTokenStore extends PostgresCredentialList implements TokenStore {
  private readonly keys: TokenKeys;

  constructor(deps: TokenStoreDeps) {
    super(deps);
    this.keys = deps;
  }

  claim(credential: string, holder: string, forMs: number): Promise<boolean> {
    return this.changes(
      `insert into public.credentials as c (credential, claimed_by, claimed_until)
       values ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
       on conflict (credential) do update set claimed_by = excluded.claimed_by, claimed_until = excluded.claimed_until, updated_at = now()
       where c.claimed_by is null or c.claimed_by = excluded.claimed_by or c.claimed_until < clock_timestamp()`,
      [credential, holder, forMs],
    );
  }

  async unclaim(name: string, holder: string): Promise<void> {
    const { credential, claimedBy } = credentials;
    await retryTransaction(this.deps, async () =>
      this.db
        .update(credentials)
        .set({ claimedBy: null, claimedUntil: null })
        .where(and(eq(credential, name), eq(claimedBy, holder))),
    );
  }

  async load(name: string): Promise<StoredToken | UnreadableToken | undefined> {
    const { credential, generation: number, sealed } = credentials;
    const [row] = await retryTransaction(this.deps, async () =>
      this.db
        .select({ generation: number, sealed, nowMs: sql.raw(databaseNow).mapWith(Number) })
        .from(credentials)
        .where(and(eq(credential, name), isNotNull(sealed))),
    );
    if (row?.sealed == null) return undefined;
    const { generation } = row;
    const { key, otherKey } = this.keys;
    const place = placeOf(name, generation);
    const byFirst = unsealed(key, place, row.sealed);
    const plain =
      typeof byFirst === 'string' || otherKey === undefined ? byFirst : unsealed(otherKey, place, row.sealed);
    if (plain instanceof SealError) return { generation, unreadable: plain.message };
    const token = jsonOrUndefined(plain);
    if (!isSealed(token))
      return { generation, unreadable: 'the sealed token has another shape than this build writes' };
    return {
      generation,
      accessToken: new Secret(token.accessToken),
      expiresAtMs: Math.round(token.expiresAtMs - row.nowMs + this.deps.clock.nowMs()),
      ...(token.refreshToken === undefined ? {} : { refreshToken: new Secret(token.refreshToken) }),
      ...(token.scope === undefined ? {} : { scope: token.scope }),
    };
  }

  async save(credential: string, replaces: number, token: Token): Promise<boolean> {
    const [row] = await retryQuery<{ nowMs: number }>(this.deps, `select ${databaseNow} as "nowMs"`);
    const aheadMs = (row?.nowMs ?? 0) - this.deps.clock.nowMs();
    const plain: Sealed = {
      accessToken: token.accessToken.reveal(),
      expiresAtMs: Math.round(token.expiresAtMs + aheadMs),
      ...(token.refreshToken === undefined ? {} : { refreshToken: token.refreshToken.reveal() }),
      ...(token.scope === undefined ? {} : { scope: token.scope }),
    };
    const generation = replaces + 1;
    const sealed = seal(this.keys.key, placeOf(credential, generation), JSON.stringify(plain));
    // A try whose answer was lost finds its own row: equal bytes are this same save (the nonce
    // makes them unique).
    return this.changes(
      `insert into public.credentials as c (credential, generation, sealed)
       select $1::text, $2::bigint, $3::bytea where $2 = 1 or exists (select from public.credentials where credential = $1)
       on conflict (credential) do update set generation = excluded.generation, sealed = excluded.sealed, updated_at = now()
       where c.generation = excluded.generation - 1 or c.sealed = excluded.sealed`,
      [credential, generation, sealed],
    );
  }

  /** Raw: an upsert that writes by the row's contents, and returns whether it wrote. */
  private async changes(text: string, values: unknown[]): Promise<boolean> {
    const { rowCount } = await retryTransaction(this.deps, () => this.deps.pool.query(text, values));
    return rowCount === 1;
  }
}

/**
 * The text, or the error that it was not sealed with this key. A malformed key is a fault in the
 * settings, and is thrown.
 */
function unsealed(key: Secret, place: string, sealed: Buffer): string | SealError {
  try {
    return unseal(key, place, sealed);
  } catch (error) {
    if (error instanceof SealError && error.code === 'UNREADABLE') return error;
    throw error;
  }
}

function placeOf(credential: string, generation: number): string {
  return `${credential}/${generation}`;
}
