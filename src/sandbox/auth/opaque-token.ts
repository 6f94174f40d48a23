import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * 256 bits for a code, a refresh token or a step of a sign-in. Not the
 * injected randomness: a seed could repeat it.
 */
export function opaqueToken(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * Under which an opaque token is kept: a reader of our memory finds none that works, and the time
 * of a look-up gives nothing away.
 */
export function fingerprint(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

/** Equal texts, in a time that does not depend on where they differ. */
export function equalSecrets(expected: string, given: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(expected), digest(given));
}

/**
 * A user's consent to one client, given once: everything that is issued from one authorization code
 * hangs on it and ends with it.
 */
export interface Login {
  readonly loginId: string;
  readonly clientId: string;
  readonly username: string;
  readonly scopes: ReadonlySet<string>;
}
