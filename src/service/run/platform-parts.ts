import { hostname } from 'node:os';
import type { Config, ConfigWith } from '../../config/config.ts';
import { Proxies } from '../../runtime/proxies.ts';
import type { Random } from '../../runtime/random.ts';
import { platformReads } from '../../venue/platform/platform-reads.ts';
import { platformVenue } from '../../venue/platform/platform-venue.ts';
import { RefreshingTokenSource } from '../../venue/platform/token-source.ts';
import { UndiciHttp } from '../../venue/platform/undici-http.ts';
import type { TokenSource } from '../../venue/tokens.ts';
import type { FollowedAccounts } from '../sources/account-access.ts';
import { Recorder } from './recorder.ts';
import type { Watched } from './watch-parts.ts';

/** The platform's settings. */
export type PlatformConfig = ConfigWith<'platformUrl' | 'platformStreamUrl' | 'platformClientId'>;

/** Undefined: the platform is not followed. `serve` has checked them. */
export function platformConfig(config: Config): PlatformConfig | undefined {
  return config.venues.includes('platform') ? (config as PlatformConfig) : undefined;
}

/** The client's own credential, in the store. */
export const clientName = 'client';

/** Names this process among those with the same lane or credential. */
export function holderName(random: Random): string {
  return `${hostname()}-${random.uuid().slice(0, 8)}`;
}

export interface Connected extends Watched {
  readonly outside: ReturnType<typeof outsideParts>;
}

/** HTTP to the venues, and the recorder for their rows. */
export function outsideParts({ clock, log, holder, watches }: Watched, config: Config) {
  const proxies = new Proxies(config);
  const http = watches.clocks.watching(new UndiciHttp({ clock, proxies }));
  const { record: folder, recordMb } = config;
  const recorder =
    folder === undefined ? undefined : new Recorder({ clock, log }, { folder, maxBytes: recordMb * 1_000_000, holder });
  return { http, proxies, recorder };
}

/**
 * How a credential signs in: its tokens, and reads with them. Without a staging address no
 * prediction orders are read.
 */
export function platformSignIn(made: Connected, config: PlatformConfig) {
  const { clock, random, log, holder, outside } = made;
  const { http } = outside;
  const metrics = made.metrics.platform;
  const { platformUrl: baseUrl, platformClientSecret: clientSecret } = config;
  const client = { clientId: config.platformClientId, ...(clientSecret !== undefined && { clientSecret }) };
  const addresses = { platformUrl: baseUrl, stagingUrl: config.platformStagingUrl ?? baseUrl };
  return async (name: string) => {
    const grant = name === clientName ? ('client_credentials' as const) : ('refresh' as const);
    const options = { name, holder, baseUrl, credential: client, grant };
    const tokens = new RefreshingTokenSource({ http, clock, store: made.store.tokens, random, log, metrics }, options);
    return { venue: platformVenue, tokens, reads: platformReads({ http, clock, random, tokens, metrics }, addresses) };
  };
}

/** The followed accounts, with the tokens to reach them. */
export interface EntryAccounts extends Pick<FollowedAccounts, 'hasListed' | 'account'> {
  /**
   * Tokens of the credential that follows the account. Undefined: none does, or the lane is not
   * held.
   */
  tokensFor(accountId: string): TokenSource | undefined;
}
