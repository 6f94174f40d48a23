import { readFileSync } from 'node:fs';
import { askAlerts, askSeries, type FoundAlert, type FoundSeries } from './ask-prometheus.ts';
import { legendText } from './legend-text.ts';
import { queryText } from './query-text.ts';

/** A panel of the JSON, as far as its data are concerned. The page reads the rest of it. */
interface Panel {
  readonly type: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string; readonly instant: boolean }[];
}

interface DrawnSeries extends FoundSeries {
  readonly legend: string;
}

/** All that the page needs for one picture. */
export interface DrawnDashboard {
  /** Milliseconds since 1970, and between two points. */
  readonly time: { readonly from: number; readonly to: number; readonly step: number };
  readonly title: string;
  readonly panels: readonly (Panel & { readonly series: readonly DrawnSeries[] })[];
  readonly alerts: readonly FoundAlert[];
}

interface ReadOptions {
  /** Prometheus. */
  readonly base: string;
  /** Seconds since 1970. */
  readonly from: number;
  readonly to: number;
  readonly scrapeSeconds: number;
}

/** A dashboard's JSON with the data of its panels. */
export async function readDashboard(file: string, options: ReadOptions): Promise<DrawnDashboard> {
  const { title, panels } = JSON.parse(readFileSync(file, 'utf8')) as { title: string; panels: Panel[] };
  const { base, from, to, scrapeSeconds } = options;
  return {
    time: { from: from * 1000, to: to * 1000, step: scrapeSeconds * 1000 },
    title,
    panels: await Promise.all(panels.map(async (panel) => ({ ...panel, series: await seriesOf(panel, options) }))),
    alerts: await askAlerts(base),
  };
}

async function seriesOf(
  { targets = [] }: Panel,
  { base, from, to, scrapeSeconds }: ReadOptions,
): Promise<DrawnSeries[]> {
  const spans = { scrape: scrapeSeconds, range: Math.round(to - from) };
  const found = targets.map(async ({ expr, legendFormat, instant }) => {
    const query = queryText(expr, spans);
    const series = instant
      ? await askSeries(base, 'query', { query, time: String(to) })
      : await askSeries(base, 'query_range', {
          query,
          start: String(from),
          end: String(to),
          step: String(scrapeSeconds),
        });
    return series.map((each) => ({ ...each, legend: legendText(legendFormat, each.labels) }));
  });
  return (await Promise.all(found)).flat();
}
