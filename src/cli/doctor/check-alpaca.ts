import type { Config } from '../../config/config.ts';
import { alpacaAddresses } from '../../config/venue-options.ts';
import { createMetrics } from '../../observability/metrics.ts';
import { Connection } from '../../service/sources/connection.ts';
import type { ConnectionEnd, SocketFactory } from '../../service/sources/socket.ts';
import { streamTimingDefaults } from '../../service/sources/stream-timings.ts';
import { alpacaReads } from '../../venue/alpaca/alpaca-reads.ts';
import { alpacaVenue } from '../../venue/alpaca/alpaca-venue.ts';
import { keyPairSource } from '../../venue/alpaca/key-source.ts';
import type { PlatformAccount } from '../../venue/order-reads.ts';
import type { PlatformError } from '../../venue/platform-error.ts';
import type { ReadDeps } from '../../venue/read-venue.ts';
import { RequestBudget } from '../../venue/request-budget.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

type AlpacaCheckDeps = Omit<ReadDeps, 'tokens' | 'metrics' | 'budget'> & { readonly openSocket: SocketFactory };

/** The key pair, its account, and its stream: each is asked once, as the service would. */
export async function checkAlpaca(config: Config, deps: AlpacaCheckDeps): Promise<Finding[]> {
  const { alpacaKeyId: keyId, alpacaSecretKey: secretKey, alpacaEnvironment: environment } = config;
  if (keyId === undefined || secretKey === undefined) {
    const all = { ALPACA_KEY_ID: keyId, ALPACA_SECRET_KEY: secretKey };
    const unset = Object.entries(all).flatMap(([name, value]) => (value === undefined ? [name] : []));
    return [fail('alpaca', `not set: ${unset.join(', ')}`, `Set ${unset.join(' and ')} to a key pair of Alpaca.`)];
  }
  const { url, isPaper, stream, streamUrl } = alpacaAddresses(config);
  const requests = new RequestBudget(deps.clock);
  const tokens = keyPairSource(deps.clock, { keyId, secretKey }, requests);
  // Its first answer counts.
  const budget = { purpose: 'probe', spend: () => undefined, mayRepeat: () => false } as const;
  const reads = alpacaReads({ ...deps, tokens, budget, metrics: createMetrics().platform }, { url, isPaper });
  const listed = await reads.listAccounts(new AbortController().signal);
  if (!listed.complete) return [fail('alpaca', `${url}: ${listed.error.message}`, fixOf(listed.error, environment))];
  const [account] = listed.accounts;
  const credential = await tokens.get();
  const end = credential.ok ? await signIn(deps, { stream, url: streamUrl, token: credential.token }) : undefined;
  const setting = config.alpacaStreamUrl === undefined ? 'ALPACA_URL' : 'ALPACA_STREAM_URL';
  return [
    standing(account, environment),
    ...checkAudits(requests.limit, config.auditIntervalMs),
    end === undefined
      ? ok('alpaca stream', 'the sign-in succeeds')
      : fail('alpaca stream', `${streamUrl}: ${end.detail}`, fixOfStream(end, setting)),
  ];
}

/** An audit of a small account: a page of open orders, one of newer ones, clock and activities. */
function checkAudits(limit: number, auditIntervalMs: number): Finding[] {
  const audits = Math.ceil((4 * 60_000) / auditIntervalMs);
  if (audits <= limit / 2) return [];
  const detail = `audits want ${audits} of the ${limit} requests a minute, and get half of them`;
  return [warn('alpaca requests', detail, 'Lengthen TIDEMARK_AUDIT_INTERVAL_MS.')];
}

function standing(account: PlatformAccount | undefined, environment: string): Finding {
  const { accountId, status = 'without a status', isOpen } = account ?? {};
  const shown = `the ${environment} account ${accountId} is ${status}`;
  if (isOpen === true) return ok('alpaca', shown);
  const fix = 'See at Alpaca why: its orders are followed and cancelled all the same.';
  return warn('alpaca', `${shown}, and Alpaca takes no new order for it: it is blocked, or not ACTIVE`, fix);
}

/** An answer without a message of Alpaca may be a proxy's. */
function fixOf({ code, status, retryAfterMs = 0 }: PlatformError, environment: string): string {
  if (status === 429) {
    const after = retryAfterMs > 0 ? `${Math.ceil(retryAfterMs / 1000)} s` : 'a minute';
    return `Run it again in ${after}: all programs with keys of this account share its requests.`;
  }
  if (status !== undefined && status >= 500)
    return 'Run it again in a minute: Alpaca has a fault, or a proxy on the way. If it stays, check ALPACA_URL.';
  if (code === 'BAD_ANSWER')
    return 'Check ALPACA_URL, HTTPS_PROXY and NO_PROXY: another server may answer, such as a proxy or a sign-in page.';
  if (code === 'LOGIN_REQUIRED' || status === 403)
    return `Make a key pair in the ${environment} environment, or correct ALPACA_ENVIRONMENT: paper and live have their own.`;
  return 'Check ALPACA_URL, and that this machine may reach it.';
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
      ...{ onEvent: nothing, onUnreadable: nothing, onControl: nothing, onPongsMissing: nothing },
    },
  );
  return promise.finally(() => connection.terminate({ reason: 'stopped', detail: 'the check is over' }));
}
