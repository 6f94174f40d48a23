import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * 256 bits for a code, a refresh token or a sign-in step. Not the injected randomness: a seed could
 * repeat it.
 */
export function opaqueToken(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * The key for an opaque token in memory: a reader of our memory finds no working token, and a
 * look-up's time gives nothing away.
 */
export function fingerprint(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

/** Equal texts. The time does not show how much is equal. */
export function equalSecrets(expected: string, given: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(expected), digest(given));
}

/**
 * A user's consent to one client, given once: everything issued from one authorization code hangs
 * on it and ends with it.
 */
export interface Login {
  readonly loginId: string;
  readonly clientId: string;
  readonly username: string;
  readonly scopes: ReadonlySet<string>;
}
