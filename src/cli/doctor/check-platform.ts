import type { Config } from '../../config/config.ts';
import { exchangeToken } from '../../platform/exchange-token.ts';
import type { Http } from '../../platform/http.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Secret } from '../../runtime/secret.ts';
import { checkAccounts } from './check-accounts.ts';
import { checkClock } from './check-clock.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

export interface PlatformFindings {
  readonly findings: readonly Finding[];
  /** For the checks that come after; absent when the sign-in failed. */
  readonly accessToken?: Secret;
}

export interface PlatformCheckDeps {
  readonly http: Http;
  readonly clock: Clock;
}

/** Reach, clock, sign-in by client credentials, accounts and order lists. */
export async function checkPlatform(config: Config, { http, clock }: PlatformCheckDeps): Promise<PlatformFindings> {
  const { platformUrl, platformClientId: clientId, platformClientSecret: clientSecret } = config;
  if (platformUrl !== undefined && clientSecret === undefined && config.encryptionKey !== undefined) {
    const mend = '`tidemark link --list` shows them, and `tidemark status` how they are.';
    const detail = 'no client secret: only linked logins are followed, and those are not tried here';
    return { findings: [await checkClock(platformUrl, http, clock), warn('sign-in', detail, mend)] };
  }
  if (platformUrl === undefined || clientId === undefined || clientSecret === undefined) {
    const mend = 'Set PLATFORM_URL, PLATFORM_CLIENT_ID and PLATFORM_CLIENT_SECRET to what the client center shows for this app.';
    return { findings: [fail('sign-in', 'the platform or the credentials for it are not set', mend)] };
  }
  const clockFinding = await checkClock(platformUrl, http, clock);
  const exchanged = await exchangeToken({ http, clock }, platformUrl, { clientId, clientSecret }, { kind: 'client_credentials' });
  if (!exchanged.ok) {
    const mend = exchanged.refused
      ? 'Check PLATFORM_CLIENT_ID and PLATFORM_CLIENT_SECRET; a lost secret is made anew in the client center.'
      : 'Check PLATFORM_URL, and that this machine may reach it.';
    return { findings: [clockFinding, fail('sign-in', `no token: ${exchanged.error.message}`, mend)] };
  }
  const { accessToken, expiresAtMs } = exchanged.token;
  const minutes = Math.round((expiresAtMs - clock.nowMs()) / 60_000);
  const signIn = ok('sign-in', `the platform gives tokens that last ${minutes} min`);
  return { findings: [clockFinding, signIn, ...(await checkAccounts(config, { http, platformUrl, accessToken }))], accessToken };
}
