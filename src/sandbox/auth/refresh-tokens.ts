import type { Clock } from '../../runtime/clock.ts';
import { fingerprint, type Login, opaqueToken } from './opaque-token.ts';

/**
 * - `none`: the same refresh token stays good, and no other is returned.
 * - `rotate`: each use returns a new one and ends the old; an old one that comes again ends the
 *   family.
 * - `grace`: as `rotate`, but an old one may come again for a while, as it does after a lost
 *   answer.
 */
export const refreshModes = ['none', 'rotate', 'grace'] as const;
export type RefreshMode = (typeof refreshModes)[number];

interface RefreshOptions {
  readonly mode: RefreshMode;
  readonly graceSeconds: number;
  /** Since its issue, unused (RFC 9700, section 4.14.2). */
  readonly lifetimeSeconds: number;
}

interface Entry {
  readonly login: Login;
  readonly endsAtMs: number;
  usedAtMs: number | undefined;
}

type RefreshResult =
  /** `refreshToken` is left out if the old one stays. */
  | { readonly kind: 'good'; readonly login: Login; readonly refreshToken?: string }
  | { readonly kind: 'refused'; readonly reason: string };

const maxKept = 200_000;

/**
 * Refresh tokens, a family for each login.
 *
 * A token's states: issued → used (but in mode `none`) → gone with its family, or expired.
 * Invariant: after an old token came again (out of its grace), no token in the family is good any
 * more, and `onReused` was called with the login, so that its access tokens end too (RFC 9700,
 * section 4.14.2).
 */
export class RefreshTokens {
  /** For the refreshes to come. */
  mode: RefreshMode;
  private readonly entries = new Map<string, Entry>();
  private readonly revoked = new Set<string>();
  private readonly clock: Clock;
  private readonly onReused: (login: Login) => void;
  private readonly options: RefreshOptions;

  constructor(deps: { clock: Clock; onReused: (login: Login) => void }, options: RefreshOptions) {
    this.clock = deps.clock;
    this.onReused = deps.onReused;
    this.options = options;
    this.mode = options.mode;
  }

  /** A family's first token, or its next. */
  issue(login: Login): string {
    this.forgetOld();
    const token = opaqueToken();
    const endsAtMs = this.clock.monotonicMs() + this.options.lifetimeSeconds * 1000;
    this.entries.set(fingerprint(token), { login, endsAtMs, usedAtMs: undefined });
    return token;
  }

  /** The owner, without using it: another fault in the request must not cost the token. */
  peek(token: string, clientId: string): Login | undefined {
    const entry = this.entries.get(fingerprint(token));
    return entry === undefined || entry.login.clientId !== clientId ? undefined : entry.login;
  }

  redeem(token: string, clientId: string): RefreshResult {
    const entry = this.entries.get(fingerprint(token));
    if (entry === undefined || entry.login.clientId !== clientId) return refused('The refresh token is unknown');
    const nowMs = this.clock.monotonicMs();
    if (this.revoked.has(entry.login.loginId)) return refused('The refresh token was revoked');
    if (nowMs >= entry.endsAtMs) return refused('The refresh token has expired');
    if (this.mode === 'none') return { kind: 'good', login: entry.login };
    if (entry.usedAtMs !== undefined && !this.inGrace(entry.usedAtMs, nowMs)) {
      this.revoke((login) => login.loginId === entry.login.loginId);
      this.onReused(entry.login);
      return refused('The refresh token was used before; its family is revoked');
    }
    entry.usedAtMs ??= nowMs;
    return { kind: 'good', login: entry.login, refreshToken: this.issue(entry.login) };
  }

  /** Ends families. Returns how many. */
  revoke(which: (login: Login) => boolean): number {
    const before = this.revoked.size;
    for (const { login } of this.entries.values()) if (which(login)) this.revoked.add(login.loginId);
    return this.revoked.size - before;
  }

  /** True once the login's family was revoked. */
  ended(loginId: string): boolean {
    return this.revoked.has(loginId);
  }

  private inGrace(usedAtMs: number, nowMs: number): boolean {
    return this.mode === 'grace' && nowMs - usedAtMs < this.options.graceSeconds * 1000;
  }

  private forgetOld(): void {
    for (const [key, entry] of this.entries) {
      if (entry.endsAtMs > this.clock.monotonicMs() && this.entries.size < maxKept) return;
      this.entries.delete(key);
    }
  }
}

function refused(reason: string): RefreshResult {
  return { kind: 'refused', reason };
}
