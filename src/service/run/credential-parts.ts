import type { Config } from '../../config/config.ts';
import { ByteBudget } from '../../runtime/byte-budget.ts';
import type { HeldShards } from '../fleet/held-shards.ts';
import { Connectors, type StreamUrls } from '../sources/connectors.ts';
import type { ObservationSink } from '../sources/observation-sink.ts';
import { OddMessages } from '../sources/odd-messages.ts';
import type { RecordedRow } from '../sources/recorded-row.ts';
import { SourceGauges } from '../sources/source-status.ts';
import type { StreamTimings } from '../sources/stream-timings.ts';
import { Window } from '../sources/window.ts';
import { wsSocketDefaults, wsSocketFactory } from '../sources/ws-socket.ts';
import { Credentials } from './credentials.ts';
import type { Connected, PlatformConfig } from './platform-parts.ts';

const noKey = 'TIDEMARK_ENCRYPTION_KEY is not set, and their tokens are sealed with it';

/** How soon a newly linked login is followed. Each look is one short statement. */
const lookEveryMs = 2_000;

/** Every credential in the settings, and their sources. */
export function credentialParts(
  { clock, random, log, metrics, store, platform, watches }: Connected,
  held: HeldShards,
  ingest: ObservationSink,
  config: PlatformConfig,
) {
  const { recorder } = platform;
  const sources = new Connectors(
    {
      ...{ clock, random, log, observedBy: watches.sharedClock, sink: ingest, metrics: metrics.source },
      gauges: new SourceGauges(metrics.source),
      odd: new OddMessages(),
      registry: store.accounts,
      openSocket: wsSocketFactory(clock, wsSocketDefaults, platform.proxies),
      ...(recorder !== undefined && { record: (row: RecordedRow) => recorder.take(row) }),
      auditGate: new Window(1),
      budget: new ByteBudget({
        maxBytes: config.notesMaxBytes,
        onUse: (bytes) => metrics.source.noteBytes.set(bytes),
      }),
    },
    {
      streamUrls: streamUrls(config),
      timings: streamTimings(config),
      isOurs: (accountId: string) => held.follows(accountId),
      part: () => held.part,
      knowsAll: () => credentials.knowsAll,
      ...(config.platformAccounts === undefined ? {} : { only: new Set(config.platformAccounts) }),
    },
  );
  const list = config.platformCredentials === 'client' ? undefined : store.credentials;
  const credentials: Credentials = new Credentials(
    {
      ...{ clock, log, metrics: metrics.platform, signedIn: platform.signedIn, connectors: sources },
      ...(list !== undefined && { list, loginChanges: store.changes.readerOf('logins') }),
    },
    {
      withClient: config.platformCredentials !== 'linked' && config.platformClientSecret !== undefined,
      ...{ lookEveryMs, ...(!store.isKeyed && { unusable: noKey }) },
    },
  );
  return { sources, credentials };
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
