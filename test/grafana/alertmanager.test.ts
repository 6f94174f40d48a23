import { execFileSync } from 'node:child_process';
import { beforeAll, expect, it } from 'vitest';
import { alerts } from '../../grafana/source/generated-files.ts';
import { ensureProgram } from '../support/servers/debian-package.ts';

const config = 'grafana/prometheus/alertmanager.yml';

beforeAll(() => ensureProgram('amtool', 'prometheus-alertmanager'), 300_000);

function amtool(...args: string[]): string {
  return execFileSync('amtool', args, { encoding: 'utf8', timeout: 60_000, stdio: 'pipe' });
}

/** Who is told of an alert with these labels. */
function receivers(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return amtool('config', 'routes', 'test', `--config.file=${config}`, ...pairs).trim();
}

it('Alertmanager takes the example', () => {
  expect(amtool('check-config', config)).toMatch(/SUCCESS[\s\S]*2 receivers/);
});

it('every page goes to people, and every ticket to tickets', () => {
  const told = alerts.map(({ name, severity }) => [
    name,
    severity,
    receivers({ alertname: name, severity, job: 'tidemark' }),
  ]);
  expect(told.length).toBeGreaterThan(15);
  expect(told).toEqual(
    alerts.map(({ name, severity }) => [name, severity, severity === 'page' ? 'people' : 'tickets']),
  );
});

it('an alert without a severity that is known is told to people, and not lost', () => {
  expect(receivers({ alertname: 'Strange' })).toBe('people');
  expect(receivers({ alertname: 'Strange', severity: 'warning' })).toBe('people');
});
