import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { dashboardJson } from '../../grafana/source/dashboard.ts';
import { alerts, dashboards, generatedFiles } from '../../grafana/source/generated-files.ts';
import { type Panel, panelJson } from '../../grafana/source/panel.ts';

const files = generatedFiles((file) => readFileSync(file, 'utf8'));
const panels = dashboards.flatMap(({ uid, rows }) =>
  rows.flatMap((row) => row.panels.map((panel) => ({ ...panel, where: `${uid}: ${panel.title}` }))),
);
const alertNames = alerts.map(({ name }) => name);

describe('what is committed', () => {
  it.each([...files.keys()])('%s is what its description makes: `npm run dashboards` writes it', (file) => {
    expect(readFileSync(file, 'utf8')).toBe(files.get(file));
  });

  it('is nothing else', () => {
    const there = [...globSync('grafana/dashboards/**/*.json'), ...globSync('grafana/prometheus/rules/*.yml')];
    expect(there.filter((file) => !files.has(file))).toEqual([]);
  });
});

describe('every dashboard', () => {
  it('has a uid of its own, short enough for Grafana', () => {
    const uids = [...files.values()].flatMap((text) => (text.startsWith('{') ? [String(JSON.parse(text).uid)] : []));
    expect(new Set(uids).size).toBe(uids.length);
    for (const uid of uids) expect(uid).toMatch(/^[\w-]{1,40}$/);
  });

  it.each(dashboards)(
    '$uid lets one choose datasource and lane, and places its panels without overlap',
    (dashboard) => {
      // biome-ignore lint/suspicious/noExplicitAny: JSON as Grafana reads it
      const json: any = dashboardJson(dashboard);
      expect(json.templating.list.map(({ name }: { name: string }) => name)).toEqual(['datasource', 'job']);
      expect(new Set(json.panels.map(({ id }: { id: number }) => id)).size).toBe(json.panels.length);
      const taken = new Set<string>();
      for (const { gridPos } of json.panels) {
        expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
        for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
          for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
            expect(taken.has(`${x},${y}`), `two panels at ${x},${y}`).toBe(false);
            taken.add(`${x},${y}`);
          }
      }
    },
  );

  it('has the rows that an operator looks for', () => {
    const rows = dashboards.flatMap((dashboard) => dashboard.rows.map(({ title }) => title));
    const wanted = [
      'Verdict',
      'Freshness',
      'Sources',
      'Ingest',
      'Relay and Kafka',
      'Resync and audit',
      'Commands',
      'REST',
      'Members',
      'Moves',
      'Lanes',
      'Resources',
    ];
    expect(rows).toEqual(wanted);
  });
});

describe('every panel', () => {
  it.each(panels)('$where: has a title, a description, a unit, and the chosen datasource', (panel) => {
    const { kind, title, description, queries, runbooks = [] } = panel;
    expect(title.length).toBeGreaterThan(2);
    expect(description).toMatch(/^.{20,}\.$/s);
    expect(queries.length > 0).toBe(kind !== 'alerts');
    expect(queries.filter(({ legend }) => legend === '')).toEqual([]);
    expect(runbooks.filter((name) => !alertNames.includes(name))).toEqual([]);
    expect(JSON.stringify(panelJson(panel))).not.toContain('tidemark-prometheus');
    for (const target of panelJson(panel)['targets'] as { datasource: unknown }[])
      expect(target.datasource).toEqual({ type: 'prometheus', uid: '$datasource' });
  });

  it('measures an age from a timestamp in seconds', () => {
    const ages = panels.filter(({ queries }) => queries.some(({ expr }) => /_timestamp_seconds/.test(expr)));
    expect(ages.length).toBeGreaterThan(5);
    for (const { unit, queries, where } of ages) {
      expect(unit, where).toBe('s');
      for (const { expr } of queries) expect(expr, where).toContain('time()');
    }
  });

  it('names each line, also the one that stands for nothing found', () => {
    for (const { queries, where } of panels)
      for (const { expr, legend } of queries)
        if (expr.includes('vector(0)') && legend.includes('{{'))
          expect(expr, where).toContain('label_replace(vector(0)');
  });

  it('has a title that fits beside its icons, where it is a narrow figure', () => {
    const narrow = panels.filter(({ kind, width = 3 }) => (kind === 'figure' || kind === 'verdict') && width === 3);
    expect(narrow.length).toBeGreaterThan(5);
    expect(narrow.filter(({ title }) => title.length > 12).map(({ where }) => where)).toEqual([]);
  });

  it('shows lines that are all 0 on an axis up to 1, or to its lowest limit', () => {
    const shown = { kind: 'lines', title: '', description: '', queries: [] } as const;
    const softMax = (panel: Pick<Panel, 'unit' | 'limits'>) => {
      const { fieldConfig } = panelJson({ ...shown, ...panel }) as {
        fieldConfig: { defaults: { custom: { axisSoftMax?: number } } };
      };
      return fieldConfig.defaults.custom.axisSoftMax;
    };
    expect(softMax({ unit: 'none' })).toBe(1);
    expect(softMax({ unit: 'percentunit', limits: { amber: 0.5, red: 0.8 } })).toBe(0.5);
    expect(softMax({ unit: 'percentunit' })).toBe(0.01);
    expect(softMax({ unit: 's', limits: { red: 30 } })).toBeUndefined();
  });

  it('turns red at a limit that rises, also where less is worse', () => {
    const limited = { kind: 'lines', title: '', description: '', unit: 's', queries: [] } as const;
    const steps = (limits: object) => {
      const { fieldConfig } = panelJson({ ...limited, limits }) as {
        fieldConfig: { defaults: { thresholds: { steps: unknown } } };
      };
      return fieldConfig.defaults.thresholds.steps;
    };
    expect(steps({ amber: 30, red: 60 })).toEqual([
      { color: 'green', value: null },
      { color: 'orange', value: 30 },
      { color: 'red', value: 60 },
    ]);
    expect(steps({ amber: 240, red: 120, below: true })).toEqual([
      { color: 'red', value: null },
      { color: 'orange', value: 120 },
      { color: 'green', value: 240 },
    ]);
    expect(steps({ red: 1, below: true })).toEqual([
      { color: 'red', value: null },
      { color: 'green', value: 1 },
    ]);
  });
});

it('every alert has a runbook on some panel, so that who looks finds what to do', () => {
  const linked = new Set(panels.flatMap(({ runbooks = [] }) => runbooks));
  expect(alertNames.filter((name) => !linked.has(name))).toEqual([]);
});
