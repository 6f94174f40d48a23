import type { Clock } from '../runtime/clock.ts';
import type { Secret } from '../runtime/secret.ts';
import type { PlatformError } from './platform-error.ts';
import type { AccessToken, TokenResult, TokenSource } from './tokens.ts';

/**
 * A key that was refused is tried again after 5, 10, 20 … 60 s: no other takes its place by
 * itself, and a venue in trouble may refuse a good one.
 */
const [firstRestMs, longestRestMs] = [5_000, 60_000];

/**
 * A key as a source of tokens: one token, for ever. `refusal`: what a person has to do once the
 * venue refuses it.
 */
export class KeySource implements TokenSource {
  private readonly token: AccessToken;
  /** Since when, and the rest after it. Undefined: the last answer was not a refusal. */
  private refused: { readonly atMs: number; readonly restMs: number } | undefined;
  private readonly clock: Clock;
  private readonly error: PlatformError;

  constructor(clock: Clock, secret: Secret, refusal: string) {
    this.clock = clock;
    this.error = { code: 'LOGIN_REQUIRED', message: refusal, retryable: false, sent: 'no' };
    this.token = { secret, generation: 1, expiresAtMs: Number.POSITIVE_INFINITY };
  }

  /** The last answer refused it. */
  get isRefused(): boolean {
    return this.refused !== undefined;
  }

  async get(): Promise<TokenResult> {
    const { atMs = 0, restMs = 0 } = this.refused ?? {};
    return this.clock.monotonicMs() - atMs < restMs
      ? { ok: false, error: this.error }
      : { ok: true, token: this.token };
  }

  async renew(): Promise<TokenResult> {
    const atMs = this.clock.monotonicMs();
    const { atMs: beforeMs, restMs } = this.refused ?? { atMs, restMs: 0 };
    // An answer to a request from before the refusal says nothing new.
    const isNew = atMs - beforeMs >= restMs;
    if (isNew) this.refused = { atMs, restMs: Math.min(longestRestMs, Math.max(firstRestMs, 2 * restMs)) };
    return { ok: false, error: this.error };
  }

  taken(): void {
    this.refused = undefined;
  }

  onRenewed(): () => void {
    return () => undefined;
  }
}
