import type { Config } from '../../config/config.ts';
import type { Clock } from '../../runtime/clock.ts';
import { plural } from '../../runtime/plural.ts';
import type { Secret } from '../../runtime/secret.ts';
import type { Http, HttpResult } from '../../venue/http.ts';
import { type ClockReading, harmfulSkewMs, readingOf, skewWords } from '../../venue/platform/clock-reading.ts';
import { tokenPath } from '../../venue/platform/wire/oauth.ts';
import { ordersPath, predictionOrdersPath } from '../../venue/platform/wire/order-pages.ts';
import { accountsPath, permitsPlacing, type UserAccounts } from '../../venue/platform/wire/user.ts';
import type { PlatformError } from '../../venue/platform-error.ts';
import { ClientToken } from './client-token.ts';
import {
  accountsIn,
  askForAccounts,
  type Finding,
  fail,
  fixOfStatus,
  getSignedIn,
  type HttpCheckDeps,
  ok,
  reachFix,
  type SignedIn,
  type SignInFindings,
  warn,
} from './finding.ts';

/**
 * Checks reach, clock, sign-in by client credentials, accounts and order lists. The linked logins
 * have their own check (`checkLogins`).
 */
export async function checkPlatform(config: Config, deps: HttpCheckDeps): Promise<SignInFindings> {
  const { http, clock } = deps;
  const { platformUrl, platformClientId, platformClientSecret } = config;
  if (platformUrl !== undefined && onlyLogins(config)) {
    const detail = 'only linked logins are followed';
    return { findings: [await checkClock(platformUrl, http, clock), ok('sign-in', detail)] };
  }
  if (platformUrl === undefined || platformClientId === undefined || platformClientSecret === undefined) {
    const all = {
      PLATFORM_URL: platformUrl,
      PLATFORM_CLIENT_ID: platformClientId,
      PLATFORM_CLIENT_SECRET: platformClientSecret,
    };
    const unset = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [name] : []));
    const fix = `Set ${unset.join(' and ')} to what the client center shows for this app.`;
    return { findings: [fail('sign-in', `not set: ${unset.join(', ')}`, fix)] };
  }
  const client = new ClientToken(deps, { ...config, platformUrl, platformClientId, platformClientSecret });
  try {
    const [clockFinding, signedIn] = await Promise.all([
      checkClock(platformUrl, http, clock),
      signIn(client, platformUrl, deps),
    ]);
    if (!('listed' in signedIn)) return { findings: [clockFinding, signedIn.finding] };
    const { finding, listed, accessToken } = signedIn;
    const accounts = await checkAccounts(config, { http, platformUrl, accessToken }, listed);
    return { findings: [clockFinding, finding, ...accounts], accessToken };
  } finally {
    await client.close();
  }
}

type SignedInFinding =
  | { readonly finding: Finding }
  | { readonly finding: Finding; readonly accessToken: Secret; readonly listed: HttpResult };

/** With the token that is there, and with another one only where the platform refuses it. */
async function signIn(
  client: ClientToken,
  platformUrl: string,
  { http, clock }: HttpCheckDeps,
): Promise<SignedInFinding> {
  const minutesOf = ({ expiresAtMs }: { readonly expiresAtMs: number }) =>
    Math.round((expiresAtMs - clock.nowMs()) / 60_000);
  const list = (accessToken: Secret) => askForAccounts({ http, platformUrl, accessToken });
  const first = await client.next();
  if (!first.ok) return { finding: noToken(first.error, platformUrl) };
  const listed = await list(first.accessToken);
  const isRefused = listed.kind === 'answered' && listed.status === 401;
  if (!first.isShared || !isRefused) {
    const detail = first.isShared
      ? `the token that the processes of this database share is good for ${minutesOf(first)} min more`
      : `the platform gives tokens that last ${minutesOf(first)} min`;
    return { finding: ok('sign-in', detail), accessToken: first.accessToken, listed };
  }
  const second = await client.next();
  if (!second.ok) return { finding: noToken(second.error, platformUrl) };
  const detail = `the platform refuses the token that the processes of this database share, ${minutesOf(first)} min before its end: it ends tokens early, as where each new token ends the one before`;
  const fix = 'Give each other program that signs in as this client a client of its own.';
  return {
    finding: warn('sign-in', detail, fix),
    accessToken: second.accessToken,
    listed: await list(second.accessToken),
  };
}

function noToken(error: PlatformError | 'unread', platformUrl: string): Finding {
  if (error === 'unread') {
    const detail =
      "the token that the service shares can't be read by this login at the database, and another one might end it";
    return warn('sign-in', detail, 'Run it with the DATABASE_URL of the service.');
  }
  const fix =
    error.code === 'LOGIN_REQUIRED'
      ? 'Check PLATFORM_CLIENT_ID and PLATFORM_CLIENT_SECRET; a lost secret is made anew in the client center.'
      : reachFix(`PLATFORM_URL${pathOf(platformUrl)}`);
  return fail('sign-in', `no token: ${error.message}`, fix);
}

/** Most platforms are at the root of their host, so a path is the first suspect. */
function pathOf(platformUrl: string): string {
  const { pathname } = new URL(platformUrl);
  return pathname === '/'
    ? ''
    : `, which ends in the path ${pathname} (it is the base, to which ${tokenPath} is added)`;
}

/**
 * Whether the client's own credentials are not used to follow accounts: by
 * the setting, or because there is no secret.
 */
function onlyLogins({ platformCredentials, platformClientSecret, encryptionKey }: Config): boolean {
  return encryptionKey !== undefined && (platformCredentials === 'linked' || platformClientSecret === undefined);
}

/**
 * Compares the accounts visible to the token (`result`: their list) with PLATFORM_ACCOUNTS, and
 * checks whether their orders may be read.
 */
async function checkAccounts(config: Config, at: SignedIn, result: HttpResult): Promise<Finding[]> {
  const url = `${at.platformUrl}${accountsPath}`;
  if (result.kind === 'failed') return [fail('accounts', `${url}: ${result.message}`, reachFix('PLATFORM_URL'))];
  const listed = accountsIn(result, 'accounts', `the list (${url})`);
  if ('verdict' in listed) return [listed];
  const unique = new Set(listed.accounts.map((account) => account.trading_account_id));
  const seen = [...unique];
  const followed = config.platformAccounts ?? seen;
  const absent = followed.filter((id) => !unique.has(id));
  if (absent.length > 0)
    return [
      fail(
        'accounts',
        `${absent.length} of PLATFORM_ACCOUNTS ${absent.length === 1 ? 'is' : 'are'} not among the ${seen.length} that the client sees: ${some(absent)}`,
        `Correct PLATFORM_ACCOUNTS, or give the client these accounts in the client center. It sees ${seen.length === 0 ? 'none' : some(seen)}.`,
      ),
    ];
  const wanted = new Set(followed);
  const open = listed.accounts.find((each) => wanted.has(each.trading_account_id) && permitsPlacing(each.status));
  // The platform may refuse to show a closed one, and this says nothing about the others.
  const first = open?.trading_account_id ?? followed[0];
  if (first === undefined)
    return [fail('accounts', 'the client sees no account', 'Link an account to the app in the client center.')];
  const found = [standingFinding(wanted, seen.length, listed)];
  return [...found, ...(await checkOrders(config, at, first))];
}

/** A line for people has room for so many. */
const shownAtMost = 10;

function some(names: readonly string[]): string {
  const more = names.length - shownAtMost;
  return `${names.slice(0, shownAtMost).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/**
 * Every listed account is followed. Accounts that are not OPEN, and items without an account, are
 * named.
 */
function standingFinding(followed: ReadonlySet<string>, seen: number, { accounts, unreadable }: UserAccounts): Finding {
  const said = `${followed.size} of ${seen} are followed`;
  const closed = accounts.filter(({ trading_account_id: id, status }) => followed.has(id) && !permitsPlacing(status));
  const words = closed.map(
    ({ trading_account_id: id, status }) => `${id} is ${status === '' ? 'without a status' : status}`,
  );
  const faults = [
    ...(closed.length > 0 ? [`on ${closed.length} of them nothing can be placed, only cancelled: ${some(words)}`] : []),
    ...(unreadable > 0 ? [`${plural(unreadable, 'item')} of the list without an id can't be followed`] : []),
  ];
  if (faults.length === 0) return ok('accounts', said);
  const fix = 'Ask the platform to open them; PLATFORM_ACCOUNTS names those to follow, where some are not needed.';
  return warn('accounts', [said, ...faults].join('; '), fix);
}

/**
 * Reads one row from each order list for one account. 403 from the prediction list is no fault: the
 * account is not in the beta.
 */
async function checkOrders(config: Config, at: SignedIn, accountId: string): Promise<Finding[]> {
  const query = `?accountId=${encodeURIComponent(accountId)}&limit=1`;
  const { platformStagingUrl: staging } = config;
  const [orders, predictions] = await Promise.all([
    getSignedIn(at, 'list_orders', `${at.platformUrl}${ordersPath}${query}`),
    staging === undefined ? undefined : getSignedIn(at, 'list_orders', `${staging}${predictionOrdersPath}${query}`),
  ]);
  const found = [listFinding('orders', orders, `${at.platformUrl}${ordersPath}`, 'PLATFORM_URL')];
  if (predictions === undefined) return found;
  const notEnrolled = predictions.kind === 'answered' && predictions.status === 403;
  return [
    ...found,
    notEnrolled
      ? ok('predictions', 'the first account is not enrolled for prediction orders')
      : listFinding('predictions', predictions, `${staging}${predictionOrdersPath}`, 'PLATFORM_STAGING_URL'),
  ];
}

function listFinding(part: string, result: HttpResult, url: string, setting: string): Finding {
  if (result.kind === 'failed') return fail(part, `${url} does not answer: ${result.message}`, reachFix(setting));
  if (result.status === 200) return ok(part, 'the list can be read');
  return fail(
    part,
    `the list (${url}) is answered with ${result.status}`,
    fixOfStatus(result.status, 'order:information', setting),
  );
}

/**
 * The `Date` header has whole seconds, and both clocks may be a
 * little off: a smaller difference says nothing.
 */
const seenFromMs = 1_500;

/**
 * Compares our clock, taken in the middle of the request, with the platform's (`Date` header, in
 * any answer).
 */
async function checkClock(platformUrl: string, http: Http, clock: Clock): Promise<Finding> {
  const beganMs = clock.monotonicMs();
  const result = await http.request({
    operation: 'health',
    method: 'GET',
    url: `${platformUrl}/v1/health`,
    headers: {},
  });
  const reading = readingOf(result, clock.nowMs(), clock.monotonicMs() - beganMs);
  if (result.kind === 'failed')
    return fail('platform', `${platformUrl} does not answer: ${result.message}`, reachFix('PLATFORM_URL'));
  if (reading === undefined)
    return warn(
      'clock',
      `the answer of ${platformUrl} has no Date, so the clocks can't be compared`,
      'Compare the clock of this machine with NTP (`chronyc tracking`).',
    );
  return clockFinding(reading, 'the platform', seenFromMs);
}

/** The reading does not show which clock is wrong. */
export function clockFinding(reading: ClockReading, of: string, seenMs: number): Finding {
  const { aheadMs, uncertainMs } = reading;
  if (Math.abs(aheadMs) <= uncertainMs + seenMs) return ok('clock', `agrees with ${of}`);
  const fix = 'Compare both with NTP (`chronyc tracking`), and let it set the one that is off.';
  const words = skewWords(reading, of);
  return Math.abs(aheadMs) < harmfulSkewMs ? warn('clock', words, fix) : fail('clock', words, fix);
}
