import type { Config } from '../../config/config.ts';
import { type Stream, streams } from '../../domain/order.ts';
import { ByteBudget } from '../../runtime/byte-budget.ts';
import { loginPrefix } from '../../runtime/token-store.ts';
import { platformVenue } from '../../venue/platform/platform-venue.ts';
import type { HeldShards } from '../fleet/held-shards.ts';
import { Connectors, type StreamUrls } from '../sources/connectors.ts';
import type { ObservationSink } from '../sources/observation-sink.ts';
import { OddMessages } from '../sources/odd-messages.ts';
import type { RecordedRow } from '../sources/recorded-row.ts';
import { SourceGauges } from '../sources/source-status.ts';
import type { StreamTimings } from '../sources/stream-timings.ts';
import { VenueSources } from '../sources/venue-sources.ts';
import { wsSocketDefaults, wsSocketFactory } from '../sources/ws-socket.ts';
import { alpacaParts } from './alpaca-parts.ts';
import { Credentials, type LoginKind } from './credentials.ts';
import { type Connected, clientName, type PlatformConfig, platformConfig, platformSignIn } from './platform-parts.ts';

const noKey = 'TIDEMARK_ENCRYPTION_KEY is not set, and their tokens are sealed with it';

/** Their logins are keys, each good for one account. */
const keyedVenues = [alpacaParts];

/** How soon a newly linked login is followed. Each look is one short statement. */
const lookEveryMs = 2_000;

/** Every credential, in the settings and linked, and each venue's sources. */
export function credentialParts(made: Connected, held: HeldShards, ingest: ObservationSink, config: Config) {
  const { clock, log, metrics, store } = made;
  const shared = sharedSources(made, ingest, config);
  const options = {
    timings: streamTimings(config),
    isOurs: (accountId: string) => held.follows(accountId),
    part: () => held.part,
    knowsAll: () => credentials.knowsAll,
  };
  const platform = platformConfig(config);
  const platformSources = new Connectors(shared, {
    ...options,
    ofVenue: Object.keys(platformVenue) as Stream[],
    streamUrls: platform === undefined ? {} : streamUrls(platform),
    ...(config.platformAccounts !== undefined && { only: new Set(config.platformAccounts) }),
  });
  const keyed = keyedVenues
    .flatMap((partsOf) => partsOf(made, config))
    .map((venue) => {
      const { stream, streamUrl, spare } = venue;
      const its = { ofVenue: [stream], streamUrls: { [stream]: streamUrl }, spare };
      return { ...venue, sources: new Connectors(shared, { ...options, ...its }) };
    });
  const venues = [...(platform === undefined ? [] : [platformSources]), ...keyed.map(({ sources }) => sources)];
  const followed = new Set([
    ...(platform === undefined ? [] : platformSources.streams),
    ...keyed.map(({ stream }) => stream),
  ]);
  const ofVenue = streams.filter((stream) => !followed.has(stream));
  const sources = new VenueSources(venues, new Connectors(shared, { ...options, ofVenue, streamUrls: {} }));
  const kinds: LoginKind[] = keyed.map((venue) => ({ ...venue, connectors: venue.sources }));
  if (platform !== undefined) kinds.unshift({ ...platformLogins(made, platform), connectors: platformSources });
  const credentials: Credentials = new Credentials(
    {
      clock,
      log,
      metrics: metrics.platform,
      kinds,
      sources,
      list: store.credentials,
      loginChanges: store.changes.readerOf('logins'),
    },
    { lookEveryMs, ...(!store.isKeyed && { unusable: noKey }) },
  );
  return { sources, platformSources, keyed, credentials };
}

function platformLogins(made: Connected, config: PlatformConfig): Omit<LoginKind, 'connectors'> {
  const { platformCredentials, platformClientSecret } = config;
  const hasOwn = platformCredentials !== 'linked' && platformClientSecret !== undefined;
  return {
    ...(hasOwn && { own: clientName }),
    ...(platformCredentials !== 'client' && { prefix: loginPrefix }),
    signIn: platformSignIn(made, config),
  };
}

/** The same for all venues' sources. */
function sharedSources(
  { clock, random, log, metrics, store, outside, watches }: Connected,
  sink: ObservationSink,
  config: Config,
) {
  const { recorder, proxies } = outside;
  return {
    clock,
    random,
    log,
    observedBy: watches.sharedClock,
    sink,
    metrics: metrics.source,
    gauges: new SourceGauges(metrics.source),
    odd: new OddMessages(),
    registry: store.accounts,
    openSocket: wsSocketFactory(clock, wsSocketDefaults, proxies),
    ...(recorder !== undefined && { record: (row: RecordedRow) => recorder.take(row) }),
    budget: new ByteBudget({
      maxBytes: config.notesMaxBytes,
      onUse: (bytes) => metrics.source.noteBytes.set(bytes),
    }),
  };
}

const dayMs = 86_400_000;

/** The timings that can be set; a source's other timings keep their defaults. */
function streamTimings(config: Config): Partial<StreamTimings> {
  return {
    pingMs: config.streamPingMs,
    idleMs: config.streamIdleMs,
    ackMs: config.streamAckMs,
    auditMs: config.auditIntervalMs,
    heartbeatMs: config.watermarkIntervalMs,
    snapshotMs: config.snapshotDays * dayMs,
  };
}

/**
 * Prediction orders are followed only with a staging address to read them from (specification,
 * "Versioning").
 */
function streamUrls({
  platformStreamUrl: account,
  platformStagingStreamUrl,
  platformStagingUrl,
}: PlatformConfig): StreamUrls {
  return platformStagingUrl === undefined ? { account } : { account, prediction: platformStagingStreamUrl ?? account };
}
