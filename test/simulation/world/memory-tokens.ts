import type { Clock } from '../../../src/runtime/clock.ts';
import { Secret } from '../../../src/runtime/secret.ts';
import type { AccessToken, TokenResult, TokenSource } from '../../../src/venue/tokens.ts';
import type { Host } from '../host.ts';

/** Which tokens the platform takes. */
export class MemoryTokens {
  /** Nobody gets a token before a person has signed in. */
  loginRequired = false;
  private issued = 0;
  private revokedUpTo = 0;

  issue(): string {
    this.issued += 1;
    return `t${this.issued}`;
  }

  isGood(token: string): boolean {
    return Number(token.slice(1)) > this.revokedUpTo;
  }

  revokeAll(): void {
    this.revokedUpTo = this.issued;
  }
}

/** As long as the first rests of `RefreshingTokenSource`. */
const refusedForMs = 400;

/**
 * One process's tokens: got when first needed, renewed when told to or when one was refused. A
 * failure is answered at once, from memory, until the next try is due.
 */
export class HostTokens implements TokenSource {
  private current: AccessToken | undefined;
  private generation = 0;
  private refusal: { readonly result: TokenResult; readonly untilMs: number } | undefined;
  private renewing: Promise<TokenResult> | undefined;
  private readonly listeners = new Set<(token: AccessToken) => void>();
  private readonly host: Host;
  private readonly world: Clock;
  private readonly tokens: MemoryTokens;

  constructor(deps: { host: Host; world: Clock; tokens: MemoryTokens }) {
    this.host = deps.host;
    this.world = deps.world;
    this.tokens = deps.tokens;
  }

  async get(): Promise<TokenResult> {
    return this.current === undefined ? this.fetch() : { ok: true, token: this.current };
  }

  async renew(rejectedGeneration: number): Promise<TokenResult> {
    if (this.current !== undefined && this.current.generation > rejectedGeneration)
      return { ok: true, token: this.current };
    return this.fetch();
  }

  taken(): void {}

  onRenewed(callback: (token: AccessToken) => void): () => void {
    this.listeners.add(callback);
    return () => this.listeners.delete(callback);
  }

  /** As it does ahead of expiry. */
  renewAhead(): void {
    this.host.deliver(() => void this.fetch());
  }

  private async fetch(): Promise<TokenResult> {
    if (this.refusal !== undefined && this.world.monotonicMs() < this.refusal.untilMs) return this.refusal.result;
    this.renewing ??= this.ask().finally(() => {
      this.renewing = undefined;
    });
    return this.renewing;
  }

  private async ask(): Promise<TokenResult> {
    await this.host.answer(this.world.sleep(2));
    if (this.tokens.loginRequired) {
      const error = { code: 'LOGIN_REQUIRED', message: 'sign in', retryable: false, sent: 'yes' } as const;
      this.refusal = { result: { ok: false, error }, untilMs: this.world.monotonicMs() + refusedForMs };
      return this.refusal.result;
    }
    this.refusal = undefined;
    this.generation += 1;
    const secret = new Secret(this.tokens.issue());
    const token = { secret, generation: this.generation, expiresAtMs: this.host.clock.nowMs() + 3_600_000 };
    this.current = token;
    for (const listener of [...this.listeners]) listener(token);
    return { ok: true, token };
  }
}
