import type { Config } from '../../config/config.ts';
import type { StreamTimings } from '../../connectors/stream-timings.ts';

const dayMs = 86_400_000;

/** The settings that a source takes; the others have no setting. */
export function streamTimings(config: Config): Partial<StreamTimings> {
  return {
    pingMs: config.streamPingMs,
    idleMs: config.streamIdleMs,
    ackMs: config.streamAckMs,
    auditMs: config.auditIntervalMs,
    heartbeatMs: config.continuityIntervalMs,
    snapshotMs: config.snapshotDays * dayMs,
  };
}

/** Prediction orders are followed only where there is a staging address to read them from (specification, "Versioning"). */
export function predictionStream(config: Config): { predictionStreamUrl: string } | Record<never, never> {
  const url = config.platformStagingStreamUrl ?? config.platformStreamUrl;
  return config.platformStagingUrl === undefined || url === undefined ? {} : { predictionStreamUrl: url };
}
