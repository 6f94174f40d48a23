interface Result {
  readonly metric: Readonly<Record<string, string>>;
  /** Of an instant query. */
  readonly value?: readonly [number, string];
  /** Of a range query. */
  readonly values?: readonly (readonly [number, string])[];
}

/** An alert that is pending or fires. */
export interface FoundAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: 'pending' | 'firing';
  readonly activeAt: string;
}

/**
 * One line: instants in milliseconds, and null where the value is
 * no number, as Grafana's datasource has it.
 */
export interface FoundSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly times: readonly number[];
  readonly values: readonly (number | null)[];
}

/**
 * Every series of a query. `path` and `query` are those of Prometheus's
 * HTTP interface. Throws when it is refused.
 */
export async function askSeries(
  base: string,
  path: 'query' | 'query_range',
  query: Record<string, string>,
): Promise<FoundSeries[]> {
  const { result } = await askPrometheus<{ readonly result: readonly Result[] }>(base, path, query);
  return result.map(({ metric, value, values = value === undefined ? [] : [value] }) => ({
    labels: metric,
    times: values.map(([seconds]) => seconds * 1000),
    values: values.map(([, text]) => (text === 'NaN' ? null : Number(text.replace('Inf', 'Infinity')))),
  }));
}

export async function askAlerts(base: string): Promise<readonly FoundAlert[]> {
  return (await askPrometheus<{ readonly alerts: readonly FoundAlert[] }>(base, 'alerts', {})).alerts;
}

/** `path` below `/api/v1/`. Throws with Prometheus's own words when it is refused. */
export async function askPrometheus<Data>(base: string, path: string, query: Record<string, string>): Promise<Data> {
  const response = await fetch(`${base}/api/v1/${path}?${new URLSearchParams(query)}`);
  const body = (await response.json()) as { readonly status: string; readonly error?: string; readonly data: Data };
  if (body.status !== 'success') throw new Error(`${query['query'] ?? path}: ${body.error}`);
  return body.data;
}
