import type { Clock } from '../runtime/clock.ts';
import type { CredentialList, Token, TokenStore } from './token-store.ts';

export interface StoreLoginDeps {
  readonly clock: Clock;
  readonly store: TokenStore & CredentialList;
}

const claimMs = 20_000;
const patienceMs = 30_000;
const pollMs = 100;

/**
 * Replaces the credential's tokens by those of a sign-in. Under its claim, like a refresh: one that is under way would otherwise find its own
 * save refused, or replace the new login by the old. False: another process held the claim all the time.
 */
export async function storeLogin(deps: StoreLoginDeps, credential: string, holder: string, token: Token): Promise<boolean> {
  const { clock, store } = deps;
  const giveUpMs = clock.monotonicMs() + patienceMs;
  while (!(await store.claim(credential, holder, claimMs))) {
    if (clock.monotonicMs() >= giveUpMs) return false;
    await clock.sleep(pollMs);
  }
  try {
    // Not by `load`: a token that was sealed with a key that is gone can still be replaced.
    const before = (await store.stored(credential)).find((known) => known.credential === credential);
    return await store.save(credential, before?.generation ?? 0, token);
  } finally {
    await store.unclaim(credential, holder);
  }
}
