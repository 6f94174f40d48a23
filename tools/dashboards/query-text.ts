/** What Grafana puts in the place of its variables, in seconds. */
interface Spans {
  /** Between two scrapes. */
  readonly scrape: number;
  /** The time shown. */
  readonly range: number;
}

/**
 * The query as Grafana sends it with all lanes chosen. A rate looks at four scrapes, so that one
 * that is missed makes no gap.
 */
export function queryText(expr: string, { scrape, range }: Spans): string {
  return expr
    .replaceAll('$__rate_interval', `${4 * scrape}s`)
    .replaceAll('$__range', `${range}s`)
    .replaceAll('$job', 'tidemark.*');
}
