import { hostname } from 'node:os';
import type { ConfigWith } from '../../config/config.ts';
import { Proxies } from '../../runtime/proxies.ts';
import type { Random } from '../../runtime/random.ts';
import type { CredentialOptions } from '../../venue/platform/acquire-token.ts';
import { platformReads } from '../../venue/platform/platform-reads.ts';
import { platformVenue } from '../../venue/platform/platform-venue.ts';
import { RefreshingTokenSource } from '../../venue/platform/token-source.ts';
import { UndiciHttp } from '../../venue/platform/undici-http.ts';
import type { TokenSource } from '../../venue/tokens.ts';
import type { FollowedAccounts } from '../sources/account-access.ts';
import { Recorder } from './recorder.ts';
import type { Watched } from './watch-parts.ts';

export type PlatformConfig = ConfigWith<'platformUrl' | 'platformStreamUrl' | 'platformClientId'>;

/** Names this process among those with the same lane or credential. */
export function holderName(random: Random): string {
  return `${hostname()}-${random.uuid().slice(0, 8)}`;
}

export interface Connected extends Watched {
  readonly platform: ReturnType<typeof platformParts>;
}

/**
 * Everything that speaks HTTP with the platform, and the recorder of its rows. Without a staging
 * address no prediction orders are read.
 */
export function platformParts(made: Watched, config: PlatformConfig) {
  const { clock, random, log, holder } = made;
  const store = made.store.tokens;
  const metrics = made.metrics.platform;
  const proxies = new Proxies(config);
  const http = made.watches.clocks.watching(new UndiciHttp({ clock, proxies }));
  const { platformUrl: baseUrl, platformClientSecret: clientSecret } = config;
  const client = { clientId: config.platformClientId, ...(clientSecret !== undefined && { clientSecret }) };
  const addresses = { platformUrl: baseUrl, stagingUrl: config.platformStagingUrl ?? baseUrl };
  /** One credential's tokens, and the reads that use them. */
  const signedIn = (name: string, grant: CredentialOptions['grant']) => {
    const options = { name, holder, baseUrl, credential: client, grant };
    const tokens = new RefreshingTokenSource({ http, clock, store, random, log, metrics }, options);
    return { venue: platformVenue, tokens, reads: platformReads({ http, clock, random, tokens, metrics }, addresses) };
  };
  const { record: folder, recordMb } = config;
  const recorder =
    folder === undefined ? undefined : new Recorder({ clock, log }, { folder, maxBytes: recordMb * 1_000_000, holder });
  return { http, proxies, signedIn, recorder };
}

/** The followed accounts, with the tokens to reach them. */
export interface EntryAccounts extends Pick<FollowedAccounts, 'hasListed' | 'account'> {
  /**
   * Tokens of the credential that follows the account. Undefined: none does, or the lane is not
   * held.
   */
  tokensFor(accountId: string): TokenSource | undefined;
}
