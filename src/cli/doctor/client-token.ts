import type { Pool } from 'pg';
import type { ConfigWith } from '../../config/config.ts';
import type { Secret } from '../../runtime/secret.ts';
import { MemoryTokenStore, type TokenStore } from '../../runtime/token-store.ts';
import { clientName, holderName } from '../../service/run/platform-parts.ts';
import { sqlstateOf } from '../../store/session/retry-transaction.ts';
import { PostgresTokenStore, tokenKeys } from '../../store/token-store.ts';
import { acquireToken, claimMs } from '../../venue/platform/acquire-token.ts';
import type { PlatformError } from '../../venue/platform-error.ts';
import { doctorPool, type HttpCheckDeps } from './finding.ts';

type ClientTokenConfig = ConfigWith<'platformUrl' | 'platformClientId' | 'platformClientSecret'>;

type ClientTokenResult =
  | {
      readonly ok: true;
      readonly accessToken: Secret;
      readonly expiresAtMs: number;
      /** It was there before, and a running service may use it. */
      readonly isShared: boolean;
    }
  /** `unread`: this login at the database may not read the token that is there. */
  | { readonly ok: false; readonly error: PlatformError | 'unread' };

/**
 * The client's token as the service has it: where each new token ends the one before, one for
 * doctor alone would end the service's. So a new one is asked for where there is none, in the same
 * way as a service does, and is left for it. Without a database to share by it is for doctor alone.
 */
export class ClientToken {
  private readonly store: TokenStore;
  private readonly deps: HttpCheckDeps;
  private readonly config: ClientTokenConfig;
  private readonly pool: Pool | undefined;
  private readonly holder: string;
  private generation = 0;

  constructor(deps: HttpCheckDeps, config: ClientTokenConfig) {
    this.deps = deps;
    this.config = config;
    this.holder = holderName(deps.random);
    const keys = tokenKeys(config);
    const { databaseUrl } = config;
    const pool = databaseUrl && keys && doctorPool(deps, databaseUrl);
    this.store = pool ? new PostgresTokenStore({ ...deps, ...keys, pool }) : new MemoryTokenStore(deps);
    this.pool = pool;
  }

  /** A newer one than the last that this handed out, if there was one. */
  async next(): Promise<ClientTokenResult> {
    const { clock } = this.deps;
    try {
      const stored = await this.store.load(clientName);
      const isGood = stored?.accessToken !== undefined && stored.expiresAtMs > clock.nowMs() + leastLeftMs;
      if (isGood && stored.generation > this.generation) {
        this.generation = stored.generation;
        return { ok: true, accessToken: stored.accessToken, expiresAtMs: stored.expiresAtMs, isShared: true };
      }
      // Asked first, since a server that takes no writes can't share a new one.
      await this.store.claim(clientName, this.holder, claimMs);
    } catch (error) {
      // `insufficient_privilege` (Postgres, "Error Codes").
      if (sqlstateOf(error) === '42501') return { ok: false, error: 'unread' };
      // No service works without such a database either, so none loses its token.
      return this.acquire(new MemoryTokenStore(this.deps));
    }
    return this.acquire(this.store);
  }

  async close(): Promise<void> {
    await this.pool?.end().catch(() => undefined);
  }

  private async acquire(store: TokenStore): Promise<ClientTokenResult> {
    const { platformUrl: baseUrl, platformClientId: clientId, platformClientSecret: clientSecret } = this.config;
    const result = await acquireToken(
      { ...this.deps, store },
      {
        name: clientName,
        holder: this.holder,
        baseUrl,
        grant: 'client_credentials',
        credential: { clientId, clientSecret },
      },
      this.generation,
      {},
    );
    if (!result.ok) return result;
    this.generation = result.token.generation;
    const { accessToken, expiresAtMs } = result.token;
    return { ok: true, accessToken, expiresAtMs, isShared: false };
  }
}

/** The checks that follow take less. */
const leastLeftMs = 5_000;
