import { hash, timingSafeEqual } from 'node:crypto';
import type { Log } from '../../observability/log.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import type { PrincipalStore, PrincipalToken } from '../../store/principals.ts';
import { type Principal, principalOf } from './principal.ts';

export interface StaticTokensDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Absent: the configured ones are all there are. */
  readonly store?: PrincipalStore;
}

export interface StaticTokensOptions {
  readonly configured: readonly PrincipalToken[];
  /** How long a new or revoked token of the database may take to count. */
  readonly refreshEveryMs: number;
}

interface Known {
  readonly digest: Buffer;
  readonly principal: Principal;
  readonly expiresAtMs: number;
}

/**
 * Tokens that don't say who they are for: configured ones, and those of the database as they were at the last look.
 *
 * States: idle → refreshing by time (`start`) → stopped. A look that fails keeps what the one before it showed: without the database nothing could be read or
 * journaled for them anyway. The end of a token is judged by this machine's clock, so it counts whether the database answers or not.
 */
export class StaticTokens {
  private readonly configured: readonly Known[];
  private stored: readonly Known[] = [];
  private timer: Timer | undefined;
  private stopped = false;
  private failing = false;
  private readonly deps: StaticTokensDeps;
  private readonly refreshEveryMs: number;

  constructor(deps: StaticTokensDeps, options: StaticTokensOptions) {
    this.deps = deps;
    this.refreshEveryMs = options.refreshEveryMs;
    this.configured = options.configured.map(knownOf);
  }

  /** Every known token is compared, in constant time each: how long it takes tells nothing about which came near. */
  find(token: string): Principal | 'expired' | undefined {
    const digest = hash('sha256', token, 'buffer');
    let found: Known | undefined;
    for (const known of this.configured) if (timingSafeEqual(known.digest, digest)) found = known;
    for (const known of this.stored) if (timingSafeEqual(known.digest, digest)) found ??= known;
    return found !== undefined && found.expiresAtMs <= this.deps.clock.nowMs() ? 'expired' : found?.principal;
  }

  /** Resolves after the first look, whatever came of it. */
  async start(): Promise<void> {
    const { store, clock } = this.deps;
    if (store === undefined || this.stopped) return;
    await this.refresh(store);
    if (!this.stopped) this.timer = clock.after(this.refreshEveryMs, () => void this.start());
  }

  stop(): void {
    this.stopped = true;
    this.timer?.cancel();
  }

  private async refresh(store: PrincipalStore): Promise<void> {
    try {
      this.stored = (await store.active()).map(knownOf);
      this.failing = false;
    } catch (error) {
      if (!this.failing)
        this.deps.log.warn({ err: error }, 'the tokens of the database could not be read; those known stay in force');
      this.failing = true;
    }
  }
}

function knownOf({ name, sha256, scopes, accounts, expiresAtMs }: PrincipalToken): Known {
  const digest = Buffer.from(sha256, 'hex');
  if (digest.length !== 32) throw new Error(`the hash of a token of ${name} is not a SHA-256`);
  return { digest, principal: principalOf(name, scopes, accounts), expiresAtMs: expiresAtMs ?? Number.POSITIVE_INFINITY };
}
