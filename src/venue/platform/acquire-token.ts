import type { Clock } from '../../runtime/clock.ts';
import type { StoredToken, Token, TokenStore, UnreadableToken } from '../../runtime/token-store.ts';
import type { Http } from '../http.ts';
import type { PlatformError } from '../platform-error.ts';
import { type Credential, exchangeToken, type Grant } from './exchange-token.ts';

export interface AcquireDeps {
  readonly http: Http;
  readonly clock: Clock;
  readonly store: TokenStore;
}

export interface CredentialOptions {
  /** The name in the store: `client`, or a linked login. */
  readonly name: string;
  /** This process, among those sharing the store. */
  readonly holder: string;
  readonly baseUrl: string;
  readonly credential: Credential;
  /** `refresh`: a linked login with its refresh token in the store. */
  readonly grant: 'client_credentials' | 'refresh';
}

/**
 * A token the platform handed out, not stored yet because the store failed. The same object in
 * every call from one source.
 */
export interface PendingSave {
  saved?: { readonly replaces: number; readonly token: Token };
}

type AcquireResult =
  | { readonly ok: true; readonly token: StoredToken }
  | { readonly ok: false; readonly error: PlatformError };

/**
 * Longer than one exchange can take. So a claim is never taken over from a process still waiting
 * for the answer.
 */
export const claimMs = 20_000;
const waitForOthersMs = 12_000;
const pollMs = 250;

/**
 * A newer token than generation `beyond`: another process's, if one is stored by now, else by one
 * exchange under the claim. No store lock is held over HTTP. A rotated refresh token is stored
 * before its access token is used. If the store fails just then, the token waits in `pending` and
 * is stored first thing next time. A token sealed with another key is replaced if the client itself
 * can have a new one. A login is left as it is, for a person: it is still valid for a process with
 * the right key. Never rejects.
 */
export async function acquireToken(
  deps: AcquireDeps,
  options: CredentialOptions,
  beyond: number,
  pending: PendingSave,
): Promise<AcquireResult> {
  try {
    const claim = await claimOrAdopt(deps, options, beyond, pending);
    if (claim.kind === 'adopted') return { ok: true, token: claim.token };
    if (claim.kind === 'busy') return unavailable('another process is renewing the token');
    try {
      return await exchange(deps, options, claim.stored, beyond, pending);
    } finally {
      await giveBack(deps, options);
    }
  } catch (error) {
    return storeFailed(error);
  }
}

/**
 * A newer token than generation `beyond`, as another process has stored it. Undefined: there is
 * none. Never rejects.
 */
export async function newerStored(
  { store, clock }: AcquireDeps,
  { name }: CredentialOptions,
  beyond: number,
): Promise<AcquireResult | undefined> {
  try {
    const stored = await store.load(name);
    return isNewer(stored, beyond, clock) ? { ok: true, token: stored } : undefined;
  } catch (error) {
    return storeFailed(error);
  }
}

function isNewer(
  stored: StoredToken | UnreadableToken | undefined,
  beyond: number,
  clock: Clock,
): stored is StoredToken {
  return stored?.accessToken !== undefined && stored.generation > beyond && stored.expiresAtMs > clock.nowMs() + 1_000;
}

type Claim =
  | { readonly kind: 'claimed'; readonly stored: StoredToken | UnreadableToken | undefined }
  | { readonly kind: 'adopted'; readonly token: StoredToken }
  | { readonly kind: 'busy' };

async function claimOrAdopt(
  deps: AcquireDeps,
  options: CredentialOptions,
  beyond: number,
  pending: PendingSave,
): Promise<Claim> {
  const { store, clock } = deps;
  const { name, holder } = options;
  const giveUpMs = clock.monotonicMs() + waitForOthersMs;
  for (;;) {
    const claimed = await store.claim(name, holder, claimMs);
    if (claimed && pending.saved !== undefined) {
      await store.save(name, pending.saved.replaces, pending.saved.token);
      delete pending.saved;
    }
    const stored = await store.load(name);
    if (isNewer(stored, beyond, clock)) {
      if (claimed) await giveBack(deps, options);
      return { kind: 'adopted', token: stored };
    }
    if (claimed) return { kind: 'claimed', stored };
    if (clock.monotonicMs() >= giveUpMs) return { kind: 'busy' };
    await clock.sleep(pollMs);
  }
}

/**
 * A claim that cannot be given back ends by itself, and its token is just as good. The result must
 * not depend on this.
 */
async function giveBack({ store }: AcquireDeps, { name, holder }: CredentialOptions): Promise<void> {
  await store.unclaim(name, holder).catch(() => undefined);
}

async function exchange(
  deps: AcquireDeps,
  options: CredentialOptions,
  stored: StoredToken | UnreadableToken | undefined,
  beyond: number,
  pending: PendingSave,
): Promise<AcquireResult> {
  const grant = grantFor(options, stored);
  if (grant === undefined)
    return loginRequired(whyUnreadable(stored) ?? 'no user has signed in for this credential yet');
  const result = await exchangeToken(deps, options.baseUrl, options.credential, grant);
  if (!result.ok) {
    if (!result.refused) return { ok: false, error: { ...result.error, code: 'TOKEN_UNAVAILABLE', retryable: true } };
    // Our claim may have ended while we stood still: what was refused is then not the newest.
    const newest = await newerStored(deps, options, stored?.generation ?? 0);
    return newest ?? loginRequired(result.error.message, result.error.status);
  }
  const replaces = stored?.generation ?? 0;
  // Left out means: the one before stays good (specification, "Token response").
  const refreshToken = result.token.refreshToken ?? (options.grant === 'refresh' ? stored?.refreshToken : undefined);
  const token: Token = { ...result.token, ...(refreshToken !== undefined && { refreshToken }) };
  try {
    if (await deps.store.save(options.name, replaces, token))
      return { ok: true, token: { ...token, generation: replaces + 1 } };
  } catch (error) {
    // A client token can be had again at any time, so it need not be durable to be used.
    if (options.grant === 'client_credentials')
      return { ok: true, token: { ...token, generation: Math.max(beyond, replaces) } };
    pending.saved = { replaces, token };
    throw error;
  }
  const winner = await deps.store.load(options.name);
  return winner?.accessToken === undefined
    ? unavailable(whyUnreadable(winner) ?? 'the stored token vanished')
    : { ok: true, token: winner };
}

function whyUnreadable(stored: StoredToken | UnreadableToken | undefined): string | undefined {
  return stored !== undefined && 'unreadable' in stored ? stored.unreadable : undefined;
}

function grantFor(options: CredentialOptions, stored: StoredToken | UnreadableToken | undefined): Grant | undefined {
  if (options.grant === 'client_credentials') return { kind: 'client_credentials' };
  return stored?.refreshToken === undefined ? undefined : { kind: 'refresh', refreshToken: stored.refreshToken };
}

function loginRequired(message: string, status?: number): AcquireResult {
  const error = { code: 'LOGIN_REQUIRED', message, retryable: false, sent: 'yes' as const };
  return { ok: false, error: status === undefined ? error : { ...error, status } };
}

function unavailable(message: string): AcquireResult {
  return { ok: false, error: { code: 'TOKEN_UNAVAILABLE', message, retryable: true, sent: 'no' } };
}

function storeFailed(error: unknown): AcquireResult {
  return unavailable(`the token store failed: ${error instanceof Error ? error.message : 'unknown'}`);
}
