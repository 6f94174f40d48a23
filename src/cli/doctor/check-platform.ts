import type { Config } from '../../config/config.ts';
import { exchangeToken } from '../../platform/exchange-token.ts';
import type { Http } from '../../platform/http.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Secret } from '../../runtime/secret.ts';
import { checkAccounts } from './check-accounts.ts';
import { checkClock } from './check-clock.ts';
import { type Finding, fail, ok } from './finding.ts';

export interface PlatformFindings {
  readonly findings: readonly Finding[];
  /** For the checks that come after; absent when the sign-in failed. */
  readonly accessToken?: Secret;
}

export interface PlatformCheckDeps {
  readonly http: Http;
  readonly clock: Clock;
}

/** Reach, clock, sign-in by client credentials, accounts and order lists. The linked logins have a check of their own (`checkLogins`). */
export async function checkPlatform(config: Config, { http, clock }: PlatformCheckDeps): Promise<PlatformFindings> {
  const { platformUrl, platformClientId: clientId, platformClientSecret: clientSecret } = config;
  if (platformUrl !== undefined && onlyLogins(config)) {
    const detail = 'only linked logins are followed';
    return { findings: [await checkClock(platformUrl, http, clock), ok('sign-in', detail)] };
  }
  if (platformUrl === undefined || clientId === undefined || clientSecret === undefined) {
    const mend = 'Set PLATFORM_URL, PLATFORM_CLIENT_ID and PLATFORM_CLIENT_SECRET to what the client center shows for this app.';
    return { findings: [fail('sign-in', 'the platform or the credentials for it are not set', mend)] };
  }
  const [clockFinding, exchanged] = await Promise.all([
    checkClock(platformUrl, http, clock),
    exchangeToken({ http, clock }, platformUrl, { clientId, clientSecret }, { kind: 'client_credentials' }),
  ]);
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

/** The client's own credentials are not used to follow accounts: by the setting, or because there is no secret. */
function onlyLogins({ platformCredentials, platformClientSecret, encryptionKey }: Config): boolean {
  return encryptionKey !== undefined && (platformCredentials === 'linked' || platformClientSecret === undefined);
}
