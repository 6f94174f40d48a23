import type { Metric, Registry } from 'prom-client';

type Values<Name extends string> = Readonly<Record<Name, string>>;

/** One series: how many values lie up to each bound, but above the one before it. */
export class BatchSeries<Name extends string> {
  readonly labels: Values<Name>;
  private readonly bounds: readonly number[];
  private readonly counts: Float64Array;
  private sum = 0;

  constructor(labels: Values<Name>, bounds: readonly number[]) {
    this.labels = labels;
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  /** The same value `times` times. A TypeError when it is not finite, as with prom-client. */
  observe(value: number, times = 1): void {
    if (!Number.isFinite(value)) throw new TypeError(`Value is not a valid number: ${value}`);
    const { bounds, counts } = this;
    let at = 0;
    while (at < bounds.length && value > (bounds[at] as number)) at += 1;
    counts[at] = (counts[at] as number) + times;
    this.sum += value * times;
  }

  /** In the shape of prom-client's own histogram. */
  rows(name: string): Row[] {
    const { labels, bounds } = this;
    let below = 0;
    const buckets = Array.from(this.counts, (count, at) => {
      below += count;
      return { labels: { le: bounds[at] ?? '+Inf', ...labels }, value: below, metricName: `${name}_bucket` };
    });
    return [
      ...buckets,
      { labels, value: this.sum, metricName: `${name}_sum` },
      { labels, value: below, metricName: `${name}_count` },
    ];
  }
}

interface Row {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName: string;
}

interface Configuration<Name extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Name[];
  readonly buckets: readonly number[];
}

/**
 * A histogram for what is observed several times an update: 0.1 µs each, and 0.8 with prom-client's
 * own. That one checks and hashes the labels each time, and has its buckets by text.
 */
export class BatchHistogram<Name extends string> {
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly name: string;
  readonly help: string;
  /** As prom-client names them. */
  readonly labelNames: readonly Name[];
  readonly upperBounds: readonly number[];
  private readonly series = new Map<string, BatchSeries<Name>>();

  constructor(registry: Registry, { name, help, labelNames, buckets }: Configuration<Name>) {
    this.name = name;
    this.help = help;
    this.labelNames = labelNames;
    this.upperBounds = buckets;
    // By its type, prom-client's own classes alone. A registry asks for `name` and `get`.
    registry.registerMetric(this as unknown as Metric);
  }

  /** The series with these labels, made where it is new. To be kept: this looks it up. */
  of(labels: Values<Name>): BatchSeries<Name> {
    const key = JSON.stringify(labels);
    const known = this.series.get(key);
    if (known !== undefined) return known;
    const made = new BatchSeries(labels, this.upperBounds);
    this.series.set(key, made);
    return made;
  }

  async get() {
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values: [...this.series.values()].flatMap((series) => series.rows(name)) };
  }
}
