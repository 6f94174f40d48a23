import type { Clock } from '../runtime/clock.ts';
import type { StoredToken, Token, TokenStore } from './token-store.ts';

/**
 * Tokens of this process alone, gone with it. Good for client credentials, where a new token can be had at any time; a rotating refresh token needs the
 * durable store.
 */
export class MemoryTokenStore implements TokenStore {
  private readonly tokens = new Map<string, StoredToken>();
  private readonly claims = new Map<string, { readonly holder: string; readonly untilMs: number }>();
  private readonly clock: Clock;

  constructor(deps: { clock: Clock }) {
    this.clock = deps.clock;
  }

  async claim(credential: string, holder: string, forMs: number): Promise<boolean> {
    const nowMs = this.clock.monotonicMs();
    const claim = this.claims.get(credential);
    if (claim !== undefined && claim.holder !== holder && claim.untilMs > nowMs) return false;
    this.claims.set(credential, { holder, untilMs: nowMs + forMs });
    return true;
  }

  async unclaim(credential: string, holder: string): Promise<void> {
    if (this.claims.get(credential)?.holder === holder) this.claims.delete(credential);
  }

  async load(credential: string): Promise<StoredToken | undefined> {
    return this.tokens.get(credential);
  }

  async save(credential: string, replaces: number, token: Token): Promise<boolean> {
    const generation = this.tokens.get(credential)?.generation ?? 0;
    if (generation !== replaces) return false;
    this.tokens.set(credential, { ...token, generation: generation + 1 });
    return true;
  }
}
