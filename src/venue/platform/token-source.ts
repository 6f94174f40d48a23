import type { Logger } from '../../observability/logger.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { Backoff } from '../../runtime/backoff.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { Service } from '../../runtime/supervisor.ts';
import type { CredentialList, StoredToken, TokenStore } from '../../runtime/token-store.ts';
import { SingleFlight } from '../../runtime/waiting.ts';
import type { PlatformError } from '../platform-error.ts';
import type { AccessToken, LoginTokens, TokenResult, TokenStatus } from '../tokens.ts';
import {
  type AcquireDeps,
  acquireToken,
  type CredentialOptions,
  claimMs,
  newerStored,
  type PendingSave,
} from './acquire-token.ts';
import type { ExchangeResult } from './exchange-token.ts';

interface Held extends AccessToken {
  /** Since then the platform gives this same text, whenever it is asked for another one. */
  readonly firstGeneration: number;
  readonly storedGeneration: number;
  /** By the monotonic clock: a step of the wall clock neither ends nor prolongs a token. */
  readonly endsAtMs: number;
  readonly renewAtMs: number;
  readonly adoptedAtMs: number;
}

/** Renewed when a fifth of its life is left, at most five minutes ahead. */
const aheadShare = 0.2;
const aheadMaxMs = 300_000;
/**
 * One host may refuse tokens that the others take, or one account's reads; or another program may
 * sign in as this client, and each new token ends the one before. Then a renewal does not help, and
 * it replaces the connections of all. So from the second token refused this soon on there is a rest
 * between two renewals, twice as long each time.
 */
const refusedSoonMs = 120_000;
const firstRestMs = 1_000;
const mostRestMs = 60_000;
/** A token that was just given is good for a moment, whatever its lifetime and the clocks say. */
const leastLifeMs = 1_000;
/** In the rest: a host that refuses the token so often in a row, for whatever, does not take it. */
const mostRefusals = 3;
const noHelp =
  'the platform refuses tokens soon after it gave them: a host of it does not take them, or each new token ends the one before and another program signs in as this client';

/**
 * One credential's tokens, renewed ahead of their end.
 *
 * States: *none* → *held* → *ending* (within a fifth of its end: handed out, a renewal is under way
 * or waits for its backoff) → *ended*. A failed renewal is answered with its reason until the next
 * attempt is due (full jitter, at most 60 s). So a thousand callers make one request.
 *
 * Invariant: at most one renewal runs in this process, and by the store's claim at most one in all.
 * A token answered with 401 is not handed out any more. In the rest after renewals that did not
 * help, its reporter has none, and the others have it until their host refuses it too.
 */
export class RefreshingTokenSource implements LoginTokens, Service {
  readonly name = 'token-source';
  private held: Held | undefined;
  private rejectedGeneration = 0;
  /** By host: how often it refused the newest token in a row. */
  private readonly refusals = new Map<string, { readonly generation: number; readonly times: number }>();
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

  async get(url: string): Promise<TokenResult> {
    const held = this.usableAt(url);
    if (held === undefined) return this.another(url);
    if (this.clock.monotonicMs() >= held.renewAtMs) void this.renewal();
    return { ok: true, token: held };
  }

  async renew(rejectedGeneration: number, url: string): Promise<TokenResult> {
    const { held } = this;
    if (held === undefined || rejectedGeneration < held.firstGeneration) return this.get(url);
    // As often as callers had it at once: only the first of them counts.
    if (this.usableAt(url) !== undefined) this.refused(held, url);
    return this.another(url);
  }

  taken(generation: number, url: string): void {
    if (this.refusals.size > 0 && generation === this.held?.generation) this.refusals.delete(hostOf(url));
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
    const lastError = this.lastError?.message ?? (this.isResting ? noHelp : undefined);
    return {
      state: ended ? 'login_required' : held === undefined ? 'waiting' : 'held',
      ...(held !== undefined && { expiresAtMs: held.expiresAtMs }),
      ...(lastError !== undefined && { lastError }),
    };
  }

  private usable(): Held | undefined {
    const { held } = this;
    if (held === undefined || held.generation <= this.rejectedGeneration) return undefined;
    return this.clock.monotonicMs() < held.endsAtMs ? held : undefined;
  }

  private usableAt(url: string): Held | undefined {
    const held = this.usable();
    return held === undefined || this.isRefusedAt(url, held) ? undefined : held;
  }

  private isRefusedAt(url: string, held: Held): boolean {
    const refusal = this.refusals.get(hostOf(url));
    if (refusal === undefined || refusal.times < mostRefusals) return false;
    // The same text was given again: its host may be tried once more, but not at once.
    return refusal.generation >= (this.isResting ? held.firstGeneration : held.generation);
  }

  private get isResting(): boolean {
    return this.clock.monotonicMs() < this.restUntilMs;
  }

  private refused(held: Held, url: string): void {
    const host = hostOf(url);
    const before = this.refusals.get(host);
    const times = before !== undefined && before.generation >= held.firstGeneration ? before.times + 1 : 1;
    this.refusals.set(host, { generation: held.generation, times });
    if (this.isResting) return;
    const nowMs = this.clock.monotonicMs();
    const soonMs = Math.min(refusedSoonMs, (held.endsAtMs - held.adoptedAtMs) / 2);
    this.rest(nowMs - held.adoptedAtMs < soonMs ? this.vain + 1 : 0);
    this.rejectedGeneration = held.generation;
  }

  private rest(vain: number): void {
    this.vain = vain;
    const restMs = vain < 2 ? 0 : Math.min(mostRestMs, firstRestMs * 2 ** (vain - 2));
    this.restUntilMs = this.clock.monotonicMs() + restMs;
    if (vain === 2) this.log.warn(noHelp);
  }

  /** For a caller that can't have the one that is held. */
  private async another(url: string): Promise<TokenResult> {
    const refused = this.usable();
    if (refused !== undefined && this.isResting) return this.ofAnotherProcess();
    // Its host refused it in the rest, which is over.
    if (refused !== undefined) this.refused(refused, url);
    const result = await this.renewal();
    return result.ok && this.held !== undefined && this.isRefusedAt(url, this.held) ? this.resting() : result;
  }

  /** The rest is between requests for a token: one that another process had is taken at once. */
  private ofAnotherProcess(): Promise<TokenResult> {
    return this.flight.run(async () => {
      const stored = await newerStored(this.acquireDeps, this.options, this.held?.storedGeneration ?? 0);
      return stored?.ok === true ? this.adopt(stored.token) : (stored ?? this.resting());
    });
  }

  private resting(): TokenResult {
    const retryAfterMs = Math.max(firstRestMs, this.restUntilMs - this.clock.monotonicMs());
    return {
      ok: false,
      error: { code: 'TOKEN_UNAVAILABLE', message: noHelp, retryable: true, retryAfterMs, sent: 'no' },
    };
  }

  private renewal(): Promise<TokenResult> {
    return this.flight.run(async () => {
      if (this.lastError !== undefined && this.clock.monotonicMs() < this.notBeforeMs) {
        return { ok: false, error: this.lastError };
      }
      const result = await acquireToken(this.acquireDeps, this.options, this.held?.storedGeneration ?? 0, this.pending);
      this.metrics.tokenRefresh.inc({
        result: result.ok ? 'ok' : result.error.code === 'LOGIN_REQUIRED' ? 'refused' : 'failed',
      });
      return result.ok ? this.adopt(result.token) : this.postpone(result.error);
    });
  }

  private adopt(token: StoredToken): TokenResult {
    const lifeMs = Math.max(leastLifeMs, token.expiresAtMs - this.clock.nowMs());
    const endsAtMs = this.clock.monotonicMs() + lifeMs;
    const before = this.held;
    const isSame = before?.secret.reveal() === token.accessToken.reveal();
    if (before !== undefined && isSame) this.givenAgain(before);
    this.generation += 1;
    this.held = {
      secret: token.accessToken,
      generation: this.generation,
      firstGeneration: before !== undefined && isSame ? before.firstGeneration : this.generation,
      expiresAtMs: token.expiresAtMs,
      storedGeneration: token.generation,
      endsAtMs,
      adoptedAtMs: this.clock.monotonicMs(),
      renewAtMs: endsAtMs - Math.min(aheadMaxMs, lifeMs * aheadShare),
    };
    this.lastError = undefined;
    this.backoff.reset();
    this.arm();
    // No connection has to be opened anew for the same text.
    if (!isSame) for (const callback of this.callbacks) callback(this.held);
    return { ok: true, token: this.held };
  }

  /**
   * The platform stands by what one of its hosts has refused: it is for the others, and after a
   * rest for that one.
   */
  private givenAgain({ generation, firstGeneration }: Held): void {
    if (generation > this.rejectedGeneration) return;
    for (const [host, refusal] of this.refusals)
      if (refusal.generation >= firstGeneration) this.refusals.set(host, { ...refusal, times: mostRefusals });
    this.rest(Math.max(this.vain + 1, 2));
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

function hostOf(url: string): string {
  return new URL(url).origin;
}

interface StoreLoginDeps {
  readonly clock: Clock;
  readonly store: TokenStore & CredentialList;
}

const patienceMs = 30_000;
const pollMs = 100;

/**
 * Replaces the credential's tokens by a sign-in's, which `obtain` asks for. Under its claim, like a
 * refresh, from before the platform is asked: the new tokens may end the old ones, and a service
 * that is refused meanwhile has to wait for the new ones. It would refresh the old login, and ask
 * a person to sign in again. `busy`: another process held the claim all the time.
 */
export async function storeLogin(
  deps: StoreLoginDeps,
  credential: string,
  holder: string,
  obtain: () => Promise<ExchangeResult>,
): Promise<ExchangeResult | 'busy'> {
  const { clock, store } = deps;
  const giveUpMs = clock.monotonicMs() + patienceMs;
  while (!(await store.claim(credential, holder, claimMs))) {
    if (clock.monotonicMs() >= giveUpMs) return 'busy';
    await clock.sleep(pollMs);
  }
  try {
    const obtained = await obtain();
    if (!obtained.ok) return obtained;
    // Not by `load`: a token can still be replaced if the key it was sealed with is gone.
    const before = (await store.stored(credential)).find((known) => known.credential === credential);
    return (await store.save(credential, before?.generation ?? 0, obtained.token)) ? obtained : 'busy';
  } finally {
    await store.unclaim(credential, holder);
  }
}
