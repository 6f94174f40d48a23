import { existsSync, globSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { alerts, dashboards } from '../../grafana/source/generated-files.ts';
import { unpackPackage } from './unpack-package.ts';

let folder: string;
let home: string;

beforeAll(() => {
  ({ folder, home } = unpackPackage());
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('the packed package has each page that a message of the program names, and each file that a page names as one of docs', () => {
  const named = globSync('src/**/*.{ts,tsx}').flatMap(
    (file) => readFileSync(file, 'utf8').match(/docs\/[\w/-]+\.(md|ts|py|java)/g) ?? [],
  );
  const inPages = globSync('docs/*.md').flatMap(
    (file) => readFileSync(file, 'utf8').match(/docs\/[\w/-]+\.(json|ts|py|java)/g) ?? [],
  );
  const missing = [...new Set([...named, ...inPages])].filter((page) => !existsSync(join(home, page)));
  expect(missing).toEqual([]);
  expect(named).toContain('docs/repair.md');
  expect(inPages).toContain('docs/scenarios/rough-day.json');
});

it('the packed package has what Prometheus, Alertmanager and Grafana read: rules, dashboards, and the runbook that each alert leads to', () => {
  const read = (file: string): string => readFileSync(join(home, file), 'utf8');
  expect(dashboards.filter(({ uid }) => JSON.parse(read(`grafana/dashboards/${uid}.json`)).uid !== uid)).toEqual([]);
  const linked = [...read('grafana/prometheus/rules/alerts.yml').matchAll(/\/d\/(runbook-(\w+))/g)];
  expect(linked).toHaveLength(alerts.length);
  for (const [, uid, name] of linked)
    expect(JSON.parse(read(`grafana/dashboards/runbooks/${name}.json`)).uid).toBe(uid);
  const named = globSync('docs/**/*.md').flatMap(
    (file) => readFileSync(file, 'utf8').match(/grafana\/(?:prometheus|dashboards|provisioning)(\/[\w.-]*\w)*/g) ?? [],
  );
  expect(named).toContain('grafana/provisioning');
  expect([...new Set(named)].filter((path) => !path.endsWith('/tests') && !existsSync(join(home, path)))).toEqual([]);
});

it('the image is built from every part of the package', () => {
  const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { files: string[] };
  const taken = readFileSync('.dockerignore', 'utf8').split('\n');
  // Compiled in the image, of `src`.
  const made = new Set(['dist']);
  expect(files.filter((file) => !made.has(file) && !taken.includes(`!${file}`))).toEqual([]);
});
