import type { Config } from '../../config/config.ts';
import { plural } from '../../runtime/plural.ts';
import { loginPrefix } from '../../runtime/token-store.ts';
import { accountsPath } from '../../venue/platform/wire/user.ts';
import {
  accountsIn,
  askForAccounts,
  type Finding,
  fail,
  type HttpCheckDeps,
  ok,
  reachFix,
  type SignInFindings,
  warn,
} from './finding.ts';
import { lookAtLogins, type StoredLogin } from './stored-logins.ts';

const linkAgain = (name: string) => `tidemark link --name ${name}`;

/**
 * Checks each linked login by itself, with its stored access token. The refresh token is not tried:
 * the platform would replace it, and doctor changes nothing. No finding while logins are not
 * followed. The token is that of the first signed-in login.
 */
export async function checkLogins(config: Config, deps: HttpCheckDeps): Promise<SignInFindings> {
  const { platformUrl, platformCredentials } = config;
  if (platformUrl === undefined || platformCredentials === 'client') return { findings: [] };
  const ofPlatform = { prefixes: [loginPrefix], linkAgain };
  const { findings, looked } = await lookAtLogins(config, deps, ofPlatform, async (login) =>
    'finding' in login
      ? login
      : { finding: await checkLogin(login, { ...deps, platformUrl }), accessToken: login.token.accessToken },
  );
  if (looked === undefined) return { findings };
  const none = platformCredentials === 'linked' && looked.length === 0 ? [noLogin] : [];
  const signedIn = looked.find(({ finding }) => finding.verdict === 'ok');
  return {
    findings: [...findings, ...none, ...looked.map(({ finding }) => finding)],
    ...(signedIn && 'accessToken' in signedIn && { accessToken: signedIn.accessToken }),
  };
}

const noLogin = fail(
  'logins',
  'PLATFORM_CREDENTIALS is linked, so only linked logins are followed, and none is linked',
  'Run `tidemark link`, or set PLATFORM_CREDENTIALS to client or both.',
);

async function checkLogin(
  { name, token }: Exclude<StoredLogin, { finding: Finding }>,
  deps: HttpCheckDeps & { readonly platformUrl: string },
): Promise<Finding> {
  const part = `login ${name}`;
  const again = `Sign in again: \`${linkAgain(name)}\`.`;
  const { accessToken, expiresAtMs } = token;
  const minutes = Math.round((expiresAtMs - deps.clock.nowMs()) / 60_000);
  if (minutes < 0)
    return warn(
      part,
      `its token ended ${-minutes} min ago, and no service has renewed it`,
      `Start the service, which renews it; where \`tidemark status\` says LOGIN_REQUIRED: ${again}`,
    );
  const url = `${deps.platformUrl}${accountsPath}`;
  const result = await askForAccounts({ ...deps, accessToken });
  if (result.kind === 'failed')
    return fail(part, `${url} does not answer: ${result.message}`, reachFix('PLATFORM_URL'));
  if (result.status === 401 && token.refreshToken !== undefined) {
    const detail = 'the platform refuses its access token (401), and the service renews it when it meets this';
    return warn(part, detail, `Where \`tidemark status\` says LOGIN_REQUIRED: ${again}`);
  }
  if (result.status === 401) return fail(part, 'the platform refuses its token (401)', again);
  const then = result.status === 403 ? ` Then: ${again}` : '';
  const listed = accountsIn(result, part, `its list of accounts (${url})`, then);
  if ('verdict' in listed) return listed;
  const seen = plural(listed.accounts.length, 'account');
  return ok(part, `is signed in for ${minutes} min more, and sees ${seen}`);
}
