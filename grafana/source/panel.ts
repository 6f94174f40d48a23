import { runbookUid } from './alert.ts';

/** Units as Grafana names them. */
type Unit = 'none' | 'short' | 's' | 'percentunit' | 'ops' | 'reqps' | 'bytes';

interface Query {
  /** PromQL with `$job` and `$__rate_interval`. */
  readonly expr: string;
  /** Name of the line, with `{{label}}`. */
  readonly legend: string;
}

/** From green to red: from which value on it is amber, from which red. `below` turns it round. */
interface Limits {
  readonly amber?: number;
  readonly red?: number;
  readonly below?: boolean;
}

export interface Panel {
  readonly kind: 'verdict' | 'figure' | 'lines' | 'stacked' | 'alerts';
  readonly title: string;
  readonly description: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
  readonly limits?: Limits;
  /** Words instead of figures. */
  readonly words?: Readonly<Record<string, string>>;
  /** Colours of lines whose name matches, where those of the palette would mislead. */
  readonly colours?: Readonly<Record<string, 'green' | 'blue' | 'purple' | 'yellow' | 'red'>>;
  /** Alerts whose runbooks are linked. */
  readonly runbooks?: readonly string[];
  /** Of 24. Default: 3 for a figure, 8 for lines. */
  readonly width?: number;
}

const types = {
  verdict: 'stat',
  figure: 'stat',
  lines: 'timeseries',
  stacked: 'timeseries',
  alerts: 'alertlist',
} as const;
const datasource = { type: 'prometheus', uid: '$datasource' };

/** A panel in Grafana's JSON, without its place. */
export function panelJson(panel: Panel): Record<string, unknown> {
  const { kind, title, description, queries, colours = {}, runbooks = [] } = panel;
  return {
    type: types[kind],
    title,
    description,
    datasource,
    ...(kind === 'alerts' ? {} : { fieldConfig: { defaults: fieldDefaults(panel), overrides: overridesOf(colours) } }),
    options: optionsOf(kind),
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource,
      expr,
      legendFormat: legend,
      ...(isFigure(kind) ? { instant: true, range: false } : { instant: false, range: true }),
    })),
    links: runbooks.map((alert) => ({ title: `Runbook: ${alert}`, url: `/d/${runbookUid(alert)}`, targetBlank: true })),
  };
}

export function isFigure(kind: Panel['kind']): boolean {
  return kind === 'verdict' || kind === 'figure';
}

function fieldDefaults(panel: Panel): Record<string, unknown> {
  const { kind, unit, limits, words } = panel;
  return {
    unit,
    ...(isFigure(kind) ? { noValue: 'no data' } : {}),
    ...(unit === 's' ? {} : { min: 0 }),
    color: { mode: limits !== undefined && isFigure(kind) ? 'thresholds' : 'palette-classic' },
    thresholds: { mode: 'absolute', steps: stepsOf(limits) },
    mappings: words === undefined ? [] : mappingsOf(words),
    custom: isFigure(kind) ? {} : linesCustom(panel),
  };
}

function stepsOf({ amber, red, below = false }: Limits = {}): { color: string; value: number | null }[] {
  const bounds = [
    { color: 'orange', value: amber },
    { color: 'red', value: red },
  ].flatMap(({ color, value }) => (value === undefined ? [] : [{ color, value }]));
  if (!below) return [{ color: 'green', value: null }, ...bounds];
  // Grafana's steps rise: each colour ends where the next better one begins.
  const [first, second] = bounds.toReversed();
  if (first === undefined) return [{ color: 'green', value: null }];
  const rest = second === undefined ? [] : [{ color: 'green', value: second.value }];
  return [{ color: first.color, value: null }, { color: second?.color ?? 'green', value: first.value }, ...rest];
}

/** `null` is what a figure without data shows: never green. */
function mappingsOf(words: Readonly<Record<string, string>>): unknown[] {
  const options = Object.fromEntries(Object.entries(words).map(([value, text], index) => [value, { text, index }]));
  return [
    { type: 'value', options },
    { type: 'special', options: { match: 'null', result: { text: 'no data', color: 'red' } } },
  ];
}

function overridesOf(colours: Readonly<Record<string, string>>): unknown[] {
  return Object.entries(colours).map(([pattern, fixedColor]) => ({
    matcher: { id: 'byRegexp', options: `/${pattern}/` },
    properties: [{ id: 'color', value: { mode: 'fixed', fixedColor } }],
  }));
}

/**
 * Lines that are all 0 would have an axis up to 100, or to 10,000 %.
 * Bytes and seconds have none that misleads.
 */
function leastAxis({ unit, limits }: Panel): { axisSoftMax?: number } {
  if (unit === 'percentunit') return { axisSoftMax: limits?.amber ?? limits?.red ?? 0.01 };
  return unit === 's' || unit === 'bytes' ? {} : { axisSoftMax: 1 };
}

function linesCustom(panel: Panel): Record<string, unknown> {
  const { kind, limits } = panel;
  return {
    drawStyle: 'line',
    // A state that nothing is in would draw its line on top of the others.
    ...(kind === 'stacked' ? { lineWidth: 0, fillOpacity: 60 } : { lineWidth: 1, fillOpacity: 0 }),
    showPoints: 'never',
    spanNulls: false,
    stacking: { mode: kind === 'stacked' ? 'normal' : 'none', group: 'A' },
    thresholdsStyle: { mode: limits === undefined ? 'off' : 'line' },
    ...leastAxis(panel),
  };
}

function optionsOf(kind: Panel['kind']): Record<string, unknown> {
  if (kind === 'alerts')
    return {
      viewMode: 'list',
      groupMode: 'default',
      stateFilter: { firing: true, pending: true },
      datasource: '$datasource',
    };
  if (isFigure(kind))
    return {
      reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
      colorMode: 'background',
      graphMode: 'none',
      textMode: 'value',
      justifyMode: 'center',
    };
  return {
    tooltip: { mode: 'multi', sort: 'desc' },
    // Three lines of the legend are seen without scrolling: those that were
    // highest, not those whose names come first.
    legend: { displayMode: 'table', placement: 'bottom', calcs: ['lastNotNull', 'max'], sortBy: 'Max', sortDesc: true },
  };
}
