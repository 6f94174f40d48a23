import type { Config } from '../../config/config.ts';
import { type AlpacaEnvironment, alpacaAddresses } from '../../config/venue-options.ts';
import { Connection } from '../../service/sources/connection.ts';
import type { ConnectionEnd } from '../../service/sources/socket.ts';
import { streamTimingDefaults } from '../../service/sources/stream-timings.ts';
import { alpacaVenue } from '../../venue/alpaca/alpaca-venue.ts';
import { keyPairSource, pairRefused } from '../../venue/alpaca/key-source.ts';
import { KeySource, keyName } from '../../venue/key-source.ts';
import type { PlatformAccount } from '../../venue/order-reads.ts';
import { RequestBudget } from '../../venue/request-budget.ts';
import { askForAccount, fixOf } from '../link/link-alpaca.ts';
import { type CheckDeps, type Finding, fail, ok, warn } from './finding.ts';
import { lookAtLogins } from './stored-logins.ts';

type AlpacaCheckDeps = Omit<CheckDeps, 'fetch'>;

interface CheckedKey {
  readonly findings: readonly Finding[];
  /** As a linked key of this account is named. */
  readonly name?: string;
}

/** The key pair of the settings, and each linked one: see `checkKey`. */
export async function checkAlpaca(config: Config, deps: AlpacaCheckDeps): Promise<Finding[]> {
  const [own, { looked: linked = [], findings }] = await Promise.all([
    checkOwn(config, deps),
    checkLinked(config, deps),
  ]);
  const twice = linked.some(({ name }) => name !== undefined && name === own?.name) ? [usedInstead(own?.name)] : [];
  const owned = own ?? { findings: linked.length === 0 ? [unset(['ALPACA_KEY_ID', 'ALPACA_SECRET_KEY'])] : [] };
  return [owned.findings, findings, twice, ...linked.map((key) => key.findings)].flat();
}

/** Undefined: the settings have none. */
async function checkOwn(config: Config, deps: AlpacaCheckDeps): Promise<CheckedKey | undefined> {
  const { alpacaKeyId: keyId, alpacaSecretKey: secretKey, alpacaEnvironment: environment } = config;
  if (keyId === undefined && secretKey === undefined) return undefined;
  if (keyId === undefined) return { findings: [unset(['ALPACA_KEY_ID'])] };
  if (secretKey === undefined) return { findings: [unset(['ALPACA_SECRET_KEY'])] };
  const tokens = keyPairSource(deps.clock, { keyId, secretKey });
  const fix = `Make a key pair in the ${environment} environment, or correct ALPACA_ENVIRONMENT: paper and live have their own.`;
  return checkKey(config, deps, environment, { part: 'alpaca', tokens, fix });
}

function checkLinked(config: Config, deps: AlpacaCheckDeps) {
  const prefixes = { paper: keyName('alpaca_paper', ''), live: keyName('alpaca', '') };
  const environmentOf = (name: string) => (name.startsWith(prefixes.live) ? 'live' : 'paper');
  const linkAgain = (name: string) => `tidemark link --venue alpaca --environment ${environmentOf(name)}`;
  const linked = { prefixes: Object.values(prefixes), linkAgain };
  return lookAtLogins(config, deps, linked, async (login): Promise<CheckedKey> => {
    if ('finding' in login) return { findings: [login.finding] };
    const { name, token } = login;
    const requests = new RequestBudget(deps.clock);
    const tokens = new KeySource(deps.clock, token.accessToken, pairRefused, { requests });
    const fix = `Link a new pair: \`${linkAgain(name)}\`.`;
    return { ...(await checkKey(config, deps, environmentOf(name), { part: `login ${name}`, tokens, fix })), name };
  });
}

function unset(names: readonly string[]): Finding {
  const fix = `Set ${names.join(' and ')} to a key pair of Alpaca, or link one: \`tidemark link --venue alpaca\`.`;
  return fail('alpaca', `not set: ${names.join(', ')}`, fix);
}

function usedInstead(name: string | undefined): Finding {
  const fix = `Unset ALPACA_KEY_ID and ALPACA_SECRET_KEY, or remove the other: \`tidemark link --remove ${name}\`.`;
  return warn('alpaca', `the key of the settings is not used: ${name} is linked, and has the same account`, fix);
}

/** Its account and its stream: each is asked once, as the service would. */
async function checkKey(
  config: Config,
  deps: AlpacaCheckDeps,
  environment: AlpacaEnvironment,
  { part, tokens, fix }: { readonly part: string; readonly tokens: KeySource; readonly fix: string },
): Promise<CheckedKey> {
  const { url, isPaper, stream, streamUrl } = alpacaAddresses(config, environment);
  const isOfSettings = environment === config.alpacaEnvironment;
  const setting = isOfSettings ? 'ALPACA_URL' : 'ALPACA_OTHER_URL';
  const listed = await askForAccount(deps, tokens, { url, isPaper });
  if (!listed.complete)
    return { findings: [fail(part, `${url}: ${listed.error.message}`, fixOf(listed.error, setting, fix))] };
  const [account] = listed.accounts;
  const credential = await tokens.get(streamUrl);
  const end = credential.ok ? await signIn(deps, { stream, url: streamUrl, token: credential.token }) : undefined;
  const isStreamSet = isOfSettings && config.alpacaStreamUrl !== undefined;
  const findings = [
    standing(part, account, environment),
    ...checkAudits(part, tokens.requests?.limit, config.auditIntervalMs),
    end === undefined
      ? ok(`${part} stream`, 'the sign-in succeeds')
      : fail(
          `${part} stream`,
          `${streamUrl}: ${end.detail}`,
          fixOfStream(end, isStreamSet ? 'ALPACA_STREAM_URL' : setting),
        ),
  ];
  return { findings, ...(account !== undefined && { name: keyName(stream, account.accountId) }) };
}

/** An audit of a small account: a page of open orders, one of newer ones, clock and activities. */
function checkAudits(part: string, limit = Number.POSITIVE_INFINITY, auditIntervalMs: number): Finding[] {
  const audits = Math.ceil((4 * 60_000) / auditIntervalMs);
  if (audits <= limit / 2) return [];
  const detail = `audits want ${audits} of the ${limit} requests a minute, and get half of them`;
  return [warn(`${part} requests`, detail, 'Lengthen TIDEMARK_AUDIT_INTERVAL_MS.')];
}

function standing(part: string, account: PlatformAccount | undefined, environment: string): Finding {
  const { accountId, status = 'without a status', isOpen } = account ?? {};
  const shown = `the ${environment} account ${accountId} is ${status}`;
  if (isOpen === true) return ok(part, shown);
  const fix = 'See at Alpaca why: its orders are followed and cancelled all the same.';
  return warn(part, `${shown}, and Alpaca takes no new order for it: it is blocked, or not ACTIVE`, fix);
}

/** REST has taken the key pair. `setting`: where its address comes from. */
function fixOfStream({ reason }: ConnectionEnd, setting: string): string {
  if (reason === 'unauthorized' || reason === 'forbidden')
    return `Check ${setting}: the key pair is good, so the stream may be of the other environment.`;
  const again = reason === 'refused' ? 'Run it again in a minute. If it stays, check' : 'Check';
  return `${again} ${setting}, and that a proxy on the way lets WebSockets through.`;
}

/** Undefined: the session is open. It ends by its own deadlines in any case. */
function signIn(
  deps: AlpacaCheckDeps,
  options: Pick<ConstructorParameters<typeof Connection>[1], 'url' | 'token'> & {
    readonly stream: keyof typeof alpacaVenue;
  },
): Promise<ConnectionEnd | undefined> {
  const { promise, resolve } = Promise.withResolvers<ConnectionEnd | undefined>();
  const nothing = () => undefined;
  const { protocol } = alpacaVenue[options.stream];
  const connection = new Connection(
    deps,
    { ...options, protocol, timings: streamTimingDefaults },
    {
      onOpen: () => resolve(undefined),
      onEnd: resolve,
      onEvent: nothing,
      onUnreadable: nothing,
      onControl: nothing,
      onPongsMissing: nothing,
    },
  );
  return promise.finally(() => connection.terminate({ reason: 'stopped', detail: 'the check is over' }));
}
