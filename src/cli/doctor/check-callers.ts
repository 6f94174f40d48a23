import type { Config } from '../../config/config.ts';
import type { Clock } from '../../runtime/clock.ts';
import { fetchWithin } from '../../runtime/fetch-within.ts';
import { plural } from '../plural.ts';
import { sentenceOf } from '../report-error.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

export interface CallerCheckDeps {
  readonly fetch: typeof fetch;
  readonly clock: Clock;
}

/** Who may call REST, and what they may do: the settings of sign-in and of commands. What contradicts itself was refused with the settings already. */
export async function checkCallers(config: Config, deps: CallerCheckDeps): Promise<Finding[]> {
  return [await signIn(config, deps), commands(config)];
}

async function signIn(config: Config, deps: CallerCheckDeps): Promise<Finding> {
  const { authJwksUrl, authTokens, authPrincipals, httpHost } = config;
  if (authJwksUrl !== undefined) return keys(authJwksUrl, deps);
  if (authTokens !== undefined || authPrincipals === 'on') return ok('callers', 'sign in to REST by tokens of ours');
  const mend = 'Set TIDEMARK_AUTH_PRINCIPALS=on and make tokens with `tidemark token add`, unless this machine is yours alone.';
  return warn('callers', `nobody signs in: everybody who reaches ${httpHost} may do everything`, mend);
}

/** Without its keys no JWT is accepted. */
async function keys(url: string, { fetch, clock }: CallerCheckDeps): Promise<Finding> {
  const mend = 'Check TIDEMARK_AUTH_JWKS_URL, and that this machine may reach it: without it no JWT is accepted.';
  try {
    const { status, text } = await fetchWithin({ fetch, clock }, url, 5_000);
    if (status !== 200) return fail('callers', `the keys of JWTs are answered with ${status}`, mend);
    const found = (JSON.parse(text) as { keys?: unknown }).keys;
    if (!Array.isArray(found) || found.length === 0) return fail('callers', 'the address of the keys of JWTs has no keys', mend);
    return ok('callers', `sign in to REST by JWT, ${plural(found.length, 'key is', 'keys are')} published`);
  } catch (error) {
    return fail('callers', `the keys of JWTs can't be read: ${sentenceOf(error)}`, mend);
  }
}

function commands({ commands: state, commandAccounts, platformStagingUrl }: Config): Finding {
  if (state === 'off') return ok('commands', 'are off: nothing is placed, replaced or cancelled');
  if (commandAccounts === undefined || commandAccounts.length === 0)
    return warn(
      'commands',
      'are on, for simulated accounts alone',
      'To trade real accounts set TIDEMARK_COMMAND_ACCOUNTS to every account that may be traded: simulated ones that it does not name are refused then.',
    );
  if (platformStagingUrl === undefined)
    return warn(
      'commands',
      'are on, but there is no address for prediction orders',
      'Set PLATFORM_STAGING_URL to place those too.',
    );
  return ok('commands', `are on, for ${plural(commandAccounts.length, 'named account')} alone`);
}
