import type { Stream } from '../domain/order.ts';
import type { Clock } from '../runtime/clock.ts';
import { Secret } from '../runtime/secret.ts';
import type { StoredToken, Token, UnreadableToken } from '../runtime/token-store.ts';
import type { PlatformError } from './platform-error.ts';
import type { Dialect } from './read-venue.ts';
import type { RequestBudget } from './request-budget.ts';
import type { AccessToken, LoginTokens, TokenResult, TokenStatus } from './tokens.ts';

/**
 * A key that was refused is tried again after 5, 10, 20 … 60 s: no other takes its place by
 * itself, and a venue in trouble may refuse a good one.
 */
const [firstRestMs, longestRestMs] = [5_000, 60_000];

/**
 * A linked key's name in the store: the account's next key replaces it
 * (docs/decisions/117-a-linked-key-is-named-by-its-account.md).
 */
export function keyName(stream: Stream, accountId: string): string {
  return `${stream}:${accountId}`;
}

/** The last instant that a `Date` has. */
const neverMs = 8_640_000_000_000_000;

/** A key is stored as a token without an end. */
export function tokenOfKey(key: Secret): Token {
  return { accessToken: key, expiresAtMs: neverMs };
}

/** `load` reads the store. Rejects when it can't be reached. */
export async function storedKeySource(
  clock: Clock,
  load: () => Promise<StoredToken | UnreadableToken | undefined>,
  refusal: string,
  requests: RequestBudget,
): Promise<KeySource> {
  const stored = await load();
  const why = stored !== undefined && 'unreadable' in stored ? `${stored.unreadable}: link it again` : refusal;
  return new KeySource(clock, stored?.accessToken, why, { requests, stored: async () => (await load())?.accessToken });
}

/** A key of two parts. */
export interface KeyPair {
  readonly keyId: string;
  readonly secretKey: Secret;
}

/** `<key id>:<secret key>`. */
export function keyOfPair({ keyId, secretKey }: KeyPair): Secret {
  return new Secret(`${keyId}:${secretKey.reveal()}`);
}

/** A key's id has no colon. */
export function keyPairOf(credential: Secret): KeyPair {
  const text = credential.reveal();
  const at = text.indexOf(':');
  return { keyId: text.slice(0, at), secretKey: new Secret(text.slice(at + 1)) };
}

/** Signs with a pair in two headers. */
export function pairHeaders(idHeader: string, secretHeader: string): Dialect['sign'] {
  return (credential) => {
    const { keyId, secretKey } = keyPairOf(credential);
    return { [idHeader]: keyId, [secretHeader]: secretKey };
  };
}

interface KeyOptions {
  readonly requests?: RequestBudget;
  /** The stored key now. Left out: it is none of the store's. */
  readonly stored?: () => Promise<Secret | undefined>;
}

/**
 * A key as a source of tokens: one token, for ever. Undefined: it is stored, and can't be read.
 * `refusal`: for the person who has to act. One of the venue's addresses may refuse a key that the
 * others take: its stream must not keep a cancel from going out.
 */
export class KeySource implements LoginTokens {
  private readonly token: AccessToken | undefined;
  /** By origin, if its last answer was a refusal: since when, and the rest after it. */
  private readonly refused = new Map<string, { readonly atMs: number; readonly restMs: number }>();
  private readonly clock: Clock;
  private readonly error: PlatformError;
  readonly requests: RequestBudget | undefined;
  private readonly stored: KeyOptions['stored'];

  constructor(clock: Clock, secret: Secret | undefined, refusal: string, { requests, stored }: KeyOptions = {}) {
    this.clock = clock;
    this.requests = requests;
    this.stored = stored;
    this.error = { code: 'LOGIN_REQUIRED', message: refusal, retryable: false, sent: 'no' };
    this.token = secret && { secret, generation: 1, expiresAtMs: Number.POSITIVE_INFINITY };
  }

  status(): TokenStatus {
    if (this.token !== undefined && this.refused.size === 0) return { state: 'held' };
    return { state: 'login_required', lastError: this.error.message };
  }

  async isReplaced(): Promise<boolean> {
    if (this.stored === undefined) return false;
    return (await this.stored())?.reveal() !== this.token?.secret.reveal();
  }

  async get(url: string): Promise<TokenResult> {
    const { atMs = 0, restMs = 0 } = this.refused.get(new URL(url).origin) ?? {};
    return this.token === undefined || this.clock.monotonicMs() - atMs < restMs
      ? { ok: false, error: this.error }
      : { ok: true, token: this.token };
  }

  async renew(_generation: number, url: string): Promise<TokenResult> {
    const { origin } = new URL(url);
    const atMs = this.clock.monotonicMs();
    const { atMs: beforeMs, restMs } = this.refused.get(origin) ?? { atMs, restMs: 0 };
    // An answer to a request from before the refusal says nothing new.
    const isNew = atMs - beforeMs >= restMs;
    if (isNew) this.refused.set(origin, { atMs, restMs: Math.min(longestRestMs, Math.max(firstRestMs, 2 * restMs)) });
    return { ok: false, error: this.error };
  }

  taken(_generation: number, url: string): void {
    this.refused.delete(new URL(url).origin);
  }

  onRenewed(): () => void {
    return () => undefined;
  }
}
