import type { Config } from '../../config/config.ts';
import { alpacaAddresses } from '../../config/venue-options.ts';
import { createMetrics } from '../../observability/metrics.ts';
import { Connection } from '../../service/sources/connection.ts';
import type { ConnectionEnd, SocketFactory } from '../../service/sources/socket.ts';
import { streamTimingDefaults } from '../../service/sources/stream-timings.ts';
import { alpacaReads } from '../../venue/alpaca/alpaca-reads.ts';
import { alpacaVenue } from '../../venue/alpaca/alpaca-venue.ts';
import { keyPairSource } from '../../venue/alpaca/key-source.ts';
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
  const tokens = keyPairSource(deps.clock, { keyId, secretKey });
  // Its first answer counts.
  const budget = { purpose: 'probe', spend: () => undefined, mayRepeat: () => false } as const;
  const requests = new RequestBudget(deps.clock);
  const reads = alpacaReads({ ...deps, tokens, budget, requests, metrics: createMetrics().platform }, { url, isPaper });
  const listed = await reads.listAccounts(new AbortController().signal);
  if (!listed.complete) return [fail('alpaca', `${url}: ${listed.error.message}`, fixOf(listed.error, environment))];
  const [account] = listed.accounts;
  const shown = `the ${environment} account ${account?.accountId} is ${account?.status ?? 'without a status'}`;
  const credential = await tokens.get();
  const end = credential.ok ? await signIn(deps, { stream, url: streamUrl, token: credential.token }) : undefined;
  return [
    ok('alpaca', shown),
    ...checkAudits(requests.limit, config.auditIntervalMs),
    end === undefined
      ? ok('alpaca stream', 'the sign-in succeeds')
      : fail('alpaca stream', `${streamUrl}: ${end.detail}`, 'Check ALPACA_STREAM_URL: it is of the same environment.'),
  ];
}

/** An audit of a small account: a page of open orders, one of newer ones, clock and activities. */
function checkAudits(limit: number, auditIntervalMs: number): Finding[] {
  const audits = Math.ceil((4 * 60_000) / auditIntervalMs);
  if (audits <= limit / 2) return [];
  const detail = `audits want ${audits} of the ${limit} requests a minute, and get half of them`;
  return [warn('alpaca requests', detail, 'Lengthen TIDEMARK_AUDIT_INTERVAL_MS.')];
}

function fixOf({ code }: PlatformError, environment: string): string {
  return code === 'LOGIN_REQUIRED'
    ? `Make a key pair in the ${environment} environment, or correct ALPACA_ENVIRONMENT: paper and live have their own.`
    : 'Check ALPACA_URL, and that this machine may reach it.';
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
