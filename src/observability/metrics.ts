import { Registry } from 'prom-client';
import { commandMetrics } from './command-metrics.ts';
import { ingestMetrics } from './ingest-metrics.ts';
import { platformMetrics } from './platform-metrics.ts';
import { processMetrics } from './process-metrics.ts';
import { relayMetrics } from './relay-metrics.ts';
import { restMetrics } from './rest-metrics.ts';
import { sourceMetrics } from './source-metrics.ts';

/**
 * Every metric of the service. Base units, timestamps rather than ages, and never a label by order, account or symbol: a label's
 * values are few and known ahead.
 */
export function createMetrics() {
  const registry = new Registry();
  return {
    registry,
    source: sourceMetrics(registry),
    ingest: ingestMetrics(registry),
    relay: relayMetrics(registry),
    commands: commandMetrics(registry),
    platform: platformMetrics(registry),
    process: processMetrics(registry),
    rest: restMetrics(registry),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;
