import type { Clock } from '../../runtime/clock.ts';
import { Secret } from '../../runtime/secret.ts';
import type { HttpRequest } from '../http.ts';
import type { PlatformError } from '../platform-error.ts';
import type { AccessToken, TokenResult, TokenSource } from '../tokens.ts';

interface KeyPair {
  readonly keyId: string;
  readonly secretKey: Secret;
}

/**
 * A key pair that was refused is tried again after 5, 10, 20 … 60 s: no other takes its place by
 * itself, and a venue in trouble may refuse a good one.
 */
const [firstRestMs, longestRestMs] = [5_000, 60_000];

const refused: PlatformError = {
  code: 'LOGIN_REQUIRED',
  message: 'Alpaca refuses the key pair: make a new one, or take that of the right environment (paper or live)',
  retryable: false,
  sent: 'no',
};

/** A key pair as a source of tokens: one token, `<key id>:<secret key>`, for ever. */
export class KeySource implements TokenSource {
  private readonly token: AccessToken;
  /** Since when, and the rest after it. Undefined: the last answer was not a refusal. */
  private refused: { readonly atMs: number; readonly restMs: number } | undefined;
  private readonly clock: Clock;

  constructor(clock: Clock, { keyId, secretKey }: KeyPair) {
    this.clock = clock;
    const secret = new Secret(`${keyId}:${secretKey.reveal()}`);
    this.token = { secret, generation: 1, expiresAtMs: Number.POSITIVE_INFINITY };
  }

  /** The last answer was that it is not good. */
  get isRefused(): boolean {
    return this.refused !== undefined;
  }

  async get(): Promise<TokenResult> {
    const { atMs = 0, restMs = 0 } = this.refused ?? {};
    return this.clock.monotonicMs() - atMs < restMs ? { ok: false, error: refused } : { ok: true, token: this.token };
  }

  async renew(): Promise<TokenResult> {
    const atMs = this.clock.monotonicMs();
    const { atMs: beforeMs, restMs } = this.refused ?? { atMs, restMs: 0 };
    // An answer to a request from before the refusal says nothing new.
    const isNew = atMs - beforeMs >= restMs;
    if (isNew) this.refused = { atMs, restMs: Math.min(longestRestMs, Math.max(firstRestMs, 2 * restMs)) };
    return { ok: false, error: refused };
  }

  taken(): void {
    this.refused = undefined;
  }

  onRenewed(): () => void {
    return () => undefined;
  }
}

/** The headers of a request with this credential. */
export function signRequest(credential: Secret): HttpRequest['headers'] {
  const { keyId, secretKey } = keyPairOf(credential);
  return { 'apca-api-key-id': keyId, 'apca-api-secret-key': secretKey };
}

/** A key's id has no colon. */
export function keyPairOf(credential: Secret): KeyPair {
  const text = credential.reveal();
  const at = text.indexOf(':');
  return { keyId: text.slice(0, at), secretKey: new Secret(text.slice(at + 1)) };
}
