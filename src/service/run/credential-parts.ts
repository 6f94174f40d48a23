import type { Config } from '../../config/config.ts';
import { ByteBudget } from '../../runtime/byte-budget.ts';
import type { HeldShards } from '../fleet/held-shards.ts';
import { AccountClaims } from '../sources/account-claims.ts';
import { Connectors } from '../sources/connectors.ts';
import type { ObservationSink } from '../sources/observation-sink.ts';
import { OddMessages } from '../sources/odd-messages.ts';
import { SourceGauges } from '../sources/source-status.ts';
import type { StreamTimings } from '../sources/stream-timings.ts';
import { Window } from '../sources/window.ts';
import { wsSocketDefaults, wsSocketFactory } from '../sources/ws-socket.ts';
import { CredentialSources } from './credential-sources.ts';
import type { FollowCheckOptions } from './follow-check.ts';
import type { Connected, PlatformConfig } from './platform-parts.ts';

const noKey = 'TIDEMARK_ENCRYPTION_KEY is not set, and their tokens are sealed with it';

/** How soon a newly linked login is followed. Each look is one short statement. */
const lookEveryMs = 2_000;

/** A source for every credential in the settings. Parts shared by several sources are made once. */
export function credentialSources(
  { clock, random, log, metrics: all, store, platform, watches }: Connected,
  held: HeldShards,
  ingest: ObservationSink,
  config: PlatformConfig,
): CredentialSources {
  const shared = { clock, random, log, observedBy: watches.sharedClock };
  const metrics = all.source;
  const common = {
    gauges: new SourceGauges(metrics),
    odd: new OddMessages(),
    registry: store.accounts,
    openSocket: wsSocketFactory(clock, wsSocketDefaults, platform.proxies),
    auditGate: new Window(1),
    budget: new ByteBudget({ maxBytes: config.notesMaxBytes, onUse: (bytes) => metrics.noteBytes.set(bytes) }),
  };
  const options = {
    streamUrl: config.platformStreamUrl,
    ...predictionStream(config),
    timings: streamTimings(config),
    claims: new AccountClaims(),
    isSole: () => sources.isSole,
    isOurs: (accountId: string) => held.follows(accountId),
    part: () => held.part,
    ...(config.platformAccounts === undefined ? {} : { only: new Set(config.platformAccounts) }),
  };
  const withClient = config.platformCredentials !== 'linked' && config.platformClientSecret !== undefined;
  const list = config.platformCredentials === 'client' ? undefined : store.credentials;
  const sources: CredentialSources = new CredentialSources(
    {
      ...shared,
      metrics: all.platform,
      ...(list !== undefined && { list }),
      partsFor: (credential, grant) => {
        const { tokens, reads } = platform.signedIn(credential, grant);
        const own = log.child({ credential });
        return {
          tokens,
          connectors: new Connectors({ ...shared, ...common, log: own, metrics, reads, tokens, sink: ingest }, options),
        };
      },
    },
    { withClient, lookEveryMs, ...(!store.isKeyed && { unusable: noKey }) },
  );
  return sources;
}

const dayMs = 86_400_000;

/** The timings that can be set; a source's other timings keep their defaults. */
function streamTimings(config: Config): Partial<StreamTimings> {
  return {
    pingMs: config.streamPingMs,
    idleMs: config.streamIdleMs,
    ackMs: config.streamAckMs,
    auditMs: config.auditIntervalMs,
    heartbeatMs: config.continuityIntervalMs,
    snapshotMs: config.snapshotDays * dayMs,
  };
}

/** The streams and accounts this process is set to follow. */
export function followOptions(config: PlatformConfig): Pick<FollowCheckOptions, 'streams' | 'only'> {
  const withPredictions = 'predictionStreamUrl' in predictionStream(config);
  return {
    streams: withPredictions ? ['account', 'prediction'] : ['account'],
    ...(config.platformAccounts === undefined ? {} : { only: new Set(config.platformAccounts) }),
  };
}

/**
 * Prediction orders are followed only with a staging address to read them from (specification,
 * "Versioning").
 */
function predictionStream(config: Config): { predictionStreamUrl: string } | Record<never, never> {
  const url = config.platformStagingStreamUrl ?? config.platformStreamUrl;
  return config.platformStagingUrl === undefined || url === undefined ? {} : { predictionStreamUrl: url };
}
