import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { BatchHistogram } from './batch-histogram.ts';

/** The labels of a metric, each with all its values, or `asSeen`. */
type Labels<Name extends string> = Readonly<Record<Name, readonly string[]>>;

/** For a label whose values are not known in advance: a series exists from its first value on. */
export const asSeen: readonly string[] = [];

export type MetricMaker = ReturnType<typeof metricMaker>;

/** Makes the metrics of a registry. */
export function metricMaker(registry: Registry) {
  const zeros: (() => void)[] = [];
  const configured = <Name extends string>(name: string, help: string, labels?: Labels<Name>) => ({
    name,
    help,
    registers: [registry],
    labelNames: Object.keys(labels ?? {}) as Name[],
  });
  return {
    /** Makes every series whose labels are known, with 0. */
    zero: () => {
      for (const zero of zeros) zero();
    },
    counter<Name extends string>(name: string, help: string, labels?: Labels<Name>): Counter<Name> {
      const counter = new Counter(configured(name, help, labels));
      zeros.push(() => eachOf(labels, (values) => counter.inc(values, 0)));
      return counter;
    },
    gauge<Name extends string>(name: string, help: string, labels?: Labels<Name>): Gauge<Name> {
      const gauge = new Gauge(configured(name, help, labels));
      zeros.push(() => eachOf(labels, (values) => gauge.set(values, 0)));
      return gauge;
    },
    histogram<Name extends string>(name: string, help: string, buckets: number[], labels?: Labels<Name>) {
      const histogram = new Histogram({ ...configured(name, help, labels), buckets });
      zeros.push(() => eachOf(labels, (values) => histogram.zero(values)));
      return histogram;
    },
    batchHistogram<Name extends string>(name: string, help: string, buckets: number[], labels: Labels<Name>) {
      const histogram = new BatchHistogram(registry, { ...configured(name, help, labels), buckets });
      zeros.push(() => eachOf(labels, (values) => histogram.of(values)));
      return histogram;
    },
  };
}

/** Calls `make` with each combination of the labels' values; the last label changes first. */
function eachOf<Name extends string>(
  labels: Labels<Name> | undefined,
  make: (values: Record<Name, string>) => void,
): void {
  if (labels === undefined) return;
  const names = Object.keys(labels) as Name[];
  let rows = [{} as Record<Name, string>];
  for (const name of names) rows = rows.flatMap((row) => labels[name].map((value) => ({ ...row, [name]: value })));
  for (const row of rows) make(row);
}
