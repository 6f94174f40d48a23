import type { Logger } from '../../observability/logger.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { Backoff } from '../../runtime/backoff.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { Secret } from '../../runtime/secret.ts';
import type { Service } from '../../runtime/supervisor.ts';
import type { CredentialList, StoredToken, Token, TokenStore } from '../../runtime/token-store.ts';
import { SingleFlight } from '../../runtime/waiting.ts';
import { type AcquireDeps, acquireToken, type CredentialOptions, type PendingSave } from './acquire-token.ts';
import type { PlatformError } from './platform-error.ts';

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
 * one under way. Never rejects.
 */
export interface TokenSource {
  /**
   * A token good now. Near its end a renewal is begun in the background, and the old one is handed
   * out until it is there.
   */
  get(): Promise<TokenResult>;
  /**
   * The platform answered 401 to the token of `rejectedGeneration`: another one, unless a newer one
   * is there already. The same one where it came just now in place of a refused one: then what
   * refuses it is not its age.
   */
  renew(rejectedGeneration: number): Promise<TokenResult>;
  /** Calls back with each new token; returns the way to unsubscribe. */
  onRenewed(callback: (token: AccessToken) => void): () => void;
}

interface Held extends AccessToken {
  readonly storedGeneration: number;
  /** By the monotonic clock: a step of the wall clock neither ends nor prolongs a token. */
  readonly endsAtMs: number;
  readonly renewAtMs: number;
  readonly adoptedAtMs: number;
}

/**
 * - `waiting`: no token yet, or none just now; the next attempt is due.
 * - `held`: there is a good one.
 * - `login_required`: the platform refuses the credential. A token may be held still; with its end
 *   it is over, and a person has to act before.
 */
export const tokenStates = ['waiting', 'held', 'login_required'] as const;
type TokenState = (typeof tokenStates)[number];

/** For `/status`. */
export interface TokenStatus {
  readonly state: TokenState;
  /** For the token in use; wall time, milliseconds since the epoch. */
  readonly expiresAtMs?: number;
  readonly lastError?: string;
}

/** Renewed when a fifth of its life is left, at most five minutes ahead. */
const aheadShare = 0.2;
const aheadMaxMs = 300_000;
/**
 * One of the platform's hosts may refuse tokens that the others take. Each renewal replaces the
 * connections of all. So from the second token refused this soon on there is a rest between two
 * renewals, twice as long each time.
 */
const refusedSoonMs = 120_000;
const firstRestMs = 1_000;
const mostRestMs = 60_000;

/**
 * One credential's tokens, renewed ahead of their end.
 *
 * States: *none* → *held* → *ending* (within a fifth of its end: handed out, a renewal is under way
 * or waits for its backoff) → *ended*. A failed renewal is answered with its reason until the next
 * attempt is due (full jitter, at most 60 s). So a thousand callers make one request.
 *
 * Invariant: at most one renewal runs in this process, and by the store's claim at most one in all.
 * A token answered with 401 is never handed out again once `renew` was called for it, but in the
 * rest after renewals that did not help.
 */
export class RefreshingTokenSource implements TokenSource, Service {
  readonly name = 'token-source';
  private held: Held | undefined;
  private rejectedGeneration = 0;
  /** Renewals one after the other that did not help. */
  private vain = 0;
  private restUntilMs = Number.NEGATIVE_INFINITY;
  private lastError: PlatformError | undefined;
  private notBeforeMs = Number.NEGATIVE_INFINITY;
  private timer: Timer | undefined;
  private running = false;
  private generation = 0;
  private readonly pending: PendingSave = {};
  private readonly flight = new SingleFlight<TokenResult>();
  private readonly callbacks = new Set<(token: AccessToken) => void>();
  private readonly backoff: Backoff;
  private readonly clock: Clock;
  private readonly log: Logger;
  private readonly metrics: Metrics['platform'];
  private readonly acquireDeps: AcquireDeps;
  private readonly options: CredentialOptions;

  constructor(
    deps: AcquireDeps & { random: Random; log: Logger; metrics: Metrics['platform'] },
    options: CredentialOptions,
  ) {
    this.clock = deps.clock;
    this.log = deps.log;
    this.metrics = deps.metrics;
    this.acquireDeps = deps;
    this.options = options;
    this.backoff = new Backoff(deps.random, { firstMs: 500, maxMs: 60_000 });
  }

  /** From now on tokens are renewed ahead of their end, asked for or not. */
  async start(): Promise<void> {
    this.running = true;
    this.arm();
  }

  async drain(): Promise<void> {
    this.running = false;
    this.timer?.cancel();
  }

  async get(): Promise<TokenResult> {
    const held = this.usable();
    if (held === undefined) return this.renewal();
    if (this.clock.monotonicMs() >= held.renewAtMs) void this.renewal();
    return { ok: true, token: held };
  }

  async renew(rejectedGeneration: number): Promise<TokenResult> {
    const nowMs = this.clock.monotonicMs();
    const refused = this.usable();
    if (refused?.generation === rejectedGeneration) {
      if (nowMs < this.restUntilMs) return { ok: true, token: refused };
      this.vain = nowMs - refused.adoptedAtMs < refusedSoonMs ? this.vain + 1 : 0;
      this.restUntilMs = nowMs + (this.vain < 2 ? 0 : Math.min(mostRestMs, firstRestMs * 2 ** (this.vain - 2)));
    }
    this.rejectedGeneration = Math.max(this.rejectedGeneration, rejectedGeneration);
    const held = this.usable();
    if (held !== undefined) return { ok: true, token: held };
    const result = await this.renewal();
    // It may have been under way already when the 401 came, and have ended with the very token that
    // was refused.
    return result.ok && result.token.generation <= this.rejectedGeneration ? this.renewal() : result;
  }

  onRenewed(callback: (token: AccessToken) => void): () => void {
    this.callbacks.add(callback);
    return () => this.callbacks.delete(callback);
  }

  /** A person has signed in again: a credential refused before may work now. */
  retryNow(): void {
    this.notBeforeMs = Number.NEGATIVE_INFINITY;
    this.backoff.reset();
    void this.renewal();
  }

  status(): TokenStatus {
    const held = this.usable();
    const ended = this.lastError?.code === 'LOGIN_REQUIRED';
    return {
      state: ended ? 'login_required' : held === undefined ? 'waiting' : 'held',
      ...(held !== undefined && { expiresAtMs: held.expiresAtMs }),
      ...(this.lastError !== undefined && { lastError: this.lastError.message }),
    };
  }

  private usable(): Held | undefined {
    const held = this.held;
    if (held === undefined || held.generation <= this.rejectedGeneration) return undefined;
    return this.clock.monotonicMs() < held.endsAtMs ? held : undefined;
  }

  private renewal(): Promise<TokenResult> {
    return this.flight.run(async () => {
      if (this.lastError !== undefined && this.clock.monotonicMs() < this.notBeforeMs) {
        return { ok: false, error: this.lastError };
      }
      const result = await acquireToken(this.acquireDeps, this.options, this.held?.storedGeneration ?? 0, this.pending);
      this.metrics.tokenRefresh.inc({
        outcome: result.ok ? 'ok' : result.error.code === 'LOGIN_REQUIRED' ? 'refused' : 'failed',
      });
      return result.ok ? this.adopt(result.token) : this.postpone(result.error);
    });
  }

  private adopt(token: StoredToken): TokenResult {
    const lifeMs = Math.max(0, token.expiresAtMs - this.clock.nowMs());
    const endsAtMs = this.clock.monotonicMs() + lifeMs;
    this.generation += 1;
    this.held = {
      secret: token.accessToken,
      generation: this.generation,
      expiresAtMs: token.expiresAtMs,
      storedGeneration: token.generation,
      endsAtMs,
      adoptedAtMs: this.clock.monotonicMs(),
      renewAtMs: endsAtMs - Math.min(aheadMaxMs, lifeMs * aheadShare),
    };
    this.lastError = undefined;
    this.backoff.reset();
    this.arm();
    for (const callback of this.callbacks) callback(this.held);
    return { ok: true, token: this.held };
  }

  private postpone(error: PlatformError): TokenResult {
    const waitMs = Math.max(this.backoff.nextMs(), Math.min(mostRestMs, error.retryAfterMs ?? 0));
    this.notBeforeMs = this.clock.monotonicMs() + waitMs;
    if (this.lastError?.code !== error.code) {
      this.log.warn({ code: error.code, status: error.status, reason: error.message }, 'no new access token');
    }
    this.lastError = error;
    this.arm();
    return { ok: false, error };
  }

  private arm(): void {
    this.timer?.cancel();
    if (!this.running) return;
    const dueMs = Math.max(this.held?.renewAtMs ?? 0, this.lastError === undefined ? 0 : this.notBeforeMs);
    // Never sooner than 100 ms: a platform that hands out tokens without life must not make this a
    // loop.
    this.timer = this.clock.after(Math.max(100, dueMs - this.clock.monotonicMs()), () => void this.renewal());
  }
}

interface StoreLoginDeps {
  readonly clock: Clock;
  readonly store: TokenStore & CredentialList;
}

const claimMs = 20_000;
const patienceMs = 30_000;
const pollMs = 100;

/**
 * Replaces the credential's tokens by a sign-in's. Under its claim, like a refresh. Without that, a
 * refresh under way would find its own save refused, or replace the new login by the old. False:
 * another process held the claim all the time.
 */
export async function storeLogin(
  deps: StoreLoginDeps,
  credential: string,
  holder: string,
  token: Token,
): Promise<boolean> {
  const { clock, store } = deps;
  const giveUpMs = clock.monotonicMs() + patienceMs;
  while (!(await store.claim(credential, holder, claimMs))) {
    if (clock.monotonicMs() >= giveUpMs) return false;
    await clock.sleep(pollMs);
  }
  try {
    // Not by `load`: a token can still be replaced if the key it was sealed with is gone.
    const before = (await store.stored(credential)).find((known) => known.credential === credential);
    return await store.save(credential, before?.generation ?? 0, token);
  } finally {
    await store.unclaim(credential, holder);
  }
}
