import type { Secret } from '../runtime/secret.ts';
import type { PlatformError } from './platform-error.ts';

export interface AccessToken {
  readonly secret: Secret;
  /** Rises with every new token of this source, in this process. */
  readonly generation: number;
  /** Wall time, milliseconds since the epoch. */
  readonly expiresAtMs: number;
}

export type TokenResult =
  | { readonly ok: true; readonly token: AccessToken }
  /** Code `LOGIN_REQUIRED`: a person has to sign in or repair the credential. `TOKEN_UNAVAILABLE`: none just now, ask again. */
  | { readonly ok: false; readonly error: PlatformError };

/** Access tokens of one credential. Renewals are single flight: callers that come meanwhile share the one under way. Never rejects. */
export interface TokenSource {
  /** A token that is good now. Near its end a renewal is begun in the background, and the old one is handed out until it is there. */
  get(): Promise<TokenResult>;
  /** The platform answered 401 to the token of `rejectedGeneration`: another one, unless a newer one is there already. */
  renew(rejectedGeneration: number): Promise<TokenResult>;
  /** Calls back with each new token; returns the way to unsubscribe. */
  onRenewed(callback: (token: AccessToken) => void): () => void;
}
