import type { Secret } from '../runtime/secret.ts';
import type { PlatformError } from './platform-error.ts';
import type { RequestBudget } from './request-budget.ts';

export interface AccessToken {
  readonly secret: Secret;
  /** Rises with every new token from this source, in this process. */
  readonly generation: number;
  /** Wall time, milliseconds since the epoch. */
  readonly expiresAtMs: number;
}

export type TokenResult =
  | { readonly ok: true; readonly token: AccessToken }
  /**
   * Code `LOGIN_REQUIRED`: a person has to sign in or repair the credential. `TOKEN_UNAVAILABLE`:
   * none just now, ask again.
   */
  | { readonly ok: false; readonly error: PlatformError };

/**
 * One credential's access tokens. Renewals are single flight: callers that come meanwhile share the
 * one under way. `url` is the address for which a token is asked: one of the platform's hosts may
 * refuse what the others take. Never rejects.
 */
export interface TokenSource {
  /** Left out: the venue counts no requests. */
  readonly requests?: RequestBudget | undefined;
  /**
   * A token good now. Near its end a renewal is begun in the background, and the old one is handed
   * out until it is there.
   */
  get(url: string): Promise<TokenResult>;
  /**
   * The platform answered 401 to the token of `rejectedGeneration`: another one, and never this
   * one. `TOKEN_UNAVAILABLE` in the rest after renewals that did not help.
   */
  renew(rejectedGeneration: number, url: string): Promise<TokenResult>;
  /** The platform answered otherwise than 401 to this token. */
  taken(generation: number, url: string): void;
  /** Calls back with each new token; returns the way to unsubscribe. */
  onRenewed(callback: (token: AccessToken) => void): () => void;
}

/**
 * - `waiting`: no token yet, or none just now; the next attempt is due.
 * - `held`: there is a good one.
 * - `login_required`: the venue refuses the credential. A token may be held still; with its end
 *   it is over, and a person has to act before.
 */
export const tokenStates = ['waiting', 'held', 'login_required'] as const;

/** For `/status`. */
export interface TokenStatus {
  readonly state: (typeof tokenStates)[number];
  /** For the token in use; wall time, milliseconds since the epoch. */
  readonly expiresAtMs?: number;
  readonly lastError?: string;
}

/** A login's tokens. The later methods are left out if there is nothing to do. */
export interface LoginTokens extends TokenSource {
  status(): TokenStatus;
  start?(): Promise<void>;
  drain?(): Promise<void>;
  /** The login was stored anew: a refused one may work now. */
  retryNow?(): void;
  /** Another key is stored: its login has to be made anew. Rejects without the store. */
  isReplaced?(): Promise<boolean>;
}
