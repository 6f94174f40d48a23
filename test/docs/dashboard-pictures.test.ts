import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { dashboards } from '../../grafana/source/generated-files.ts';
import { legendText } from '../../tools/dashboards/legend-text.ts';
import { queryText } from '../../tools/dashboards/query-text.ts';

const names = dashboards.map(({ uid }) => uid.replace(/^tidemark-/, ''));

it('each dashboard has a picture for light and for dark: `npm run dashboards:shots` takes them', () => {
  const wanted = names.flatMap((name) => ['dark', 'light'].map((look) => `docs/dashboards/${name}-${look}.png`));
  expect(globSync('docs/dashboards/*').sort()).toEqual(wanted.sort());
});

it('docs/operating.md shows or links the picture of each', () => {
  const text = readFileSync('docs/operating.md', 'utf8');
  expect(names.filter((name) => !text.includes(`dashboards/${name}-light.png`))).toEqual([]);
});

it('a picture has few enough colours and bytes to be kept with the text', () => {
  for (const file of globSync('docs/dashboards/*.png')) {
    const picture = readFileSync(file);
    expect(picture.length, file).toBeLessThanOrEqual(160_000);
    // Eight bits a pixel, by palette.
    expect([...picture.subarray(24, 26)], file).toEqual([8, 3]);
  }
});

it('a query is sent with the spans that Grafana would put in', () => {
  const expr = 'sum(rate(a{job=~"$job"}[$__rate_interval])) / sum(rate(b{job=~"$job"}[$__range]))';
  expect(queryText(expr, { scrape: 10, range: 3600 })).toBe(
    'sum(rate(a{job=~"tidemark.*"}[40s])) / sum(rate(b{job=~"tidemark.*"}[3600s]))',
  );
});

it('no query of a dashboard has a variable that is not filled', () => {
  const exprs = dashboards.flatMap(({ rows }) =>
    rows.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries)),
  );
  expect(
    exprs.map(({ expr }) => queryText(expr, { scrape: 10, range: 3600 })).filter((expr) => expr.includes('$')),
  ).toEqual([]);
});

it('a line is named by its labels, and by nothing where it lacks one', () => {
  expect(legendText('{{instance}} by {{ by }}', { instance: 'desk-1:9464', by: 'kafka' })).toBe('desk-1:9464 by kafka');
  expect(legendText('{{stream}} {{reason}}', {})).toBe(' ');
  expect(legendText('p99', { job: 'tidemark' })).toBe('p99');
});
