import type { Registry } from 'prom-client';
import { recordingRules } from '../../grafana/source/recording-rules.ts';
import { createMetrics, initialiseMetrics } from '../../src/observability/metrics.ts';

interface KnownSeries {
  readonly type: 'counter' | 'gauge' | 'bucket' | 'recorded';
  readonly labels: readonly string[];
  /** Of buckets: the boundaries, as Prometheus has them in `le`. */
  readonly bounds?: readonly string[];
}

/** Prometheus adds these to what it scrapes. */
const target = ['job', 'instance'];

/** What Prometheus makes by itself. */
const own: readonly [string, KnownSeries][] = [
  ['up', { type: 'gauge', labels: target }],
  ['ALERTS', { type: 'gauge', labels: ['alertname', 'alertstate', 'severity', ...target] }],
];

/**
 * Every series that Prometheus has of a service, by name: of the registry with its labels, of
 * Prometheus, and of our recording rules.
 */
export async function knownSeries(): Promise<ReadonlyMap<string, KnownSeries>> {
  const metrics = createMetrics();
  initialiseMetrics(metrics, '0.0.0');
  const series = new Map<string, KnownSeries>(own);
  for (const { record } of recordingRules) series.set(record, { type: 'recorded', labels: ['job'] });
  for (const { name, type } of await metrics.registry.getMetricsAsJSON()) {
    const labels = [...labelsOf(metrics.registry, name), ...target];
    const kind = String(type);
    if (kind === 'histogram') {
      series.set(`${name}_bucket`, {
        type: 'bucket',
        labels: [...labels, 'le'],
        bounds: boundsOf(metrics.registry, name),
      });
      for (const part of ['sum', 'count']) series.set(`${name}_${part}`, { type: 'counter', labels });
    } else {
      series.set(name, { type: kind === 'counter' ? 'counter' : 'gauge', labels });
    }
  }
  return series;
}

/** prom-client keeps them without saying so in its types. */
function labelsOf(registry: Registry, name: string): string[] {
  const labels: unknown = Reflect.get(registry.getSingleMetric(name) ?? {}, 'labelNames');
  return Array.isArray(labels) ? labels.map(String) : [];
}

function boundsOf(registry: Registry, name: string): string[] {
  const bounds: unknown = Reflect.get(registry.getSingleMetric(name) ?? {}, 'upperBounds');
  return Array.isArray(bounds) ? bounds.map(String) : [];
}
