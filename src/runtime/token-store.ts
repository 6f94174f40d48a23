import type { Clock } from './clock.ts';
import type { Secret } from './secret.ts';

/**
 * The token endpoint's answer (specification, "Token response"), with the expiry as an instant
 * instead of a duration.
 */
export interface Token {
  readonly accessToken: Secret;
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number;
  /** Absent for client credentials, which never get one. */
  readonly refreshToken?: Secret;
  readonly scope?: string;
}

export interface StoredToken extends Token {
  /** 1, 2, 3 … per credential, one for each save. A save names the generation it replaces. */
  readonly generation: number;
}

/** A token is stored and can't be read: another key sealed it, or it was changed. */
export interface UnreadableToken {
  /** The stored token's generation: a save that replaces it names this one. */
  readonly generation: number;
  /** A sentence, without any stored value. */
  readonly unreadable: string;
  readonly accessToken?: undefined;
  readonly refreshToken?: undefined;
}

/**
 * Tokens, shared by every process with the same credential. `credential` names it (`client`, or a
 * linked login); it is not a secret. Every call has a deadline; rejects when the store can't be
 * reached.
 *
 * A refresh takes this way: `claim` → `load` (another process may have refreshed meanwhile) → HTTP,
 * without any lock held → `save` → `unclaim`. A refresh token the platform rotated is used only
 * after `save` resolved with true: before that a crash would lose the only valid one.
 */
export interface TokenStore {
  /**
   * True: this holder alone may refresh for the next `forMs`, by the store's clock. A holder with
   * the claim may claim again, which prolongs it.
   */
  claim(credential: string, holder: string, forMs: number): Promise<boolean>;
  /** Gives the claim back early; harmless when another process has it by now. */
  unclaim(credential: string, holder: string): Promise<void>;
  load(credential: string): Promise<StoredToken | UnreadableToken | undefined>;
  /**
   * Stores the token as generation `replaces + 1` (`replaces` is 0 when nothing was stored). False:
   * another generation is there by now and nothing was written; load it. So a late, older answer
   * never overwrites a newer one.
   */
  save(credential: string, replaces: number, token: Token): Promise<boolean>;
}

/**
 * A credential with stored tokens. `generation` rises with each save; it begins again at 1 when the
 * credential was forgotten in between.
 */
export interface StoredCredential {
  readonly credential: string;
  readonly generation: number;
}

/**
 * The credentials in a store, so a login linked meanwhile is found. Every call has a deadline;
 * rejects when the store can't be reached.
 */
export interface CredentialList {
  /** Credentials with a name that begins with `prefix`, sorted by name. */
  stored(prefix: string): Promise<StoredCredential[]>;
  /** Drops the tokens; a refresh under way will not save any. False: there was nothing. */
  forget(credential: string): Promise<boolean>;
}

/** Prefix in the name of a login at the platform, linked by a user. */
export const loginPrefix = 'login:';

/**
 * This process's tokens alone, gone with it. Enough for client credentials, since a new token can
 * be had at any time. A rotating refresh token needs the durable store.
 */
export class MemoryTokenStore implements TokenStore {
  private readonly tokens = new Map<string, StoredToken>();
  private readonly claims = new Map<string, { readonly holder: string; readonly untilMs: number }>();
  private readonly clock: Clock;

  constructor(deps: { clock: Clock }) {
    this.clock = deps.clock;
  }

  async claim(credential: string, holder: string, forMs: number): Promise<boolean> {
    const nowMs = this.clock.monotonicMs();
    const claim = this.claims.get(credential);
    if (claim !== undefined && claim.holder !== holder && claim.untilMs > nowMs) return false;
    this.claims.set(credential, { holder, untilMs: nowMs + forMs });
    return true;
  }

  async unclaim(credential: string, holder: string): Promise<void> {
    if (this.claims.get(credential)?.holder === holder) this.claims.delete(credential);
  }

  async load(credential: string): Promise<StoredToken | undefined> {
    return this.tokens.get(credential);
  }

  async save(credential: string, replaces: number, token: Token): Promise<boolean> {
    const generation = this.tokens.get(credential)?.generation ?? 0;
    if (generation !== replaces) return false;
    this.tokens.set(credential, { ...token, generation: generation + 1 });
    return true;
  }
}
