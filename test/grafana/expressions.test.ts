import { describe, expect, it } from 'vitest';
import { alerts, dashboards } from '../../grafana/source/generated-files.ts';
import { recordingRules } from '../../grafana/source/recording-rules.ts';
import { knownSeries } from './known-series.ts';
import { readPromql, type Selector } from './promql.ts';

const known = await knownSeries();
const panels = dashboards.flatMap(({ uid, rows }) =>
  rows.flatMap((row) =>
    row.panels.flatMap(({ title, queries }) => queries.map(({ expr }) => ({ where: `${uid}: ${title}`, expr }))),
  ),
);
const rules = [
  ...alerts.map(({ name, expr }) => ({ where: name, expr })),
  ...recordingRules.map(({ record, expr }) => ({ where: record, expr })),
];
/** Grafana puts a duration there before Prometheus sees it. */
const asSent = (expr: string) => expr.replaceAll(/\$__(rate_interval|range)/g, '40s');
const all = [...panels, ...rules].map(({ where, expr }) => ({ where, expr, read: readPromql(asSent(expr)) }));

const overCounters = ['rate', 'irate', 'increase'];

function faultsOf({ metric, labels, equals, functions }: Selector): string[] {
  const series = known.get(metric);
  if (series === undefined) return [`there is no metric ${metric}`];
  const faults = labels
    .filter((label) => !series.labels.includes(label))
    .map((label) => `${metric} has no label ${label}`);
  const isRate = overCounters.includes(functions[0] ?? '');
  const counts = series.type === 'counter' || series.type === 'bucket';
  // The value of a counter since its process began, which `increase` does not see.
  const isTotal = series.type === 'counter' && functions[0] === 'max_over_time';
  if (counts !== isRate && !isTotal)
    faults.push(`${metric} (${series.type}) ${counts ? 'needs' : 'must not be under'} rate or increase`);
  const bound = equals.get('le');
  if (functions.includes('histogram_quantile') && series.type !== 'bucket') faults.push(`${metric} has no buckets`);
  if (bound !== undefined && !series.bounds?.includes(bound)) faults.push(`${metric} has no boundary ${bound}`);
  if (bound !== undefined && Number.isInteger(Number(bound)))
    faults.push(`Prometheus 3 writes le="${bound}" otherwise`);
  return faults;
}

describe('the expressions of dashboards and rules', () => {
  it('are there to be looked at', () => {
    expect(panels.length).toBeGreaterThan(60);
    expect(rules.length).toBe(alerts.length + recordingRules.length);
    for (const { read, where } of all) expect(read.selectors.length, where).toBeGreaterThan(0);
  });

  it.each(all)('$where: name metrics and labels that exist, rates of counters, quantiles of buckets', ({ read }) => {
    expect(read.selectors.flatMap(faultsOf)).toEqual([]);
    const labels = new Set(read.selectors.flatMap(({ metric }) => known.get(metric)?.labels ?? []));
    expect(read.groupings.filter((label) => !labels.has(label))).toEqual([]);
  });

  it('see what is wrong', () => {
    const faults = (expr: string) => readPromql(expr).selectors.flatMap(faultsOf);
    expect(() => readPromql('sum by (job (up)')).toThrow('no PromQL at');
    expect(faults('sum(tidemark_no_such)')).toEqual(['there is no metric tidemark_no_such']);
    expect(faults('tidemark_source_gaps_total')).toHaveLength(1);
    expect(faults('rate(tidemark_log_pending[5m])')).toHaveLength(1);
    expect(faults('tidemark_log_pending{account="1"}')).toEqual(['tidemark_log_pending has no label account']);
    expect(faults('histogram_quantile(0.9, rate(tidemark_batch_commit_seconds_count[5m]))')).toHaveLength(1);
    expect(faults('rate(tidemark_latency_seconds_bucket{le="0.3"}[5m])')).toHaveLength(1);
  });

  it('use every metric of ours, or it is measured for nobody', () => {
    const used = new Set(all.flatMap(({ read }) => read.selectors.map(({ metric }) => metric)));
    const base = (name: string) => name.replace(/_(bucket|sum|count)$/, '');
    const usedBases = new Set([...used].map(base));
    const ours = [...known.keys()].filter((name) => /^(tidemark|http)_/.test(name)).map(base);
    expect([...new Set(ours)].filter((name) => !usedBases.has(name))).toEqual([]);
  });
});

describe('panels', () => {
  it.each(panels)('$where: take the chosen lane, and the interval that fits the scrape', ({ expr }) => {
    const { selectors, ranges } = readPromql(
      expr.replaceAll(/\$__(rate_interval|range)/g, (_, name) => (name === 'range' ? '1h' : '40s')),
    );
    expect(selectors.filter(({ labels }) => !labels.includes('job'))).toEqual([]);
    expect(ranges.filter((range) => range !== '40s' && range !== '1h')).toEqual([]);
    expect(expr).not.toMatch(/\[\d/);
  });
});
