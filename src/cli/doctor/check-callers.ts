import type { Config } from '../../config/config.ts';
import { unencryptedAddresses } from '../../config/unencrypted.ts';
import { plural } from '../../runtime/plural.ts';
import { sentenceOf } from '../../runtime/program-error.ts';
import { fetchWithin } from '../../runtime/waiting.ts';
import type { Http } from '../../venue/http.ts';
import { type CheckDeps, type Finding, fail, ok, warn } from './finding.ts';

type CallerCheckDeps = Pick<CheckDeps, 'fetch' | 'clock'>;

/**
 * Checks who may call REST, and with which rights: the settings for sign-in and commands.
 * Contradictory settings were refused before.
 */
export async function checkCallers(config: Config, deps: CallerCheckDeps): Promise<Finding[]> {
  return [await signIn(config, deps), commands(config)];
}

async function signIn(config: Config, deps: CallerCheckDeps): Promise<Finding> {
  const { authJwksUrl, authTokens, authPrincipals, httpHost } = config;
  if (authJwksUrl !== undefined) return keys(authJwksUrl, deps);
  if (authPrincipals === 'on') return ok('callers', 'sign in to REST by tokens of the database');
  if (authTokens !== undefined) return ok('callers', 'sign in to REST by static tokens');
  const fix =
    'Set TIDEMARK_AUTH_PRINCIPALS=on and make tokens with `tidemark token add`, unless this machine is yours alone.';
  return warn('callers', `there is no sign-in: every caller that reaches ${httpHost} may do everything`, fix);
}

/** Checks that the issuer's keys can be read: without them no JWT is accepted. */
async function keys(url: string, { fetch, clock }: CallerCheckDeps): Promise<Finding> {
  const fix = 'Check TIDEMARK_AUTH_JWKS_URL, and that this machine may reach it: without it no JWT is accepted.';
  try {
    const { status, text } = await fetchWithin({ fetch, clock }, url, 5_000);
    if (status !== 200) return fail('callers', `the keys of JWTs (${url}) are answered with ${status}`, fix);
    const found = (JSON.parse(text) as { keys?: unknown }).keys;
    if (!Array.isArray(found) || found.length === 0)
      return fail(
        'callers',
        `the keys of JWTs (${url}) are answered with 200, and the answer has no keys`,
        'Check that TIDEMARK_AUTH_JWKS_URL is the key set of the issuer (its jwks_uri), not a page of it.',
      );
    return ok('callers', `sign in to REST by JWT, ${plural(found.length, 'key is', 'keys are')} published`);
  } catch (error) {
    return fail('callers', `the keys of JWTs (${url}) can't be read: ${sentenceOf(error)}`, fix);
  }
}

function commands({ commands: state, commandAccounts, platformStagingUrl }: Config): Finding {
  if (state === 'off') return ok('commands', 'are off: nothing is placed, replaced or cancelled');
  if (commandAccounts === undefined || commandAccounts.length === 0)
    return warn(
      'commands',
      'are on, and TIDEMARK_COMMAND_ACCOUNTS is not set: they are for simulated accounts alone',
      'To trade real accounts set TIDEMARK_COMMAND_ACCOUNTS to every account that may be traded: simulated ones that it does not name are refused then.',
    );
  if (platformStagingUrl === undefined)
    return warn(
      'commands',
      'are on, and PLATFORM_STAGING_URL is not set: prediction orders can’t be placed',
      'Set PLATFORM_STAGING_URL to the address of prediction orders, unless none are traded.',
    );
  return ok('commands', `are on, for ${plural(commandAccounts.length, 'named account')} alone`);
}

/**
 * Platform addresses with unencrypted secrets. In production they are a fault of the settings, so
 * they need no finding.
 */
export function checkEncryption(config: Config): Finding[] {
  const names = unencryptedAddresses(config);
  if (names.length === 0) return [];
  const detail = `${names.join(', ')}: neither encrypted nor on loopback, so others on the network can read tokens and orders`;
  return [warn('encryption', detail, 'Write addresses with https:// and wss://; NODE_ENV=production refuses others.')];
}

/**
 * Whether the sign-in screen exists (specification, "GET {auth_url}/oauth2/authorize"). Any answer
 * counts, since the platform must refuse a request without parameters. A missing screen is only a
 * warning, since the client-credentials grant does not need it.
 */
export async function checkSignInScreen(authUrl: string, http: Http): Promise<Finding> {
  const result = await http.request({
    operation: 'authorize',
    method: 'GET',
    url: `${authUrl}/oauth2/authorize`,
    headers: {},
  });
  const fix = "Check PLATFORM_AUTH_URL; without it people can't link their accounts.";
  if (result.kind === 'failed') return warn('sign-in screen', `${authUrl} does not answer: ${result.message}`, fix);
  return result.status < 500
    ? ok('sign-in screen', 'answers')
    : warn('sign-in screen', `${authUrl} answers with ${result.status}`, fix);
}
