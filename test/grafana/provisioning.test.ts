import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const prometheus = readFileSync('grafana/prometheus/prometheus.yml', 'utf8');
const datasource = readFileSync('grafana/provisioning/datasources/prometheus.yml', 'utf8');
const provider = readFileSync('grafana/provisioning/dashboards/tidemark.yml', 'utf8');

function setting(text: string, name: string): string {
  const value = new RegExp(`^\\s*${name}: (\\S+)$`, 'm').exec(text)?.[1];
  if (value === undefined) throw new Error(`no ${name}`);
  return value;
}

function seconds(text: string, name: string): number {
  const value = setting(text, name);
  expect(value).toMatch(/^\d+s$/);
  return Number(value.slice(0, -1));
}

it('Prometheus scrapes and judges often enough for alerts that speak of 20 s', () => {
  expect(seconds(prometheus, 'scrape_interval')).toBeLessThanOrEqual(10);
  expect(seconds(prometheus, 'evaluation_interval')).toBeLessThanOrEqual(10);
  expect(seconds(prometheus, 'scrape_timeout')).toBeLessThan(seconds(prometheus, 'scrape_interval'));
});

it('Grafana knows how often is scraped, for its rate interval', () => {
  expect(seconds(datasource, 'timeInterval')).toBe(seconds(prometheus, 'scrape_interval'));
});

it('the job that is scraped is one that the rules take for ours', () => {
  expect(setting(prometheus, '- job_name')).toMatch(/^tidemark/);
});

it('the base of the links to runbooks is set, and does not travel with the alert', () => {
  expect(setting(prometheus, 'grafana')).toMatch(/^https?:\/\//);
  expect(prometheus).toMatch(/action: labeldrop\s+regex: grafana/);
});

it('the datasource has a fixed uid, and dashboards can not be changed where nobody would commit it', () => {
  expect(setting(datasource, 'uid')).toBe('tidemark-prometheus');
  expect(setting(provider, 'allowUiUpdates')).toBe('false');
});
