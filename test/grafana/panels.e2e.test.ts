import { randomUUID } from 'node:crypto';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { alerts, dashboards } from '../../grafana/source/generated-files.ts';
import { recordingRules } from '../../grafana/source/recording-rules.ts';
import { platformSettings } from '../../src/sandbox/describe-sandbox.ts';
import { queryText } from '../../tools/dashboards/query-text.ts';
import { control, runningSandbox } from '../support/platform/sandbox.ts';
import { eventually } from '../support/runs/poll.ts';
import { type RunningService, World } from '../support/runs/service-under-test.ts';
import { ensureProgram } from '../support/servers/debian-package.ts';
import { readPromql } from './promql.ts';
import { RunningPrometheus } from './running-prometheus.ts';

beforeAll(() => ensureProgram('prometheus'), 300_000);

const panels = dashboards.flatMap(({ uid, rows }) =>
  rows.flatMap((row) =>
    row.panels.flatMap(({ title, queries }) => queries.map(({ expr }) => ({ where: `${uid}: ${title}`, expr }))),
  ),
);

async function place(service: RunningService, symbol: string): Promise<number> {
  const body = {
    accountId: 'SIM-1001',
    symbol,
    side: 'BUY',
    type: 'LIMIT',
    qty: '5',
    price: '1.00',
    timeInForce: 'GTC',
  };
  const response = await fetch(`${await service.restAddress()}/v1/orders`, {
    method: 'POST',
    headers: { 'idempotency-key': randomUUID(), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  await response.arrayBuffer();
  return response.status;
}

/** A reader of the stream of updates, until the test is over. */
async function followUpdates(service: RunningService): Promise<void> {
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const response = await fetch(`${await service.restAddress()}/v1/stream`, { signal: over.signal });
  expect(response.status).toBe(200);
}

/** What has no data yet. */
async function missing(
  prometheus: RunningPrometheus,
  queries: readonly { where: string; expr: string }[],
): Promise<string[]> {
  const found: string[] = [];
  for (const { where, expr } of queries) {
    const values = await prometheus.values(queryText(expr, { scrape: 1, range: 300 }));
    if (!values.some(Number.isFinite)) found.push(`${where} (${values.length} values, none finite): ${expr}`);
  }
  return found;
}

it('every panel, rule and alert finds its data in a Prometheus that scrapes a working service', async () => {
  const { description } = await runningSandbox({ market: { rate: 40 } });
  const world = await World.create({ platform: platformSettings(description), env: { TIDEMARK_COMMANDS: 'on' } });
  const service = await world.serve();
  const prometheus = await RunningPrometheus.start(new URL(await service.adminAddress()).host);
  await service.waitLive();
  // What happens before the first scrape has no rate, however rare it is.
  await eventually(
    async () => expect((await prometheus.values('up')).filter((value) => value === 1).length).toBeGreaterThan(2),
    {
      deadlineMs: 60_000,
      everyMs: 200,
    },
  );
  // As `after-restore` does it: the holder is fenced, and takes the lane again.
  await world.query('update lanes set holder = null, epoch = epoch + 1');
  await service.waitMetric('tidemark_lane_takeovers_total', { cause: 'released' }, 1);
  await service.waitLive();
  await followUpdates(service);

  expect(await place(service, 'AAPL')).toBeLessThan(300);
  // A 504 that had landed: unresolved until the stream or a probe shows it.
  await control(description, '/faults', {
    rules: [{ on: 'write', fault: 'outcome_unknown', write: 'place', applied: 'yes' }],
  });
  expect(await place(service, 'MSFT')).toBeLessThan(300);
  await service.waitMetric('tidemark_command_resolutions_total', {}, 1);
  const cut = await control(description, '/faults', { now: [{ action: 'cut', how: 'fin' }] });
  expect(cut.status, cut.text).toBe(200);
  await service.waitMetric('tidemark_source_gaps_total', {}, 1);

  await eventually(async () => expect(await missing(prometheus, panels)).toEqual([]), {
    deadlineMs: 60_000,
    everyMs: 1000,
  });
  const recorded = recordingRules.filter(({ record }) => record.includes('doubts')).map(({ record }) => record);
  expect(recorded).toHaveLength(1);
  await eventually(async () => expect((await prometheus.values(recorded[0] ?? '')).at(-1)).toBe(0), {
    deadlineMs: 60_000,
    everyMs: 500,
  });

  const rules = await eventually(async () => {
    const judged = await prometheus.rules();
    expect(judged.filter(({ health }) => health === 'unknown')).toEqual([]);
    return judged;
  });
  expect(rules.map(({ name }) => name).sort()).toEqual(
    [...alerts.map(({ name }) => name), ...recordingRules.map(({ record }) => record)].sort(),
  );
  expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
  // What dead letters there are is counted by reason: without a row there is no series.
  const asked = alerts.flatMap(({ name, expr }) =>
    readPromql(expr).selectors.map(({ metric }) => ({ where: name, expr: `count(${metric})` })),
  );
  expect(
    await missing(
      prometheus,
      asked.filter(({ where }) => where !== 'DeadLetters'),
    ),
  ).toEqual([]);
}, 240_000);
